"""Which requests a fault meets, and which of those it strikes."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from migrator.sandbox.actions import Action, indexes_of
from migrator.sandbox.clock import Clock
from migrator.sandbox.engine import Engine, Item


@dataclass(frozen=True, slots=True)
class Match:
    """Operations, table, index and key values select requests; the rest says which of them are struck.

    Of the selected requests it strikes the `nth` (from 1), or `every` nth, or each with a `probability` that `seed`
    makes the same in each run; at most `times`, and only for `lasts` seconds of the sandbox's clock.
    """

    operations: tuple[str, ...] = ()
    table: str = ""
    index: str = ""
    key: Mapping[str, str] = field(default_factory=dict)
    nth: int | None = None
    every: int | None = None
    probability: float | None = None
    seed: int = 0
    times: int | None = None
    lasts: float | None = None

    def chosen(self, engine: Engine, actions: Sequence[Action]) -> tuple[int, ...] | None:
        """Positions of the actions that table, index and key select; None where they select none."""
        if not (self.table or self.index or self.key):
            return tuple(range(len(actions)))
        return tuple(n for n, action in enumerate(actions) if self._selects(engine, action)) or None

    def _selects(self, engine: Engine, action: Action) -> bool:
        if self.table and action.table != self.table:
            return False
        if not self.has_key(action.named or {}):
            return False
        return not self.index or self.index in indexes_of(engine, action)

    def has_key(self, item: Item) -> bool:
        return all(_text(item.get(name)) == value for name, value in self.key.items())

    def __str__(self) -> str:
        """As the command line spells it."""
        words = [f"--operation {name}" for name in self.operations]
        words += [f"--{name} {value}" for name in ("table", "index") if (value := getattr(self, name))]
        words += [f"--key {name}={value}" for name, value in self.key.items()]
        for name in ("nth", "every", "probability", "times"):
            if (value := getattr(self, name)) is not None:
                words.append(f"--{name} {value:g}")
        if self.seed:
            words.append(f"--seed {self.seed}")
        if self.lasts is not None:
            words.append(f"--for {self.lasts:g}s")
        return " ".join(words)


class Dice:
    """Decides of each opportunity whether the fault strikes; the same opportunities get the same decisions."""

    def __init__(self, match: Match, clock: Clock) -> None:
        self._match = match
        self._clock = clock
        self._random = random.Random(match.seed)  # noqa: S311 - repeatable on purpose
        self._end = None if match.lasts is None else clock.now() + match.lasts
        self.met = 0
        self.struck = 0

    @property
    def is_over(self) -> bool:
        """Whether it will never strike again."""
        match = self._match
        spent = match.times is not None and self.struck >= match.times
        passed = match.nth is not None and self.met >= match.nth
        return spent or passed or (self._end is not None and self._clock.now() >= self._end)

    def falls(self) -> bool:
        """Count one opportunity; whether it is struck."""
        if self.is_over:
            return False
        self.met += 1
        match = self._match
        hit = (
            (match.nth is None or self.met == match.nth)
            and (match.every is None or self.met % match.every == 0)
            and (match.probability is None or self._random.random() < match.probability)
        )
        self.struck += hit
        return hit

    def uniform(self, low: float, high: float) -> float:
        return self._random.uniform(low, high)

    def one(self, positions: Sequence[int]) -> tuple[int, ...]:
        return (self._random.choice(positions),) if positions else ()

    def share(self, positions: Sequence[int], part: float) -> tuple[int, ...]:
        """About `part` of the positions: at least one, and not all of several unless `part` is 1."""
        most = len(positions) if part >= 1 else max(1, len(positions) - 1)
        number = min(most, max(1, round(part * len(positions))))
        return tuple(sorted(self._random.sample(list(positions), number))) if positions else ()


def _text(value: Any) -> str | None:
    """What a person writes for an attribute of type S, N or BOOL."""
    if not isinstance(value, dict) or len(value) != 1:
        return None
    ((kind, content),) = value.items()
    return str(content).lower() if kind == "BOOL" else str(content) if kind in ("S", "N") else None
