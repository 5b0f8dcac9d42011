"""The mirror as an AWS Lambda function on the tables' streams: for applications that cannot write both sides.

It holds no lock: any number of invocations may be at work. Each of their transactions checks the phase record, and that
both items are as they were read, so they need none.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from migrator.control.layout import is_control_key, phase
from migrator.control.mirrors import met_record
from migrator.control.phases import PhaseRecord
from migrator.core.change import ChecksLost, GuardLost, Refused, Written
from migrator.core.item import fingerprint, key_text
from migrator.core.ports import CheckRecord, Clock, Entropy, Expect
from migrator.core.rewrite.hints import Job, jobs_of_changes, partition_name, probe_of, view_suffices
from migrator.core.rewrite.phases import rules
from migrator.core.rewrite.reconcile import ENDS, Collision, Equal, Failed, Look, Repair, Seen, reconcile
from migrator.core.rewrite.record import from_json
from migrator.core.rewrite.rewrite import Rewrite
from migrator.dynamo.borrowed import send
from migrator.dynamo.joint import JointItems
from migrator.dynamo.layout import Layout
from migrator.dynamo.retry import Retry
from migrator.dynamo.sending import BotoSender
from migrator.errors import AnswerLost, MigratorError, Throttled
from migrator.machine import SystemClock, SystemEntropy
from migrator.runtime.events import StreamEvent
from migrator.runtime.functions import importable

_log = logging.getLogger("migrator.runtime")
Handler = Callable[[Mapping[str, Any], Any], dict[str, Any]]
MOST_TRIES = 12
"""Decisions on one pair before it is left to a later invocation."""
_ATTEMPTS = 5
_LEFT_MS = 3_000
"""With less time left to the invocation nothing more is begun."""


def stream_handler(
    *,
    client: Any,
    table: str,
    revision: str,
    slot: str = "0",
    key_names: tuple[str, str] = ("PK", "SK"),
    prefix: str = "__migrator__",
    partial_failures: bool = False,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    clock: Clock | None = None,
    entropy: Entropy | None = None,
) -> Handler:
    """A function(event, context) for event source mappings of the streams of a rewrite's tables.

    `client` is a boto3 DynamoDB client, `table` the one where control records lie, `key_names` the names of its keys.
    `partial_failures` says that the mapping has ReportBatchItemFailures: what could not be mirrored is then answered,
    and Lambda goes on from there; otherwise it is raised, and Lambda sends the whole batch again. Both do no harm.
    """
    at = Layout(table, *key_names, prefix)
    moment, chance = clock or SystemClock(), entropy or SystemEntropy()
    retry = Retry(moment, chance, attempts=_ATTEMPTS, lost_attempts=_ATTEMPTS)
    items = JointItems(BotoSender(client, None, retry), retry, chance, at)
    function = _Function(client, at, revision, slot, dict(functions or {}), moment, chance, retry, items)

    def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        failure = function.take(event["Records"], context)
        if failure is not None and not partial_failures:
            raise failure.error
        failed = [] if failure is None else [{"itemIdentifier": failure.sequence}]
        return {"batchItemFailures": failed}

    return handler


@dataclass(frozen=True, slots=True)
class _Failure:
    """From where on a batch is to be sent again, and why."""

    sequence: str
    error: MigratorError


class _PhaseChangedError(Exception):
    """The phase record is not as it was read: what was decided by its rules holds no more."""


@dataclass(frozen=True, slots=True)
class _Stand:
    """The phase, as read at the beginning."""

    record: PhaseRecord
    version: str
    rewrite: Rewrite


class _Always:
    """No lease is asked for: see this module."""

    def check(self) -> None:
        return


@dataclass(slots=True)
class _Function:
    client: Any
    layout: Layout
    revision: str
    slot: str
    functions: Mapping[str, Callable[..., Any]]
    clock: Clock
    entropy: Entropy
    retry: Retry
    items: JointItems

    def take(self, records: Sequence[Mapping[str, Any]], context: Any) -> _Failure | None:
        """Raises where nothing can be said of any record: no phase to be read, a stream that does not tell enough."""
        events = [StreamEvent.of(record) for record in records]
        for _ in range(MOST_TRIES):
            stand = self._stand()
            if stand is None:
                return None
            try:
                return self._follow(stand, events, context)
            except _PhaseChangedError:
                continue
        raise MigratorError("mirror-behind", "the phase changed again and again", hint="Lambda sends the batch again")

    def _stand(self) -> _Stand | None:
        """None where there is nothing to mirror (any more)."""
        layout = self.layout
        request = {
            "TableName": layout.table,
            "Key": layout.key(phase(self.revision, self.slot)),
            "ConsistentRead": True,
        }
        answer = self.retry.call(lambda: send(self.client.get_item, request, "dynamodb:GetItem", layout.table))
        if "Item" not in answer:
            return None
        stored = layout.record(answer["Item"])
        record = PhaseRecord.of(stored)
        if record.phase == "done":
            return None
        return _Stand(
            record, stored.version, from_json(record.rewrite, lambda named: importable(named, self.functions))
        )

    # --- one batch

    def _follow(self, stand: _Stand, events: Sequence[StreamEvent], context: Any) -> _Failure | None:
        ours = [event for event in events if event.table in stand.rewrite.tables]
        for view in {event.view for event in ours}:
            if not view_suffices(stand.rewrite, view):
                raise MigratorError(
                    "mirror-stream",
                    f"a stream of {view} does not tell where a twin stood before: a mirror needs NEW_AND_OLD_IMAGES",
                    hint="enable the stream with that view; what changed meanwhile only a comparison tells",
                    exit_code=2,
                )
        failure = self._settle_all(stand, ours, context)
        for event in ours:
            if failure is not None and event.change.sequence == failure.sequence:
                break
            self._acknowledge(stand, event)
        return failure

    def _settle_all(self, stand: _Stand, events: Sequence[StreamEvent], context: Any) -> _Failure | None:
        asked = rules(stand.record.phase, moves=stand.rewrite.moves)
        if not asked.writes_twin:
            return None
        prefix, done = self.layout.prefix, set[tuple[str, int, str]]()
        own = [
            one
            for one in events
            if not is_control_key(one.change.key, partition_name(stand.rewrite, one.table), prefix)
        ]
        # What all records say of a pair is known before it is looked at, once.
        jobs = {
            table: jobs_of_changes(
                stand.rewrite, asked.authority, table, [one.change for one in own if one.table == table]
            )
            for table in stand.rewrite.tables
        }
        for event in own:
            concerned = jobs_of_changes(stand.rewrite, asked.authority, event.table, [event.change])
            wanted = {(event.table, *_id(stand.rewrite, job)) for job in concerned} - done
            for job in jobs[event.table]:
                place = (event.table, *_id(stand.rewrite, job))
                if place not in wanted:
                    continue
                try:
                    self._settle(stand, job, creates=asked.creates_twin, context=context)
                except (Throttled, AnswerLost, _LaterError) as exc:
                    _log.warning("mirrored up to %s: %s", event.change.sequence, exc.message)
                    return _Failure(event.change.sequence, exc)
                done.add(place)
        return None

    def _settle(self, stand: _Stand, job: Job, *, creates: bool, context: Any) -> None:
        """One pair to where it is equal. Raises _LaterError, Throttled, AnswerLost, _PhaseChangedError."""
        places = job.places
        check = CheckRecord(phase(self.revision, self.slot), Expect(absent=False, version=stand.version))
        for tried in range(MOST_TRIES):
            if tried:
                self.clock.sleep(self.entropy.uniform(0.0, min(1.0, 0.02 * 2**tried)))
            _refuse_late(context)
            places = tuple({place.id: place for place in places}.values())
            seen = Seen()
            found = self.items.get_together([(place.table, place.key) for place in places])
            for place, item in zip(places, found, strict=True):
                seen.put(place, item)
            match reconcile(job.route, job.authority, job.key, seen, job.hints, creates=creates):
                case Equal():
                    return
                case Look(more):
                    places = (*places, *more)
                case Collision() | Failed() as verdict:
                    # No later invocation would fare better: the comparison before cutover names it.
                    _log.warning("not mirrored: %s %s: %s", job.home.table, key_text(job.key), verdict)
                    return
                case Repair() as repair:
                    if self._write(repair, check):
                        return
        raise _LaterError(f"{job.home.table} {key_text(job.key)} changed under {MOST_TRIES} decisions in a row")

    def _write(self, repair: Repair, check: CheckRecord) -> bool:
        """Whether that was all. Raises _PhaseChangedError."""
        joint = self.items.together(repair.writes, repair.checks, [check], _Always())
        match joint.outcome:
            case Written():
                return repair.what in ENDS
            case ChecksLost() | GuardLost() if len(repair.writes) + len(repair.checks) in joint.at:
                raise _PhaseChangedError
            case Refused(code, message):
                _log.warning("not mirrored: %s: %s", code, message)
                return True
        return False

    def _acknowledge(self, stand: _Stand, event: StreamEvent) -> None:
        """Say that a probe was met: all before it, in its shard, is mirrored by the rules of this phase."""
        nonce = probe_of(event.change, partition_name(stand.rewrite, event.table), self.layout.prefix)
        if not nonce:
            return
        at = self.clock.now().isoformat(timespec="seconds")
        record = met_record(self.revision, self.slot, nonce, event.table, stand.record.generation, at)
        request = {"TableName": self.layout.table, "Item": self.layout.item(record, self.entropy.nonce())}
        self.retry.call(lambda: send(self.client.put_item, request, "dynamodb:PutItem", self.layout.table))


class _LaterError(MigratorError):
    """It could not be mirrored now: the records from here on are to come again."""

    def __init__(self, message: str):
        super().__init__(
            "mirror-behind", message, hint="Lambda sends the batch again; look at throttling if it stays so"
        )


def _refuse_late(context: Any) -> None:
    left = getattr(context, "get_remaining_time_in_millis", None)
    if left is not None and left() < _LEFT_MS:
        raise _LaterError("the invocation is about to end: what is left comes with the next one")


def _id(rewrite: Rewrite, job: Job) -> tuple[int, str]:
    return rewrite.routes.index(job.route), fingerprint(job.key)
