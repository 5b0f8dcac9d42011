"""migrator.toml, or [tool.migrator] in pyproject.toml, as frozen values: `load_config`, then `Config.settings`."""

from __future__ import annotations

from migrator.config.find import load_config
from migrator.config.limits import Budget, CriticalLoad, Limits, Share, Units, parse_budget, parse_duration
from migrator.config.model import Config, Control, Environment, NamedTable
from migrator.config.patterns import parse_patterns, read_patterns
from migrator.config.prices import Prices, RegionPrices, read_prices
from migrator.config.settings import ControlConfig, Settings, TableConfig
from migrator.config.targets import Target, chosen_targets
from migrator.config.write import ConfigFile, default_config_text, write_config

__all__ = [
    "Budget",
    "Config",
    "ConfigFile",
    "Control",
    "ControlConfig",
    "CriticalLoad",
    "Environment",
    "Limits",
    "NamedTable",
    "Prices",
    "RegionPrices",
    "Settings",
    "Share",
    "TableConfig",
    "Target",
    "Units",
    "chosen_targets",
    "default_config_text",
    "load_config",
    "parse_budget",
    "parse_duration",
    "parse_patterns",
    "read_patterns",
    "read_prices",
    "write_config",
]
