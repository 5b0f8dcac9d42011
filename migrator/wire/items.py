"""The Items port on the fast transport: lazy scans, updates 25 to a batch, everything else request by request."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any, cast

import msgspec

from migrator.core.change import Check, GuardLost, Outcome, Unknown, Write, Written
from migrator.core.item import Item, Key, item_size
from migrator.core.ports import Clock, Consumed, Entropy, Joint, Outcomes, Page, Permit, RecordAction
from migrator.dynamo import writes as requests
from migrator.dynamo.client import Clients
from migrator.dynamo.errors import ConditionFailed, NotFound
from migrator.dynamo.items import refuse_checks
from migrator.dynamo.joint import JointItems
from migrator.dynamo.layout import Layout
from migrator.dynamo.reads import Reads, scan_request
from migrator.dynamo.retry import Retry
from migrator.dynamo.singles import operation, outcome_or_raise, single_request
from migrator.dynamo.transactions import Transactions
from migrator.errors import AnswerLost, MigratorError
from migrator.wire.errors import of_statement
from migrator.wire.lazy import Wanted, encode, item_from_wire
from migrator.wire.page import LazyPage
from migrator.wire.sender import Parcel, WireSender, plain
from migrator.wire.statements import MAX_BATCH_BYTES, MAX_STATEMENTS, Statement, Statements, batch

MOST_WRITES = 400
BATCH = "BatchExecuteStatement"
_WRITTEN = Written()
_TRANSPORT_FAILS = frozenset({"answer-lost", "credentials-invalid", "endpoint-unreachable", "service-refused"})


class _Scanned(msgspec.Struct):
    Items: msgspec.Raw
    LastEvaluatedKey: dict[str, Any] | None = None
    ConsumedCapacity: dict[str, Any] | None = None


class _Statement(msgspec.Struct):
    Error: dict[str, Any] | None = None


class _Batched(msgspec.Struct):
    Responses: list[_Statement]
    ConsumedCapacity: list[dict[str, Any]] | None = None


_scanned = msgspec.json.Decoder(_Scanned).decode
_batched = msgspec.json.Decoder(_Batched).decode


class FastItems:
    """Reads are retried here; a guarded write is sent once, alone or in a batch, and judged by its answer.

    `told` hears what the transport had to do otherwise than it would: it says what and why. Close it.
    """

    most_writes = MOST_WRITES

    def __init__(
        self,
        clients: Clients,
        retry: Retry,
        clock: Clock,
        entropy: Entropy,
        layout: Layout,
        told: Callable[[str], None] = lambda _: None,
    ):
        self._clients = clients
        self._told = told
        self._sender = WireSender(clients, retry, clock)
        self._reads = Reads(self._sender)
        self._transactions = Transactions(self._sender, self._reads, entropy, layout)
        self._joint = JointItems(self._sender, retry, entropy, layout)
        self._statements = Statements()
        self._wanted: defaultdict[str, Wanted] = defaultdict(Wanted)
        self._may_batch = True

    def close(self) -> None:
        self._sender.close()

    def __enter__(self) -> FastItems:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def try_out(self, table: str) -> None:
        """One read, of whether `table` is there or not. Raises `fast-unusable` where boto3 may do better."""
        try:
            self._sender.read("DescribeTable", table, {"TableName": table})
        except NotFound:
            return
        except MigratorError as exc:
            if exc.code not in _TRANSPORT_FAILS:
                raise
            raise MigratorError(
                "fast-unusable",
                f"the fast transport could not read: {exc.message}; no item was written",
                hint='set transport = "boto3" in this environment of migrator.toml',
            ) from exc

    # --- several items

    def get_together(self, places: Sequence[tuple[str, Key]]) -> Sequence[Item | None]:
        return self._joint.get_together(places)

    def together(
        self,
        writes: Sequence[tuple[str, Write]],
        checks: Sequence[Check],
        records: Sequence[RecordAction],
        permit: Permit,
    ) -> Joint:
        return self._joint.together(writes, checks, records, permit)

    # --- reads

    def get(self, table: str, key: Key) -> Item | None:
        return self._reads.get(table, key)

    def scan(
        self,
        table: str,
        *,
        segment: int = 0,
        total: int = 1,
        start: Key | None = None,
        limit: int | None = None,
    ) -> Page:
        request = scan_request(table, segment, total, start, limit)
        wanted = self._wanted[table]

        def page(body: bytes | bytearray) -> Page:
            found = _scanned(body)
            following = found.LastEvaluatedKey
            return Page(
                LazyPage(found.Items, wanted),
                None if following is None else item_from_wire(following),
                requests.consumed(found.ConsumedCapacity, reading=True),
            )

        return self._sender.read_as("Scan", table, request, page)

    def scan_index(self, table: str, index: str, names: Sequence[str], *, start: Key | None = None) -> Page:
        return self._reads.scan_index(table, index, names, start=start)

    def query(self, table: str, partition: Key, *, most: int) -> Sequence[Item]:
        return self._reads.query(table, partition, most=most)

    # --- writes

    def write(self, table: str, writes: Sequence[Write], permit: Permit) -> Outcomes:
        """Raises LeaseLost, or an error that ends the run, when no request of these writes is under way any more."""
        refuse_checks(writes)
        self._clients.before_change(f"dynamodb:{BATCH}")
        round_ = _Round(table, writes)
        statements: dict[int, Statement] = {}
        if self._may_batch:
            for number, write in enumerate(writes):
                statement = self._statements.of(table, write)
                if statement is not None:
                    statements[number] = statement
        if len(statements) == 1:
            # Alone, an UpdateItem says at once what stands in its way.
            statements.clear()
        self._send(round_, statements, permit)
        if round_.refused:
            self._send_alone(round_, statements, permit)
        self._read_lost(round_)
        return round_.outcomes()

    def transact(self, table: str, write: Write, records: Sequence[RecordAction], permit: Permit) -> Outcomes:
        """A Delete's `before` stays None: a transaction returns no images."""
        return self._transactions.transact(table, write, records, permit)

    def _send(self, round_: _Round, statements: dict[int, Statement], permit: Permit) -> None:
        groups = list(_cut(statements))
        alone = [number for number in range(len(round_.writes)) if number not in statements]
        parcels = [Parcel(BATCH, round_.table, batch([statements[n].body for n in group])) for group in groups]
        parcels += map(round_.parcel, alone)

        def on_answer(number: int, answer: bytes | bytearray | MigratorError) -> None:
            if number < len(groups):
                round_.take_batch(groups[number], answer)
            else:
                round_.take_single(alone[number - len(groups)], answer)

        self._sender.exchange(parcels, permit, on_answer)

    def _send_alone(self, round_: _Round, statements: dict[int, Statement], permit: Permit) -> None:
        """Again, by themselves, the writes whose statements were refused as such: nothing of them was applied."""
        again, round_.refused = round_.refused, []
        if round_.denied and self._may_batch:
            self._may_batch = False
            self._told(
                f"updates go one by one instead of 25 at a time: {round_.denied} (the fast transport batches them with "
                "dynamodb:PartiQLUpdate; `migrator iam` prints the policy)"
            )
        self._sender.exchange(
            [round_.parcel(number) for number in again],
            permit,
            lambda n, answer: round_.take_single(again[n], answer),
        )
        if not round_.denied:
            for number in again:
                if isinstance(round_.found[number], Written | GuardLost):
                    self._statements.refuse(statements[number].shape)

    def _read_lost(self, round_: _Round) -> None:
        """What stands where a batch found its guard lost: its answer does not say."""
        lost = round_.lost
        parcels = [
            Parcel(
                "GetItem",
                round_.table,
                encode({"TableName": round_.table, "Key": round_.writes[n].key, "ConsistentRead": True}),
            )
            for n in lost
        ]

        def on_answer(position: int, answer: bytes | bytearray | MigratorError) -> None:
            number = lost[position]
            if isinstance(answer, MigratorError):
                # Once more, with the patience of reads.
                round_.found[number] = GuardLost(self._reads.get(round_.table, round_.writes[number].key))
            else:
                round_.found[number] = GuardLost(plain(msgspec.json.decode(answer)).get("Item"))

        if lost:
            self._sender.exchange(parcels, None, on_answer)


class _Round:
    """The writes of one call, and what came of each so far."""

    def __init__(self, table: str, writes: Sequence[Write]):
        self.table = table
        self.writes = writes
        self.found: list[Outcome | None] = [None] * len(writes)
        self.consumed: list[Consumed] = []
        self.refused: list[int] = []
        """Those whose statement the service did not take: to be sent by themselves."""
        self.lost: list[int] = []
        """Those whose guard did not hold, where the answer does not say what stands there."""
        self.failed_in_batches: list[int] = []
        self.denied = ""
        """Why statements are denied altogether."""

    def parcel(self, number: int) -> Parcel:
        write = self.writes[number]
        return Parcel(operation(write), self.table, encode(single_request(self.table, write)))

    def take_single(self, number: int, answer: bytes | bytearray | MigratorError) -> None:
        write = self.writes[number]
        if isinstance(answer, ConditionFailed):
            if answer.item is None:
                self.lost.append(number)
            self.found[number] = GuardLost(answer.item)
        elif isinstance(answer, MigratorError):
            self.found[number] = outcome_or_raise(answer)
        else:
            try:
                body = plain(msgspec.json.decode(answer))
            except msgspec.MsgspecError as exc:
                self.found[number] = Unknown(f"the answer to {operation(write)} cannot be read: {exc}")
                return
            self.found[number] = Written(body.get("Attributes"))
            self.consumed.append(requests.consumed(body.get("ConsumedCapacity"), reading=False))

    def take_batch(self, numbers: Sequence[int], answer: bytes | bytearray | MigratorError) -> None:
        if isinstance(answer, MigratorError):
            self._whole_batch(numbers, answer)
            return
        try:
            batched = _batched(answer)
        except msgspec.MsgspecError as exc:
            self._whole_batch(numbers, AnswerLost(f"the answer to {BATCH} cannot be read: {exc}"))
            return
        if len(batched.Responses) != len(numbers):
            message = f"{len(batched.Responses)} answers to a batch of {len(numbers)}"
            self._whole_batch(numbers, AnswerLost(f"dynamodb:{BATCH} on {self.table}: {message}"))
            return
        self.consumed.append(requests.consumed(batched.ConsumedCapacity, reading=False))
        found = self.found
        for number, statement in zip(numbers, batched.Responses, strict=True):
            if statement.Error is None:
                found[number] = _WRITTEN
            else:
                self._statement_failed(number, of_statement(statement.Error, BATCH, self.table))

    def _whole_batch(self, numbers: Sequence[int], error: MigratorError) -> None:
        if error.code in ("validation", "access-denied"):
            for number in numbers:
                self._statement_failed(number, error)
            return
        outcome = outcome_or_raise(error)
        for number in numbers:
            self.found[number] = outcome

    def _statement_failed(self, number: int, error: MigratorError) -> None:
        if isinstance(error, ConditionFailed):
            self.lost.append(number)
            self.failed_in_batches.append(number)
            self.found[number] = GuardLost(None)
        elif error.code in ("validation", "access-denied"):
            self.refused.append(number)
            self.denied = self.denied or (error.message if error.code == "access-denied" else "")
        else:
            self.found[number] = outcome_or_raise(error)

    def outcomes(self) -> Outcomes:
        consumed = requests.added(self.consumed)
        if self.failed_in_batches:
            # A batch reports what its failed statements consumed along with the rest; the engine estimates those.
            lost = sum(
                _units(outcome.current)
                for n in self.failed_in_batches
                if isinstance(outcome := self.found[n], GuardLost)
            )
            rest = max(0.0, consumed.write.get(self.table, 0.0) - lost)
            write = {**consumed.write, self.table: rest}
            consumed = Consumed(consumed.read, {name: units for name, units in write.items() if units})
        assert None not in self.found, "every write was sent and answered for"
        return Outcomes(cast("list[Outcome]", self.found), consumed)


def _units(item: Item | None) -> int:
    """What a write that fails on this item consumes."""
    return 1 if item is None else max(1, math.ceil(item_size(item) / 1024))


def _cut(statements: dict[int, Statement]) -> Iterator[list[int]]:
    """The numbers of the statements, batch by batch."""
    group: list[int] = []
    size = 0
    for number, statement in statements.items():
        size += len(statement.body)
        if group and (len(group) == MAX_STATEMENTS or size > MAX_BATCH_BYTES):
            yield group
            group, size = [], len(statement.body)
        group.append(number)
    if group:
        yield group
