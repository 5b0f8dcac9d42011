"""migrator.toml, or [tool.migrator] in pyproject.toml, as frozen values: `load_config`, then `Config.settings`."""

from __future__ import annotations

from migrator.config.find import load_config
from migrator.config.limits import Budget, CriticalLoad, Limits, Share, Units, parse_budget, parse_duration
from migrator.config.model import Config, Control, Environment, NamedTable
from migrator.config.settings import ControlConfig, Settings, TableConfig
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
    "Settings",
    "Share",
    "TableConfig",
    "Units",
    "default_config_text",
    "load_config",
    "parse_budget",
    "parse_duration",
    "write_config",
]
