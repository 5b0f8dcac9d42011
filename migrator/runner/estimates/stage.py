"""What every step of a plan has while items pass through it: where it works, what it writes, and what was counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from migrator.core.costs import entry, entry_units, moves_key, write_cost
from migrator.core.item import AttributeValue, Item, fingerprint, key_of, key_text, same, same_item, to_json
from migrator.core.schema import Index
from migrator.core.sketch import KeySketch
from migrator.core.steps import Step
from migrator.core.transform import Decided, Decision, Failed, NotSelected, Skipped, Unchanged
from migrator.runner.estimates.tally import Example, Tally

FENCE_UNITS = 2.0
"""Each transaction checks that the segment is still ours: a record of less than a kilobyte, twice (facts §4.1)."""


@dataclass(slots=True)
class Stage:
    """What every step has: where it works, and what was counted. Alone it lets items pass."""

    id: str
    step: Step
    alias: str
    table: str
    """Physical."""
    key_names: tuple[str, ...]
    indexes: tuple[Index, ...]
    """Those that stand when the step begins."""
    has_stream: bool
    samples: int
    tally: Tally = field(default_factory=Tally)
    shown: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    sketches: dict[str, tuple[Index, KeySketch]] = field(default_factory=dict)
    passes_before: int = 0
    """How often the table is read as it is before the step."""
    passes_after: int = 0
    unknown: tuple[str, ...] = ()
    is_unknown: bool = False
    """Whether nothing can be said of what it reads, writes and costs."""

    def take(self, item: Item) -> Item | None:
        """The item as the step leaves it; None where it is gone."""
        return item

    def brought(self) -> Sequence[Item]:
        """Items that the step itself brings."""
        return ()

    def write(self, before: Item | None, after: Item | None, *, factor: int = 1) -> None:
        """Count what one write costs: `factor` 2 in a transaction."""
        table, by_index = write_cost(before, after, self.indexes, self.key_names)
        self.tally.add(f"write:{self.table}", factor * table)
        for index in self.indexes:
            if index.name in by_index:
                self.tally.add(f"write:{self.table}/{index.name}", by_index[index.name])
                self._enter(index, entry(index, before, self.key_names), entry(index, after, self.key_names))
        if self.has_stream and not same_item(before, after):
            self.tally.add("stream")

    def _enter(self, index: Index, old: Item | None, new: Item | None) -> None:
        if new is not None and (old is None or moves_key(index, old, new)):
            key = " ".join(f"{part.name}={_shown(new[part.name])}" for part in index.partition_key)
            sketch = self.sketches.setdefault(index.name, (index, KeySketch()))[1]
            sketch.add(key, entry_units(index, old, new))

    def judged(self, item: Item, decision: Decision) -> Decided | None:
        """Count a decision; what is decided is for the caller to write."""
        tally = self.tally
        tally.add("scanned")
        match decision:
            case Decided():
                tally.add("changed")
                return decision
            case Failed(code, message):
                tally.add("failed")
                tally.problem("failed", code, "", Example(key_text(key_of(item, self.key_names)), message))
            case Unchanged():
                tally.add("unchanged")
            case Skipped():
                tally.add("skipped")
            case NotSelected():
                pass
        return None

    def show(self, before: Item, after: Item) -> None:
        """Keep it if its key's hash is among the lowest: whatever the order of reading, each time the same few."""
        if not self.samples:
            return
        mark = fingerprint(key_of(before, self.key_names))
        if len(self.shown) < self.samples or mark < self.shown[-1][0]:
            self.shown.append((mark, sample(before, after, self.key_names)))
            self.shown.sort(key=lambda one: one[0])
            del self.shown[self.samples :]


def sample(before: Item, after: Item, key_names: Sequence[str]) -> Mapping[str, Any]:
    """`{"key": …, "before": {…}, "after": {…}}`, DynamoDB JSON, only what changes."""
    is_gone = not after.keys() & set(key_names)
    changed = sorted(
        name
        for name in {*before, *after}
        if not same(before.get(name), after.get(name)) and not (is_gone and name in key_names)
    )
    return {
        "key": to_json(key_of(before, key_names)),
        "before": to_json({name: before[name] for name in changed if name in before}),
        "after": to_json({name: after[name] for name in changed if name in after}),
    }


def _shown(value: AttributeValue) -> str:
    ((kind, content),) = to_json({"": value})[""].items()
    return str(content) if kind in ("S", "N") else f"{kind}:{content}"
