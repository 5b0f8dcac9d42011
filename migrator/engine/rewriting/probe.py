"""Whether a mirror is live, and whether it has read everything: asked by an item that it must meet in the streams."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from migrator.control.mirrors import MirrorState
from migrator.core.change import Delete, GuardLost, Put, TryAgain, Unknown, Written
from migrator.core.item import AttributeValue, Key
from migrator.core.rewrite.hints import PROBE
from migrator.core.schema import KeyAttribute
from migrator.engine.rewriting.passes import Rewriting
from migrator.engine.work import StepOutcome
from migrator.errors import MigratorError

LIVE_SECONDS = 120.0
"""How long a mirror may take to meet a probe, or be silent after, before it counts as not live."""
FUNCTION_SECONDS = 10.0
"""How long functions have, after one of them met each probe, for what others still read. The comparison that follows
is what counts: a change that comes later than that shows in it."""
_LOOK_SECONDS = 1.0
_TRIES = 10


def await_mirror(rewriting: Rewriting, *, drained: bool) -> StepOutcome:
    """Wait until the mirror follows this phase and has met a probe in every stream; `drained`: until it has read all.

    Raises `mirror-not-live` where nobody meets a probe, or nothing is heard of who did.
    """
    work, record = rewriting.work, rewriting.standing()
    mirrors = work.mirrors
    assert mirrors is not None, "only a run waits for a mirror"
    known = work.ledger.step(rewriting.step_id).get("probe")
    if known:
        _remove(rewriting, str(known))
    nonce = work.entropy.nonce()
    work.ledger.note_step(rewriting.step_id, probe=nonce)
    for table in rewriting.rewrite.tables:
        _put(rewriting, table, _key(rewriting, table, nonce))
    heard, heard_at = _Heard(), work.clock.monotonic()
    while True:
        now = work.clock.monotonic()
        found = _Heard(
            mirrors.state(work.revision, rewriting.slot) or MirrorState(),
            mirrors.met(work.revision, rewriting.slot, nonce),
        )
        # One that says this and that, and never that it met the probe, reads another stream.
        if found != heard and (found.is_met(rewriting, nonce) or found.by_functions != heard.by_functions):
            heard, heard_at = found, now
        if found.is_done(rewriting, nonce, record.generation, drained=drained, seconds=now - heard_at):
            break
        if now - heard_at > LIVE_SECONDS:
            _remove(rewriting, nonce)
            raise MigratorError(
                "mirror-not-live",
                f"no mirror of revision {work.revision} met a change that was made {LIVE_SECONDS:.0f} s ago in "
                f"{', '.join(rewriting.rewrite.tables)}, or it fell silent: nothing is copied or cut over without one",
                hint=f"run `migrator mirror run {work.revision}` and keep it running, then this command again",
            )
        what = "has read every change" if drained else "follows this phase and meets a change"
        work.wait(_LOOK_SECONDS, f"until `migrator mirror run` {what}")
    _remove(rewriting, nonce)
    if found.state.lost == record.generation:
        return StepOutcome(
            "the mirror is live; changes were trimmed before it read them: only a comparison tells which"
        )
    return StepOutcome("the mirror has read every change" if drained else "the mirror is live")


@dataclass(frozen=True, slots=True)
class _Heard:
    """What a worker says of itself, and where functions met the probe."""

    state: MirrorState = field(default_factory=MirrorState)
    by_functions: Mapping[str, int] = field(default_factory=dict)

    def is_met(self, rewriting: Rewriting, nonce: str) -> bool:
        return all(self.state.probes.get(table) == nonce for table in rewriting.rewrite.tables)

    def is_done(self, rewriting: Rewriting, nonce: str, generation: int, *, drained: bool, seconds: float) -> bool:
        """`seconds`: since anything new was heard."""
        tables = rewriting.rewrite.tables
        if self.is_met(rewriting, nonce):
            is_quiet = all(self.state.quiet.get(table) == nonce for table in tables)
            return self.state.generation == generation and (is_quiet or not drained)
        # Functions are many, and none of them knows what others have read: they are given a while.
        met = all(self.by_functions.get(table) == generation for table in tables)
        return met and (not drained or seconds >= FUNCTION_SECONDS)


def refuse_unprovable(rewriting: Rewriting) -> None:
    """Raises `mirror-probe` for a table that takes no probe."""
    for table in rewriting.rewrite.tables:
        if _keys(rewriting, table)[0].type != "S":
            raise MigratorError(
                "mirror-probe",
                f"the partition key of {table} is no string: a mirror of it cannot be proven to be live",
                hint='use application="dual-write" or "stopped" for this rewrite',
            )


def _keys(rewriting: Rewriting, table: str) -> tuple[KeyAttribute, ...]:
    route = next(one for one in rewriting.rewrite.routes if table in (one.source, one.target))
    return route.source_key if table == route.source else route.target_key


def _key(rewriting: Rewriting, table: str, nonce: str) -> Key:
    partition, *rest = _keys(rewriting, table)
    prefix = next(iter(rewriting.work.control_prefixes.values()))
    values: dict[str, AttributeValue] = {"S": {"S": "probe"}, "N": {"N": "0"}, "B": {"B": b"probe"}}
    return {partition.name: {"S": f"{prefix}{PROBE}{nonce}"}, **{one.name: values[one.type] for one in rest}}


def _put(rewriting: Rewriting, table: str, key: Key) -> None:
    _until_done(rewriting, table, Put(key, key))


def _remove(rewriting: Rewriting, nonce: str) -> None:
    work = rewriting.work
    assert work.mirrors is not None
    work.mirrors.forget_met(work.revision, rewriting.slot, nonce, rewriting.rewrite.tables, work.lease)
    for table in rewriting.rewrite.tables:
        _until_done(rewriting, table, Delete(_key(rewriting, table, nonce), {}))


def _until_done(rewriting: Rewriting, table: str, write: Put | Delete) -> None:
    """A probe that is there already, or gone already, is as wanted."""
    work = rewriting.work
    for left in reversed(range(_TRIES)):
        (outcome,) = work.items.write(table, [write], work.lease).outcomes
        if isinstance(outcome, Written | GuardLost):
            return
        if not isinstance(outcome, TryAgain | Unknown) or not left:
            raise MigratorError("mirror-probe", f"a probe could not be written to {table}: {outcome}")
        work.wait(_LOOK_SECONDS, f"a probe in {table} was refused for now")
