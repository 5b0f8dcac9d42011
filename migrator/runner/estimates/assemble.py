"""From what was counted to figures: units, index sizes, hot keys, money and time of one step."""

from __future__ import annotations

from migrator.config import Limits
from migrator.core.costs import PARTITION_WRITES, READ_UNIT
from migrator.core.rewrite.steps import EnterPhase
from migrator.core.schema import Index
from migrator.core.sketch import KeySketch
from migrator.runner.estimates.bookkeeping import of_step
from migrator.runner.estimates.figures import (
    NOTHING,
    UNKNOWN,
    Amount,
    Bookkeeping,
    Duration,
    IndexForecast,
    ItemCounts,
    KeySpread,
    Problem,
    Spread,
    StepEstimate,
    TopKey,
    Units,
    total,
)
from migrator.runner.estimates.look import Look, TableLook
from migrator.runner.estimates.stage import Stage
from migrator.runner.estimates.stages import Indexing
from migrator.runner.estimates.terms import Terms, share_of

TOP_KEYS = 10
LEAST_OF_A_DISTRIBUTION = 20
"""Entries below which no key is called hot: the share of the hottest of three says nothing."""


def step_estimate(
    look: Look, table: TableLook, stage: Stage, terms: Terms, segments: int, position: int, limits: Limits
) -> StepEstimate:
    """The figures of a step, the so many-th of its revision.

    `segments` is how many the engine's own scans of the table will have.
    """
    tally, sample = stage.tally, table.sample

    def amount(name: str) -> Amount:
        return sample.amount(tally, name)

    if stage.is_unknown:
        own = of_step(stage.step, 0, segments, position, None, limits)
        return StepEstimate(
            bookkeeping=Bookkeeping(Amount(own.reads), Amount(own.writes)), cost=UNKNOWN, unknown=stage.unknown
        )
    items = None
    if stage.passes_before or tally.seen("scanned"):
        counted = {name: amount(name) for name in ("scanned", "changed", "unchanged", "skipped", "failed")}
        if isinstance(stage, Indexing):
            items = ItemCounts(scanned=amount("scanned"))
        else:
            matched = total([counted[name] for name in ("changed", "unchanged", "skipped", "failed")])
            items = ItemCounts(matched=matched, **counted)
    reads = _reads(look, table, stage, segments)
    writes = _writes(table, stage)
    duration = _duration(stage, terms, reads, writes, items, limits)
    passes = stage.passes_before + stage.passes_after
    own = of_step(stage.step, passes, segments, position, duration, limits)
    bookkeeping = Bookkeeping(
        Amount(own.reads) + amount("journal-reads"),
        Amount(own.writes) + amount("bookkeeping"),
    )
    index = _forecast(table, stage) if isinstance(stage, Indexing) else None
    return StepEstimate(
        items=items,
        reads=tuple(reads),
        writes=tuple(writes),
        bookkeeping=bookkeeping,
        failures=tuple(_problems(table, stage, "failed")),
        index=index,
        keys=tuple(
            _spread(sketch, index, terms.write_pace(f"{table.table}/{name}", index).rate)
            for name, (index, sketch) in sorted(stage.sketches.items())
        ),
        stream_records=amount("stream") if stage.has_stream and items is not None else None,
        duration=duration,
        cost=terms.requests(
            table.table,
            total([bookkeeping.reads, *(one.units for one in reads)]),
            total([bookkeeping.writes, *(one.units for one in writes)]),
        ),
        storage_per_month=None if index is None else terms.storage(index.size_bytes),
        unknown=stage.unknown,
    )


def _reads(look: Look, table: TableLook, stage: Stage, segments: int) -> list[Units]:
    """Each pass reads the whole table once; lookups come on top."""
    passes = {"before": stage.passes_before, "after": stage.passes_after}
    found = NOTHING
    for way, times in passes.items():
        if not times:
            continue
        if look.full:
            # Page by page, as the engine will read it.
            one = table.sample.amount(stage.tally, f"pages-{way}")
        else:
            one = table.sample.amount(stage.tally, "bytes").times(1 / READ_UNIT)
            if one.value is not None and one.value < segments:
                one = Amount(float(segments), one.error)
        found += one.times(times)
    by_table = {table.table: found} if any(passes.values()) else {}
    for name in stage.tally.names("lookup:"):
        resource = name.partition(":")[2]
        by_table[resource] = by_table.get(resource, NOTHING) + table.sample.amount(stage.tally, name)
    return [Units(resource, units) for resource, units in sorted(by_table.items())]


def _writes(table: TableLook, stage: Stage) -> list[Units]:
    found = []
    of_table = stage.tally.seen(f"write:{table.table}")
    for name in stage.tally.names("write:"):
        resource = name.partition(":")[2]
        factor = None
        if resource.startswith(f"{table.table}/") and of_table:
            factor = stage.tally.seen(name) / of_table
        found.append(Units(resource, table.sample.amount(stage.tally, name), factor))
    return found


def _problems(table: TableLook, stage: Stage, kind: str) -> list[Problem]:
    found = []
    for name in stage.tally.names(f"{kind}:"):
        _, code, attribute = name.split(":", 2)
        first = stage.tally.examples[code, attribute]
        items = table.sample.amount(stage.tally, name)
        found.append(Problem(code, int(stage.tally.seen(name)), items, first.key, first.reason, attribute))
    return found


def _forecast(table: TableLook, stage: Indexing) -> IndexForecast:
    index, tally, sample = stage.index, stage.tally, table.sample
    assert index is not None
    entries = sample.amount(tally, "entries")
    seen = tally.seen("entries")
    units = tally.seen(f"write:{table.table}/{index.name}")
    return IndexForecast(
        name=index.name,
        entries=entries,
        size_bytes=sample.amount(tally, "entry-bytes"),
        sparse=sample.amount(tally, "sparse"),
        unindexable=sample.amount(tally, "unindexable"),
        problems=tuple(_problems(table, stage, "unindexable")),
        units_per_write=units / seen if seen else None,
        share_of_items=share_of(entries, sample.amount(tally, "scanned")),
        constraints=tuple(_constraints(index, stage)),
    )


_TYPES = {"S": "a string", "N": "a number", "B": "a binary"}


def _constraints(index: Index, stage: Stage) -> list[str]:
    """Of each key attribute what it may be; those that another index holds to it already are left out."""
    known = {key.name for other in stage.indexes for key in other.keys} | set(stage.key_names)
    found = []
    for position, key in enumerate(index.keys):
        if key.name in known:
            continue
        most = 2048 if position < len(index.partition_key) else 1024
        size = "" if key.type == "N" else f" of 1 to {most} bytes"
        held = [name.split(":") for name in stage.tally.names("unindexable:")]
        counts = {
            code: int(stage.tally.seen(f"unindexable:{code}:{attribute}"))
            for _, code, attribute in held
            if attribute == key.name
        }
        now = ", ".join(f"{number} {code.removeprefix('index-key-')}" for code, number in sorted(counts.items()))
        seen = f"; among the items read: {now}" if now else ""
        found.append(f"{key.name} must be {_TYPES[key.type]}{size}, or absent{seen}")
    return found


def _spread(sketch: KeySketch, index: Index, rate: float) -> KeySpread:
    top = sketch.heaviest(TOP_KEYS)
    share = (top[0].units - top[0].error) / sketch.units if top else 0.0
    tells = sketch.entries >= LEAST_OF_A_DISTRIBUTION
    return KeySpread(
        index=index.name,
        attributes=tuple(key.name for key in index.partition_key),
        entries=sketch.entries,
        distinct=sketch.distinct,
        hottest_share=share,
        top=tuple(TopKey(one.key, (one.units - one.error) / sketch.units) for one in top),
        histogram=tuple(Spread(one.least, one.most, one.keys) for one in sketch.histogram()),
        rate=rate,
        hottest_rate=share * rate,
        is_hot=tells and share * rate > PARTITION_WRITES,
        safe_rate=PARTITION_WRITES / share if share else rate,
        is_exact=sketch.is_exact,
    )


def _duration(
    stage: Stage, terms: Terms, reads: list[Units], writes: list[Units], items: ItemCounts | None, limits: Limits
) -> Duration | None:
    if isinstance(stage.step, EnterPhase) and stage.step.rewrite.application == "dual-write":
        return Duration(Amount(limits.reader_lease + limits.attempt_time), "the wait until every instance knows of it")
    if items is None:
        return None
    times = max(1, stage.passes_before + stage.passes_after)
    look = terms.passes(reads, [] if isinstance(stage, Indexing) else writes, items.scanned.times(times), items.changed)
    if not isinstance(stage, Indexing) or stage.index is None:
        return look
    build = terms.build(writes[0].units if writes else UNKNOWN if items.scanned.value is None else NOTHING, stage.index)
    return Duration(look.seconds + build.seconds, build.bound_by)
