"""Prices from a dated TOML file: the package's own, or one that a team keeps."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from importlib.resources import files
from pathlib import Path
from typing import Any

from migrator.config.keys import Section
from migrator.errors import UsageError

_TOP = ("date", "currency", "source", "fallback", "regions")
_REGION = ("write_requests_per_million", "read_requests_per_million", "storage_per_gb_month")


@dataclass(frozen=True, slots=True)
class RegionPrices:
    """What a Region charges, in the file's currency."""

    region: str
    write_requests_per_million: Decimal
    read_requests_per_million: Decimal
    storage_per_gb_month: Decimal

    def requests(self, read_units: float, write_units: float) -> float:
        """On demand, for so many units."""
        million = 1_000_000
        return (
            float(self.read_requests_per_million) * read_units / million
            + float(self.write_requests_per_million) * write_units / million
        )

    def storage(self, size_bytes: float) -> float:
        """A month, for so many bytes."""
        return float(self.storage_per_gb_month) * size_bytes / 1024**3


@dataclass(frozen=True, slots=True)
class Prices:
    """A price file."""

    date: str
    currency: str
    source: str
    fallback: str
    regions: Mapping[str, RegionPrices]

    def of(self, region: str) -> RegionPrices:
        """The Region's own prices, else those of the fallback."""
        return self.regions.get(region) or self.regions[self.fallback]


def read_prices(path: Path | None = None) -> Prices:
    """The prices of a file, by default the package's. Raises UsageError `bad-prices`."""
    place = path or Path("prices.toml")
    try:
        text = (files("migrator.config") / "prices.toml" if path is None else path).read_text(encoding="utf-8")
        entries = tomllib.loads(text)
    except (OSError, ValueError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else exc
        raise _bad(place, f"cannot be read: {reason}") from exc
    try:
        return _prices(Section(place, (), entries))
    except UsageError as exc:
        raise UsageError("bad-prices", exc.message, hint=exc.hint) from exc


def _bad(path: Path, problem: str) -> UsageError:
    hint = "see docs/plan.md for the form of the file; without one the prices of the package are used"
    return UsageError("bad-prices", f"{path}: {problem}", hint=hint)


def _prices(top: Section) -> Prices:
    top.only(_TOP)
    regions = {name: _region(name, section) for name, section in top.section("regions").sections().items()}
    fallback = top.text("fallback") or ""
    if fallback not in regions:
        raise top.bad("fallback", f"{fallback!r} is none of the Regions of the file: {', '.join(regions) or 'none'}")
    given = {key: top.text(key) for key in ("date", "currency", "source")}
    for key in ("date", "currency"):
        if given[key] is None:
            raise top.bad(key, "missing: a price without one says nothing")
    return Prices(given["date"] or "", given["currency"] or "", given["source"] or "", fallback, regions)


def _region(name: str, section: Section) -> RegionPrices:
    section.only(_REGION)
    return RegionPrices(name, *(_amount(section, key) for key in _REGION))


def _amount(section: Section, key: str) -> Decimal:
    text: Any = section.text(key)
    try:
        amount = Decimal(text)
    except (InvalidOperation, TypeError):
        amount = Decimal("NaN")
    if not amount.is_finite() or amount < 0:
        raise section.bad(key, f'expected an amount such as "0.625", not {text!r}')
    return amount
