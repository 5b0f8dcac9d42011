"""Estimated amounts as a person reads them: rounded to what is known, with their error."""

from __future__ import annotations

import math
from collections.abc import Iterable

from migrator.cli.render import words
from migrator.runner.estimates.figures import Amount, Bookkeeping, Duration, Problem, TimeLimit, Units

UNKNOWN = "unknown"


def amount(value: Amount, unit: str = "") -> str:
    """`1,204`, `835,000 ± 12,000`, `0 to 1,100`, `unknown`; `unit` comes after it."""
    if value.value is None:
        return UNKNOWN
    shown = number(value.value)
    if value.error and value.value == 0:
        shown = f"0 to {number(_rounded(value.error))}"
    elif value.error:
        digits = _digits(value.error)
        shown = f"{number(round(value.value, digits))} ± {number(_rounded(value.error))}"
    return f"{shown} {unit}".rstrip()


def number(value: float) -> str:
    """Whole above ten, with a decimal below."""
    return f"{value:,.0f}" if abs(value) >= 10 or value == int(value) else f"{value:,.1f}"


def _digits(error: float) -> int:
    """How many decimals an error leaves to its figure: two digits of it."""
    return 1 - math.floor(math.log10(error)) if error else 0


def _rounded(error: float) -> float:
    """Two digits, upwards: an error is not made small by rounding."""
    step = 10.0 ** -_digits(error)
    return math.ceil(error / step - 1e-9) * step


def size(value: Amount) -> str:
    if value.value is None:
        return UNKNOWN
    shown = words.size(round(value.value))
    return f"{shown} ± {words.size(round(value.error))}" if value.error else shown


def seconds(value: Amount) -> str:
    if value.value is None:
        return UNKNOWN
    shown = words.duration(round(value.value, 1))
    return f"{shown} ± {words.duration(round(value.error, 1))}" if value.error >= 1 else shown


def money(value: Amount | None, currency: str) -> str:
    """`USD 0.52`, `below USD 0.01`."""
    if value is None or value.value is None:
        return UNKNOWN
    shown = f"{currency} {value.value:,.2f}" if value.value >= 0.005 else f"below {currency} 0.01"
    return f"{shown} ± {value.error:,.2f}" if value.error >= 0.005 else shown


def units(parts: Iterable[Units]) -> str:
    """`340,000 units of prod-saas, 120,000 units of prod-saas/ByAssignee (0.40 for each of the table)`."""
    shown = []
    for part in parts:
        more = "" if part.amplification is None else f" ({part.amplification:.2f} for each of the table)"
        unit = "unit" if part.units == Amount(1.0) else "units"
        shown.append(f"{amount(part.units)} {unit} of {part.resource}{more}")
    return ", ".join(shown)


def duration(value: Duration) -> str:
    return f"{seconds(value.seconds)}, set by {value.bound_by}"


def problem(one: Problem) -> str:
    """`14 ± 3 index-key-type in owner, such as PK="a": type N where the index wants S`."""
    where = f" in {one.attribute}" if one.attribute else ""
    return f"{amount(one.items)} {one.code}{where}, such as {one.key}: {one.reason}"


def limit(value: TimeLimit) -> str:
    """Whether the run fits."""
    allowed = words.duration(value.seconds)
    if not value.exceeded:
        return f"within {value.source} of {allowed}"
    return f"longer than {value.source} of {allowed}: {value.advice}"


def percent(share: float) -> str:
    return f"{share:.1%}" if share < 0.1 else f"{share:.0%}"


def bar(share: float, width: int = 20) -> str:
    """A bar of eighths of a block: it survives a pipe."""
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    full, rest = divmod(eighths, 8)
    return "█" * full + ("" if not rest else " ▏▎▍▌▋▊▉"[rest])


def span(least: int, most: int) -> str:
    """`1`, `2-9`, `1,000-9,999`."""
    return words.count(least) if least == most else f"{words.count(least)}-{words.count(most)}"


def bookkeeping(own: Bookkeeping) -> str:
    """`104 write and 30 read units of this tool's own records`, or "" where there are none."""
    if not own.writes.value and not own.reads.value:
        return ""
    return f"{amount(own.writes)} write and {amount(own.reads)} read units of this tool's own"
