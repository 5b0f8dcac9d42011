"""Price files: the package's own is whole and dated; one that says something else is refused by its key."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from migrator.config import load_config, read_prices
from migrator.errors import UsageError

GOOD = """
date = "2026-10-01"
currency = "EUR"
fallback = "eu-west-1"
[regions.eu-west-1]
write_requests_per_million = "1"
read_requests_per_million = "0.2"
storage_per_gb_month = "0.3"
"""


def test_the_packages_own_prices_have_a_date_a_source_and_a_region_to_fall_back_on() -> None:
    prices = read_prices()
    assert date.fromisoformat(prices.date)
    assert prices.source
    own = prices.of("us-east-1")
    assert own.write_requests_per_million == Decimal("0.625")
    assert prices.of("nowhere-1") == own


def test_a_file_of_ones_own_is_used_for_requests_and_storage(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(GOOD)
    own = read_prices(path).of("eu-west-1")
    assert own.requests(5_000_000, 2_000_000) == pytest.approx(3.0)
    assert own.storage(2 * 1024**3) == pytest.approx(0.6)


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ('"0.2"', "0.2", "read_requests_per_million"),
        ('"0.2"', '"cheap"', "'cheap'"),
        ('"0.2"', '"-1"', "'-1'"),
        ('"0.2"', '"NaN"', "'NaN'"),
        ('date = "2026-10-01"', "", "date"),
        ('fallback = "eu-west-1"', 'fallback = "eu-west-2"', "eu-west-2"),
        ("storage_per_gb_month", "storage", "storage"),
        ("date", "dat", "dat"),
        ("[regions.eu-west-1]", "[regions]", "expected a table"),
        ('"EUR"', '"EUR', "cannot be read"),
    ],
)
def test_what_is_no_price_is_refused_by_name(old: str, new: str, named: str, tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(UsageError) as caught:
        read_prices(path)
    assert caught.value.code == "bad-prices"
    assert named in caught.value.message


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        read_prices(tmp_path / "gone.toml")
    assert caught.value.code == "bad-prices"
    assert "gone.toml" in caught.value.message


def test_the_configuration_names_it_relative_to_itself(tmp_path: Path) -> None:
    (tmp_path / "migrator.toml").write_text('prices = "own/prices.toml"\n[env.local]\n')
    config = load_config(None, tmp_path)
    assert config.settings("local", {}).prices == tmp_path / "own" / "prices.toml"
