"""Whether a mirror is live, and whether it has read everything: asked by an item that it must meet in the streams."""

from __future__ import annotations

from migrator.control.mirrors import MirrorState
from migrator.core.change import Delete, GuardLost, Put, TryAgain, Unknown, Written
from migrator.core.item import AttributeValue, Key
from migrator.core.schema import KeyAttribute
from migrator.engine.rewriting.mirror import PROBE
from migrator.engine.rewriting.passes import Rewriting
from migrator.engine.work import StepOutcome
from migrator.errors import MigratorError

LIVE_SECONDS = 120.0
"""How long a mirror may take to meet a probe before it counts as not live."""
_LOOK_SECONDS = 1.0
_TRIES = 10


def await_mirror(rewriting: Rewriting, *, drained: bool) -> StepOutcome:
    """Wait until the mirror follows this phase and has met a probe in every stream; `drained`: until it has read all.

    Raises `mirror-not-live` where nobody meets a probe.
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
    since = work.clock.monotonic()
    while True:
        state = mirrors.state(work.revision, rewriting.slot) or MirrorState()
        met = state.quiet if drained and _has_met(rewriting, state, nonce) else state.probes
        if state.generation == record.generation and all(met.get(table) == nonce for table in rewriting.rewrite.tables):
            break
        if not _has_met(rewriting, state, nonce) and work.clock.monotonic() - since > LIVE_SECONDS:
            _remove(rewriting, nonce)
            raise MigratorError(
                "mirror-not-live",
                f"no mirror of revision {work.revision} met a change that was made {LIVE_SECONDS:.0f} s ago in "
                f"{', '.join(rewriting.rewrite.tables)}: nothing is copied or cut over without one",
                hint=f"run `migrator mirror run {work.revision}` and keep it running, then this command again",
            )
        what = "has read every change" if drained else "follows this phase and meets a change"
        work.wait(_LOOK_SECONDS, f"until `migrator mirror run` {what}")
    _remove(rewriting, nonce)
    if state.lost == record.generation:
        return StepOutcome(
            "the mirror is live; changes were trimmed before it read them: only a comparison tells which"
        )
    return StepOutcome("the mirror has read every change" if drained else "the mirror is live")


def _has_met(rewriting: Rewriting, state: MirrorState, nonce: str) -> bool:
    return all(state.probes.get(table) == nonce for table in rewriting.rewrite.tables)


def _keys(rewriting: Rewriting, table: str) -> tuple[KeyAttribute, ...]:
    route = next(one for one in rewriting.rewrite.routes if table in (one.source, one.target))
    return route.source_key if table == route.source else route.target_key


def _key(rewriting: Rewriting, table: str, nonce: str) -> Key:
    partition, *rest = _keys(rewriting, table)
    prefix = next(iter(rewriting.work.control_prefixes.values()))
    if partition.type != "S":
        raise MigratorError(
            "mirror-probe",
            f"the partition key of {table} is no string: a mirror of it cannot be proven to be live",
            hint='use application="dual-write" or "stopped" for this rewrite',
        )
    values: dict[str, AttributeValue] = {"S": {"S": "probe"}, "N": {"N": "0"}, "B": {"B": b"probe"}}
    return {partition.name: {"S": f"{prefix}{PROBE}{nonce}"}, **{one.name: values[one.type] for one in rest}}


def _put(rewriting: Rewriting, table: str, key: Key) -> None:
    _until_done(rewriting, table, Put(key, key))


def _remove(rewriting: Rewriting, nonce: str) -> None:
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
