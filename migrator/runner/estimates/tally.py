"""What a look has counted for one step, block by block, and what it makes of the whole table."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from migrator.runner.estimates.figures import UNKNOWN, Amount

_T95 = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23)
"""Student's t for 95 %, by degrees of freedom from 1."""


@dataclass(frozen=True, slots=True)
class Example:
    """An item in the way: its key, and what is wrong, in words."""

    key: str
    reason: str


@dataclass(slots=True)
class Tally:
    """Counts by name, such as `changed`, `failed:CODE`, `write:table/index`.

    A block is one stretch of the table; what does not grow with the table (items that the migration itself brings)
    goes to `fixed`.
    """

    blocks: list[Counter[str]] = field(default_factory=lambda: [Counter()])
    fixed: Counter[str] = field(default_factory=Counter)
    examples: dict[tuple[str, str], Example] = field(default_factory=dict)
    is_fixed: bool = False

    def add(self, name: str, number: float = 1) -> None:
        counter = self.fixed if self.is_fixed else self.blocks[-1]
        counter[name] += number  # type: ignore[assignment]

    def problem(self, name: str, code: str, attribute: str, example: Example) -> None:
        """Count an item in the way under `name:code:attribute`, and keep the first by its key."""
        self.add(f"{name}:{code}:{attribute}")
        known = self.examples.get((code, attribute))
        if known is None or example.key < known.key:
            self.examples[code, attribute] = example

    def seen(self, name: str) -> float:
        """How much was counted, without anything made of it."""
        return sum(block[name] for block in self.blocks) + self.fixed[name]

    def names(self, prefix: str) -> list[str]:
        return sorted({name for block in (*self.blocks, self.fixed) for name in block if name.startswith(prefix)})


@dataclass(frozen=True, slots=True)
class Sample:
    """How much of a table was looked at: items by block, and of how many. `whole` None: nobody knows."""

    sizes: tuple[int, ...]
    whole: int | None
    is_complete: bool

    @property
    def looked_at(self) -> int:
        return sum(self.sizes)

    def amount(self, tally: Tally, name: str) -> Amount:
        """What a count comes to for the whole table, with the half-width of its 95 % interval."""
        fixed = float(tally.fixed[name])
        seen = [float(block[name]) for block in tally.blocks]
        if self.is_complete:
            return Amount(sum(seen) + fixed)
        if self.whole is None or not self.looked_at:
            return UNKNOWN
        value, error = ratio(seen, self.sizes, self.whole)
        return Amount(value + fixed, error)


def ratio(seen: Sequence[float], sizes: Sequence[int], whole: int) -> tuple[float, float]:
    """(total, half-width): a ratio estimator over blocks of items, its variance by leaving out one block at a time.

    Blocks rather than items: neighbours share a partition key and are alike. What was not met at all may still be
    there: three in as many items as were read, by the rule of three.
    """
    number, found = sum(sizes), sum(seen)
    share = found / number
    unread = max(0.0, 1 - number / whole)
    if found == 0:
        return 0.0, 3 / number * whole * unread
    kept = [(one, size) for one, size in zip(seen, sizes, strict=True) if size]
    blocks = len(kept)
    if blocks < 2:
        return share * whole, share * whole * unread
    without = [(found - one) / (number - size) for one, size in kept]
    mean = sum(without) / blocks
    variance = (blocks - 1) / blocks * sum((one - mean) ** 2 for one in without) * unread
    t = _T95[min(blocks - 2, len(_T95) - 1)]
    return share * whole, t * math.sqrt(variance) * whole
