"""One look at each table of a plan, whole or in a sample: items pass through the steps, and nothing is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from migrator.core.costs import read_units
from migrator.core.item import Item, item_size
from migrator.core.ports import LiveTable
from migrator.core.rewrite.rewrite import Rewrite
from migrator.core.schema import Schema
from migrator.core.settings import Stream
from migrator.core.steps import (
    ChangeSetting,
    DataStep,
    DeleteItems,
    PutItems,
    RunFunction,
    Step,
    TransformItems,
)
from migrator.core.transform import Decider
from migrator.engine.segments import segments_of
from migrator.engine.survey import Survey, Take
from migrator.engine.work import Reader
from migrator.runner.budgets import budgets
from migrator.runner.estimates.lookups import LookupMeter
from migrator.runner.estimates.stage import Stage
from migrator.runner.estimates.stages import Around, Indexing, stage_of
from migrator.runner.estimates.tally import Sample
from migrator.runner.estimates.twins import Twins
from migrator.runner.planned import Planned
from migrator.runner.session import Session

BLOCKS = 8
"""Stretches of a table that a sample is made of."""
BLOCK_ITEMS = 125
"""Items read of each."""
BLOCK_PAGES = 4
"""Pages read of each at the most: control records among the items must not make it a long way."""
KEPT, KEPT_BYTES = 1000, 1 << 20

StepKey = tuple[str, str]
"""(revision, step id)."""


@dataclass(slots=True)
class TableLook:
    """The steps on one table, and what was read of it."""

    alias: str
    table: str
    live: LiveTable | None
    stages: dict[StepKey, Stage] = field(default_factory=dict)
    sample: Sample = field(default_factory=lambda: Sample((0,), 0, True))
    read_units: float = 0.0
    looked_at: int = 0
    """Items of the application that were read."""
    kept: list[Item] = field(default_factory=list)
    """Some of them, for rules of lint to look at: up to `KEPT`, and about as many bytes as a page of a scan has."""
    _kept_bytes: int = 0

    @property
    def reads_items(self) -> bool:
        return self.live is not None and any(
            isinstance(stage.step, DataStep) or isinstance(stage, Indexing) for stage in self.stages.values()
        )

    def page(self, items: Sequence[Item], consumed: float) -> None:
        """Pass a page through the steps. What it consumed beyond these items was for control records among them."""
        stages = list(self.stages.values())
        sizes = [0] * (len(stages) + 1)
        self.looked_at += len(items)
        for item in items:
            if len(self.kept) < KEPT and self._kept_bytes < KEPT_BYTES:
                self.kept.append(item)
                self._kept_bytes += item_size(item)
            _pass(item, stages, sizes)
        self.read_units += consumed
        others = max(0.0, consumed - read_units(sizes[0]))
        for number, stage in enumerate(stages):
            stage.tally.add("bytes", sizes[number])
            stage.tally.add("pages-before", read_units(sizes[number]) + others)
            stage.tally.add("pages-after", read_units(sizes[number + 1]) + others)

    def next_block(self) -> None:
        for stage in self.stages.values():
            stage.tally.blocks.append(Counter())

    def finish(self) -> None:
        """Pass on what steps bring themselves: that does not grow with the table."""
        stages = list(self.stages.values())
        for stage in stages:
            stage.tally.is_fixed = True
        for number, stage in enumerate(stages):
            for item in stage.brought():
                _pass(item, stages[number + 1 :], [0] * (len(stages) + 1))


def _pass(item: Item, stages: Sequence[Stage], sizes: list[int]) -> None:
    """Through the steps in order, until one takes it away. `sizes` grows by its bytes before each, and at the end."""
    current: Item | None = item
    size = item_size(item)
    for number, stage in enumerate(stages):
        assert current is not None
        sizes[number] += size
        after = stage.take(current)
        if after is None:
            return
        size = size if after is current else item_size(after)
        current = after
    sizes[len(stages)] += size


@dataclass(frozen=True, slots=True)
class Look:
    """What was seen."""

    full: bool
    tables: Mapping[str, TableLook]
    """By alias."""
    told: frozenset[StepKey]
    """The steps of which it can be said what will be in the way."""

    @property
    def stages(self) -> dict[StepKey, Stage]:
        return {key: stage for table in self.tables.values() for key, stage in table.stages.items()}

    def findings(self) -> dict[str, dict[str, int]]:
        """Step -> reason -> items in the way that were really seen: what a later look is held against."""
        found: dict[str, dict[str, int]] = {}
        for (revision, step), stage in self.stages.items():
            if (revision, step) not in self.told:
                continue
            tally = stage.tally
            names = tally.names("failed:") + tally.names("unindexable:")
            if names:
                found[f"{revision} {step}"] = {name: int(tally.seen(name)) for name in names}
        return found


def look_at(session: Session, planned: Sequence[Planned], *, full: bool, samples: int = 3) -> Look:
    """Read the tables that the steps work on: all of them, or `BLOCKS` stretches each.

    Strongly consistent; the whole look within the read budget. Steps behind gates come right after those before
    them.
    """
    tables = _tables(session, planned, samples)
    for table in tables.values():
        if table.live is None:
            pass
        elif not table.reads_items:
            table.sample = Sample((0,), table.live.item_count, False)
        elif full:
            _read_whole(session, table, table.live)
        else:
            _read_blocks(session, table, table.live)
        table.finish()
    return Look(full, tables, told_of(planned))


def _tables(session: Session, planned: Sequence[Planned], samples: int) -> dict[str, TableLook]:
    found: dict[str, TableLook] = {}
    streams = {alias: live.stream is not None for alias, live in session.live.items()}
    for one in planned:
        for step_id, step in one.way_up:
            before = one.before_step(step_id)
            alias = before.alias(step.table)
            table = found.setdefault(alias, TableLook(alias, session.names.get(alias, alias), session.live.get(alias)))
            if isinstance(step, ChangeSetting) and isinstance(step.setting, Stream):
                streams[alias] = step.setting.view is not None
            stage = _stage(session, one, step_id, step, before, table, streams.get(alias, False), samples)
            table.stages[one.migration.revision, step_id] = stage
    return found


def _stage(
    session: Session,
    one: Planned,
    step_id: str,
    step: Step,
    before: Schema,
    table: TableLook,
    has_stream: bool,
    samples: int,
) -> Stage:
    shape = before.tables.get(table.alias)
    base: dict[str, Any] = {
        "id": step_id,
        "step": step,
        "alias": table.alias,
        "table": table.table,
        "key_names": () if shape is None else shape.key_names,
        "indexes": () if shape is None else tuple(shape.indexes.values()),
        "has_stream": has_stream,
        "samples": samples,
    }
    # As the engine makes it: on the shape before and after the whole revision, which may make the table itself.
    earlier = one.before if table.alias in one.before.tables else before
    return stage_of(
        step,
        Around(
            base,
            lambda step, meter: Decider.of(step.transform, table.alias, earlier, one.after, meter),
            lambda: LookupMeter(Reader(session.items, session.names, earlier)),
            lambda rewrite: _twins(session, one.schema_at(step_id), rewrite),
        ),
    )


def _twins(session: Session, schema: Schema, rewrite: Rewrite) -> Twins:
    (target, *_) = rewrite.targets
    shape = schema.table(target)
    return Twins(rewrite, session.names.get(target, target), tuple(shape.indexes.values()), shape.key_names)


def _survey(session: Session) -> Survey:
    reads, _ = budgets(session)
    return Survey(
        session.items,
        session.ports.clock,
        session.ports.entropy,
        session.settings.limits,
        reads,
        session.control_prefixes,
        session.report,
        session.stop,
        "plan",
    )


def _read_whole(session: Session, table: TableLook, live: LiveTable) -> None:
    counts = _survey(session).run(live, table.page)
    table.sample = Sample((counts.scanned,), counts.scanned, True)


def _read_blocks(session: Session, table: TableLook, live: LiveTable) -> None:
    """The beginnings of segments chosen at random: segments divide the table by the hash of its keys."""
    segments = max(BLOCKS, segments_of(live, session.settings.limits))
    chosen = sorted(session.ports.entropy.shuffled(range(segments))[:BLOCKS])

    def take(number: int) -> Take:
        if number:
            table.next_block()
        return table.page

    sizes, is_whole = _survey(session).blocks(live, segments, chosen, items=BLOCK_ITEMS, pages=BLOCK_PAGES, take=take)
    whole = max(live.item_count, sum(sizes)) if live.item_count else None
    table.sample = Sample(tuple(sizes), table.looked_at if is_whole else whole, is_whole)


def told_of(planned: Sequence[Planned]) -> frozenset[StepKey]:
    """The steps whose items are known as they will find them.

    What a function of yours did before, or what a lookup finds after earlier writes, no look can tell.
    """
    found: list[StepKey] = []
    writes = False
    for one in planned:
        for step_id, step in one.steps("apply"):
            if not (writes and isinstance(step, TransformItems) and step.transform.takes_lookup):
                found.append((one.migration.revision, step_id))
            if isinstance(step, RunFunction):
                return frozenset(found)
            writes = writes or isinstance(step, TransformItems | PutItems | DeleteItems)
    return frozenset(found)
