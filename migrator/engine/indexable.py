"""Before an index is built: which items could not be indexed, and why (facts §3)."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from migrator.core.events import Counts, Remark
from migrator.core.item import Item, key_of, key_text
from migrator.core.schema import Index, KeyAttribute
from migrator.core.steps import CreateIndex
from migrator.core.transform import index_key_problem
from migrator.engine.outcomes import PageOutcome
from migrator.engine.segments import Handler, Pass, Segment
from migrator.engine.work import Work
from migrator.errors import MigratorError

EXAMPLES = 20


@dataclass(slots=True)
class Census:
    """What a scan found about an index to be: entries, sparse items, violators by reason."""

    entries: int = 0
    sparse: int = 0
    violators: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)

    def add(self, item: Item, index: Index, key_names: Sequence[str]) -> tuple[Problem, ...]:
        """Count one item. Returns why it could not be indexed; nothing where it could."""
        found = problems(item, index)
        if found:
            first = found[0]
            self.violators += 1
            self.reasons[first.code] += 1
            if len(self.examples) < EXAMPLES:
                self.examples.append(f"{key_text(key_of(item, key_names))}: {first.attribute}: {first.reason}")
            return found
        if all(attribute.name in item for attribute in index.keys):
            self.entries += 1
        else:
            self.sparse += 1
        return ()


@dataclass(frozen=True, slots=True)
class Problem:
    """Why one key attribute of an item keeps it out of an index."""

    attribute: str
    code: str
    """index-key-null | index-key-type | index-key-empty | index-key-size."""
    reason: str
    """For a person: `type N where the index wants S`, `2049 bytes, over the 2048 of a partition key`."""


def problems(item: Item, index: Index) -> tuple[Problem, ...]:
    """Why an item cannot be indexed, by key attribute; none where it can, or merely lacks a key attribute."""
    found = []
    roles: tuple[tuple[Literal["partition", "sort"], tuple[KeyAttribute, ...]], ...] = (
        ("partition", index.partition_key),
        ("sort", index.sort_key),
    )
    for role, attributes in roles:
        for attribute in attributes:
            value = item.get(attribute.name)
            problem = None if value is None else index_key_problem(value, attribute.type, role)
            if problem is not None:
                found.append(Problem(attribute.name, *problem))
    return tuple(found)


def reasons_text(reasons: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {code}" for code, count in sorted(reasons.items()))


def refuse_unindexable(work: Work, step_id: str, step: CreateIndex) -> None:
    """Raises `unindexable-items` before the first call, unless the step allows them; then it says how many."""
    alias = work.schema.alias(step.table)
    key_names = work.schema.table(alias).key_names
    census, lock = Census(), threading.Lock()

    def looking(_segment: Segment) -> Handler:
        def handle(items: Sequence[Item]) -> PageOutcome:
            with lock:
                bad = sum(bool(census.add(item, step.index, key_names)) for item in items)
            return PageOutcome(Counts(scanned=len(items), skipped=bad))

        return handle

    # What it finds is kept here, in this process.
    scan = Pass(work, step_id, "before", alias, "", looking, saves_failures=False, is_alone=True)
    counts, _ = scan.run()
    # The next run looks again: items change while nobody builds.
    work.checkpoints.clear(work.revision, scan.id)
    if not counts.skipped:
        return
    message = (
        f"{counts.skipped} items of {work.name(alias)} could not be indexed by {step.index.name} "
        f"({reasons_text(census.reasons) or 'found by an earlier run'})"
    )
    if step.unindexable == "allow":
        work.report(Remark(message + "; they stay out of the index", "warning", {"items": census.examples}))
        return
    raise MigratorError(
        "unindexable-items",
        message + ":\n  " + "\n  ".join(census.examples),
        hint=f"list them all with `migrator violations {step.index.name}`, which also drafts their repair; "
        "or build without them: unindexable='allow'",
        exit_code=3,
    )
