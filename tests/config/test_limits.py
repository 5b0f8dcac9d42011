"""Durations and budgets as people write them."""

from __future__ import annotations

import pytest

from migrator.config import Share, Units, parse_budget, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("75s", 75), ("50m", 3000), ("2h", 7200), ("1h30m", 5400), ("1h 30m", 5400), ("500ms", 0.5), ("1.5s", 1.5),
        ("1d", 86400), ("120", 120), (120, 120), (0.5, 0.5), (" 5s ", 5), ("0", 0),
    ],
)  # fmt: skip
def test_a_duration_is_seconds(text: str | float, seconds: float):
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "soon", "5 minutes", "-5s", -1, "nan", "inf", float("nan"), "s", "5s!", "1e999"])
def test_what_is_no_duration_is_refused(text: str | float):
    with pytest.raises(ValueError, match="duration"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "budget"),
    [
        (500, Units(500)),
        (0.5, Units(0.5)),
        ("500", Units(500)),
        ("25%", Share(0.25)),
        ("12.5 %", Share(0.125)),
        ("100%", Share(1)),
    ],
)
def test_a_budget_is_units_or_a_share(text: str | float, budget: object):
    assert parse_budget(text) == budget


@pytest.mark.parametrize("text", [0, -1, "0%", "101%", "-5%", "%", "many", float("inf"), "nan%"])
def test_what_is_no_budget_is_refused(text: str | float):
    with pytest.raises(ValueError, match=r"budget|share|units"):
        parse_budget(text)


def test_a_budget_shows_as_it_was_written():
    assert (str(Units(500)), str(Share(0.25))) == ("500 units/s", "25%")
