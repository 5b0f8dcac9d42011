"""A rewrite's life with an application beside it, and a ledger of what that was told is written.

The application is instances of `migrator.runtime`, each of which relies on what it read of the phase for a lease.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from botocore.exceptions import ClientError, ReadTimeoutError

from migrator.control.phases import PhaseRecord
from migrator.core.item import Item, key_of
from migrator.core.rewrite.phases import Phase, Side, rules
from migrator.core.rewrite.record import from_json
from migrator.errors import AnswerLost, MigratorError
from migrator.runtime import RewritingClient
from migrator.runtime.reader import Stance
from migrator.testing.memory import Call, Crash, SeededEntropy
from tests.engine.rewriting.house import OLD, House, log, rewrite_prefix, rewrite_state
from tests.engine.rewriting.moments import command, is_of_phases
from tests.runtime.double import Double, Store
from tests.simulation.world import KEY, quick_world, wire

REWRITES: dict[str, Callable[[], Any]] = {"another-table": rewrite_state, "one-table": rewrite_prefix}
NUMBERS = range(6)
What = Literal["put", "update", "move", "strip", "delete", "swap"]
Kind = Literal["write", "crash", "lose", "freeze", "pass"]
Place = tuple[str, str]
OVERTAKEN = frozenset(
    {"lease-lost", "lock-lost", "lock-contended", "lock-held", "answer-lost", "unreachable", "checkpoint-lost"}
)
"""What a run that was frozen, or whose answers were lost, may end with: the same command again goes on."""


class OfMemory(Store):
    """The store of a `Double` that is the memory of the tool's own ports: both write to the same tables."""

    def __init__(self, house: House):
        super().__init__(dict.fromkeys(house.tables.values(), KEY))
        self._items = house.world.items

    def put(self, table: str, *items: Item) -> None:
        self._items.put(table, *items)

    def get(self, table: str, key: Item) -> Item | None:
        return self._items.as_another().get(table, key_of(key, KEY))

    def remove(self, table: str, key: Item) -> None:
        self._items.remove(table, key_of(key, KEY))

    def all(self, table: str) -> list[Item]:
        return sorted(self._items.all(table), key=lambda item: (item["PK"]["S"], item["SK"]["S"]))


def _no_function(named: str) -> Any:
    raise AssertionError(named)


@dataclass
class Instance:
    """One instance of the application.

    `is_late`: it reads the phase only once its lease has run out, and its last request under it lands as late as one
    may; else it reads it each time.
    """

    house: House
    is_late: bool
    entropy: SeededEntropy
    _known: tuple[PhaseRecord | None, float] | None = None

    @property
    def clock(self) -> Any:
        return self.house.world.clock

    def stance(self) -> Stance:
        if self._known is None or not self.is_late or self.clock.monotonic() >= self._known[1]:
            self.read()
        assert self._known is not None
        return self._stance(*self._known)

    @property
    def phase(self) -> Phase | None:
        """In which it may act now; None where it would have to read first."""
        if self._known is None or self.clock.monotonic() >= self._known[1]:
            return None
        return self._stance(*self._known).phase

    def read(self) -> None:
        """Ask for the phase: the lease begins anew."""
        now = self.clock.monotonic()
        record = self.house.record if self.house.kept("phase#") else None
        usual = (self.house.limits.reader_lease, self.house.limits.attempt_time)
        lease, attempt = usual if record is None else (record.lease_ms / 1000, record.attempt_ms / 1000)
        # What was signed at the end of the lease may take effect for the time of one attempt.
        self._known = (record, now + lease + attempt - 0.001)

    def _stance(self, record: PhaseRecord | None, until: float) -> Stance:
        if record is None:
            return Stance("expand", 0, None, self.clock, until)
        return Stance(record.phase, record.generation, from_json(record.rewrite, _no_function), self.clock, until)


@dataclass
class Ledger:
    """What stands by all that was acknowledged, in the old form."""

    items: dict[Place, dict[str, Any]] = field(default_factory=dict)

    @property
    def all(self) -> list[dict[str, Any]]:
        return sorted(self.items.values(), key=lambda item: (item["PK"], item["SK"]))


@dataclass(frozen=True)
class Write:
    """One call of the application, by an instance; `lost`: the answer to its first transaction does not come."""

    instance: int
    what: What
    number: int
    value: int
    lost: bool = False


@dataclass(frozen=True)
class Event:
    """Something that happens `after` so many moments of a command; a write, so many `seconds` later still."""

    kind: Kind
    after: int
    write: Write | None = None
    seconds: float = 0.0


class Life:
    """A table whose keys are rewritten. `run` types a command while events happen; `check` holds it to the ledger."""

    def __init__(self, rewrite: str, seed: int = 0):
        self.rewrite = rewrite
        items = [log(number) for number in list(NUMBERS)[:4]]
        self.house = House.of(
            REWRITES[rewrite](),
            *items,
            world=quick_world(page_bytes=200, seed=seed),
            reader_lease=20.0,
            attempt_time=5.0,
        )
        self.ledger = Ledger({(item["PK"], item["SK"]): dict(item) for item in items})
        entropy = SeededEntropy(seed + 1)
        self.instances = [Instance(self.house, is_late, entropy) for is_late in (False, True, True)]
        self.at: Literal["none", "prepared", "copied", "cut", "done"] = "none"
        self.told: list[str] = []
        """What happened, for a failure to show."""

    # --- the application

    def write(self, one: Write) -> None:
        stance = self.instances[one.instance].stance()
        client = Double(OfMemory(self.house), lost={0} if one.lost else set())
        form: Side = "new" if self._names_new_keys(stance.phase) else "old"
        app = RewritingClient(client, _Reader(self.instances[one.instance]), form=form)  # type: ignore[arg-type]
        calls, after = self._said(one)
        self.told.append(f"  {one} in {stance.phase}")
        try:
            for method, request in self._requests(form, calls):
                getattr(app, method)(**request)
        except ReadTimeoutError:
            # A call that went as it was said, outside both sides' phases: the double lets it happen first.
            assert one.lost
            assert not rules(stance.phase).writes_twin
        except ClientError as exc:
            reasons = exc.response.get("CancellationReasons", [exc.response["Error"]])
            raise AssertionError(f"{one} in {stance.phase} was refused: {reasons}") from exc
        self.ledger.items = after
        self.check()

    def _names_new_keys(self, phase: Phase) -> bool:
        """Where old keys do not tell the new ones, the release of contract names the new ones."""
        return self.rewrite == "another-table" and phase in ("contract", "done")

    def _said(
        self, one: Write
    ) -> tuple[list[tuple[Place, dict[str, Any] | None, dict[str, Any] | None]], dict[Place, Any]]:
        """What becomes of which items: (key, before, after); and the ledger then."""
        item = log(one.number)
        place = (item["PK"], item["SK"])
        before = self.ledger.items.get(place)
        found: list[tuple[Place, dict[str, Any] | None, dict[str, Any] | None]] = []
        match one.what:
            case "put":
                found.append((place, before, {**item, "state": f"s{one.value}", "name": f"put{one.value}"}))
            case "delete":
                found.append((place, before, None))
            case "swap":
                # One is deleted and another one put, in one transaction.
                other = log((one.number + 1) % len(NUMBERS))
                there = (other["PK"], other["SK"])
                found.append((place, before, None))
                found.append((there, self.ledger.items.get(there), {**other, "name": f"swap{one.value}"}))
            case _ if before is None:
                return [], self.ledger.items
            case "update":
                found.append((place, before, {**before, "name": f"up{one.value}", "more": one.value}))
            case "move":
                found.append((place, before, {**before, "state": f"s{one.value}"}))
            case "strip":
                found.append((place, before, {name: v for name, v in before.items() if name != "more"}))
        after = {**self.ledger.items}
        for where, _, item_after in found:
            after.pop(where, None)
            if item_after is not None:
                after[where] = item_after
        return found, after

    def _requests(self, form: Side, calls: list[tuple[Place, Any, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
        actions = [action for _, before, after in calls for action in self._actions(form, before, after)]
        if len(actions) != 1:
            if actions:
                yield "transact_write_items", {"TransactItems": actions}
            return
        ((kind, request),) = actions[0].items()
        yield {"Put": "put_item", "Update": "update_item", "Delete": "delete_item"}[kind], request

    def _actions(self, form: Side, before: Any, after: Any) -> list[dict[str, Any]]:
        places = [None if one is None else self._at(form, one) for one in (before, after)]
        (old_table, old), (new_table, new) = ((None, None) if one is None else one for one in places)
        old_key, new_key = (None if one is None else key_of(one, KEY) for one in (old, new))
        deleted = {"Delete": {"TableName": old_table, "Key": old_key}}
        if new is None:
            return [] if old is None else [deleted]
        put = {"Put": {"TableName": new_table, "Item": dict(new)}}
        if old is None or "put" in after["name"] or "swap" in after["name"]:
            return [put] if old is None or old_key == new_key else [deleted, put]
        if old_key != new_key:
            return [deleted, put]
        changed = {name: one for name, one in new.items() if one != old.get(name)}
        gone = [name for name in old if name not in new]
        if not changed and not gone:
            return []
        names = {f"#{name}": name for name in (*changed, *gone)}
        sets = "SET " + ", ".join(f"#{name} = :{name}" for name in changed) if changed else ""
        removes = " REMOVE " + ", ".join(f"#{name}" for name in gone) if gone else ""
        values = {"ExpressionAttributeValues": {f":{name}": one for name, one in changed.items()}} if changed else {}
        return [
            {
                "Update": {
                    "TableName": new_table,
                    "Key": new_key,
                    "UpdateExpression": (sets + removes).strip(),
                    "ConditionExpression": "attribute_exists(PK)",
                    "ExpressionAttributeNames": names,
                    **values,
                }
            }
        ]

    def _at(self, form: Side, item: Mapping[str, Any]) -> tuple[str, Item]:
        if form == "old":
            return OLD, wire(item)
        return self.house.route.target, self.house.twin(wire(item))

    # --- the tool

    def command(self, name: str, events: list[Event]) -> None:
        """Type a command until it is through, and hold what it promises."""
        self.run(name, events)
        match name:
            case "upgrade":
                self.at = "prepared"
            case "ready" | "cutover":
                self.at = "copied" if name == "ready" else "cut"
                self.check_pairs()
            case "rollback":
                self.at = "none"
                assert (self.house.old, self.house.new) == (self.ledger.all, []), "\n".join(self.told)
            case "contract":
                self.at = "done"
                wanted = self.house.twins(*self.ledger.all)
                assert (self.house.old, self.house.new) == ([], wanted), "\n".join(self.told)

    def run(self, name: str, events: list[Event] = []) -> int:  # noqa: B006 - never changed
        """Type a command, and again as long as it was disturbed. Its last exit code."""
        self.told.append(f"{name} {[one.kind for one in events]}")
        disturbance = Disturbance(self, name, events)
        for _ in range(8):
            try:
                code = command(self.house, name, disturbance)
            except Crash:
                disturbance.crashed = False
            except MigratorError as exc:
                self.told.append(f"  {name}: {exc.code}")
                if exc.code not in OVERTAKEN and not self._is_done(name, exc):
                    raise
                if self._is_done(name, exc):
                    code = 0 if name in ("contract", "rollback") else 9
                    break
            else:
                if code == (0 if name in ("contract", "rollback") else 9):
                    break
                self.told.append(f"  {name}: exit {code}")
            self.house.world.clock.advance(90.0)
        else:
            raise AssertionError(f"{name} comes to no end: {self.told}")
        disturbance.rest()
        self.check()
        return code

    def _is_done(self, name: str, exc: MigratorError) -> bool:
        """Another run of the same command did it meanwhile."""
        return exc.code in ("other-gate", "nothing-at-gate", "not-at-gate", "nothing-to-roll-back", "not-unfinished")

    # --- what must hold

    @property
    def phases(self) -> set[Phase]:
        """Those in which an instance may act now."""
        told = {instance.phase for instance in self.instances} - {None}
        now: Phase = self.house.record.phase if self.house.kept("phase#") else "expand"
        return {now, *(phase for phase in told if phase is not None)}

    def check(self) -> None:
        """At any moment: the side that an instance reads has all that was acknowledged, and nothing else."""
        wanted = self.ledger.all
        for phase in sorted(self.phases):
            side = self.house.old if rules(phase).authority == "old" else self.house.new
            as_old = wanted if rules(phase).authority == "old" else self.house.twins(*wanted)
            assert side == as_old, "\n".join([*self.told, f"in {phase}:", str(side), "and acknowledged:", str(as_old)])

    def check_pairs(self) -> None:
        """After a comparison: one to one."""
        assert self.house.new == self.house.twins(*self.house.old), "\n".join(self.told)
        assert self.house.old == self.ledger.all, "\n".join(self.told)


@dataclass
class _Reader:
    instance: Instance

    @property
    def clock(self) -> Any:
        return self.instance.clock

    @property
    def entropy(self) -> SeededEntropy:
        return self.instance.entropy

    def stance(self) -> Stance:
        return self.instance.stance()


class Disturbance:
    """A hook that lets the events of one command happen, each once, at its moment."""

    def __init__(self, life: Life, name: str, events: list[Event]):
        self.life, self.name = life, name
        self.left = sorted(events, key=lambda one: one.after)
        self.count = 0
        self.crashed = False
        self._is_busy = False

    def __call__(self, call: Call) -> None:
        if self.crashed:
            raise Crash("dead")
        if self._is_busy:
            return
        if call.moment == "before" and is_of_phases(call):
            # The worst case: an instance that asked for the phase just before it changes.
            self.life.instances[-1].read()
        self.count += 1
        while self.left and self.left[0].after <= self.count:
            self._happen(self.left.pop(0), call)

    def rest(self) -> None:
        """What was to happen later than the command lasted happens now, as far as it concerns the application."""
        for event in self.left:
            if event.kind == "write":
                self._write(event)
        self.left = []

    def _happen(self, event: Event, call: Call) -> None:
        match event.kind:
            case "write" if event.seconds:
                self.life.house.world.clock.at(event.seconds, lambda: self._write(event))
            case "write":
                self._write(event)
            case "pass":
                self.life.house.world.clock.advance(event.seconds)
            case "crash":
                self.life.told.append("  crash")
                self.crashed = True
                raise Crash(call.operation)
            case "lose" if call.operation in ("items.together", "items.write", "records.write"):
                self.life.told.append(f"  lost: {call.moment} {call.operation}")
                raise AnswerLost("the answer did not come")
            case "freeze":
                self._freeze()

    def _write(self, event: Event) -> None:
        assert event.write is not None
        self._is_busy = True
        try:
            self.life.write(event.write)
        finally:
            self._is_busy = False

    def _freeze(self) -> None:
        """This run stands still, with whatever it has signed; another one takes over, and comes to its end."""
        self._is_busy = True
        life = self.life
        life.told.append("  frozen")
        life.house.world.clock.advance(2 * life.house.limits.lease)
        try:
            command(life.house, self.name)
        except MigratorError as exc:
            life.told.append(f"  meanwhile: {exc.code}")
            if exc.code not in OVERTAKEN and not life._is_done(self.name, exc):
                raise
        finally:
            self._is_busy = False
        life.check()
