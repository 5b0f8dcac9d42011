"""One call of the application: planned, sent as one transaction, judged, and planned again."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeVar

from migrator.core.item import Item
from migrator.core.rewrite.phases import Side
from migrator.core.rewrite.reconcile import Place, Seen
from migrator.core.rewrite.route import PIN
from migrator.dynamo.borrowed import raise_as_client, send
from migrator.dynamo.client import under
from migrator.dynamo.errors import Cancelled, ConditionFailed, Conflict, Unreachable
from migrator.errors import AnswerLost, MigratorError, ServiceError, Throttled
from migrator.runtime.actions import Body
from migrator.runtime.blind import as_said, blind
from migrator.runtime.calls import Call
from migrator.runtime.effects import Need
from migrator.runtime.errors import NotExpressible, PhaseUnknown, StanceExpired
from migrator.runtime.planning import ConditionLost, PinFirst, Planner, Refused
from migrator.runtime.reader import PhaseReader, Stance
from migrator.runtime.sides import Sides

T = TypeVar("T")
_log = logging.getLogger("migrator.runtime")
MOST_ACTIONS = 100
PASSING = frozenset({"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded", "RequestLimitExceeded"})
FAILED = "ConditionalCheckFailed"


@dataclass(frozen=True, slots=True)
class Done:
    """What came of the calls: the images before and after each, in the client's form, where they were told apart."""

    answer: Mapping[str, Any]
    images: Sequence[tuple[Item | None, Item | None]] = ()


@dataclass(slots=True)
class Sender:
    """Sends through the application's own client. `tries` bounds how often one call is decided anew."""

    client: Any
    reader: PhaseReader
    form: Side
    tries: int = 20
    base_seconds: float = 0.02
    cap_seconds: float = 1.0

    # --- writes -------------------------------------------------------------------------------------------------------

    def write_under(
        self, stance: Stance, calls: Sequence[Call], *, exact: bool = False, token: str | None = None
    ) -> Done:
        """Raises ConditionLost for the application's own condition, Refused for what the service would refuse."""
        return _Writing(self, stance, calls, exact, token).run()

    def holding(self, act: Callable[[Stance], T]) -> T:
        """Act under what is known of the phase; anew, under what is known then, where its lease ran out meanwhile.

        Only while nothing that was sent may have happened: what is in doubt is not decided a second time.
        """
        for _ in range(self.tries):
            try:
                return act(self.reader.stance())
            except StanceExpired:
                continue
        raise PhaseUnknown("the lease ran out again and again before a request could be sent")

    def pause(self, attempt: int) -> None:
        most = min(self.cap_seconds, self.base_seconds * 2.0**attempt)
        self.reader.clock.sleep(self.reader.entropy.uniform(0, most))

    # --- reads --------------------------------------------------------------------------------------------------------

    def look(self, stance: Stance, places: Iterable[Place]) -> Seen:
        """Items as they were at one moment."""
        wanted = list({place.id: place for place in places}.values())
        if len(wanted) > MOST_ACTIONS:
            raise NotExpressible(
                f"{len(wanted)} items would have to be read at one moment, {MOST_ACTIONS} are possible"
            )
        seen = Seen()
        if len(wanted) == 1:
            answer = self._read(stance, "get_item", {**_get(wanted[0]), "ConsistentRead": True})
            seen.put(wanted[0], answer.get("Item"))
            return seen
        request = {"TransactItems": [{"Get": _get(place)} for place in wanted]}
        for place, found in zip(wanted, self._read(stance, "transact_get_items", request)["Responses"], strict=True):
            seen.put(place, found.get("Item"))
        return seen

    def _read(self, stance: Stance, method: str, request: Mapping[str, Any]) -> Any:
        for attempt in range(self.tries):
            try:
                return self.request(stance, method, request)
            except (Cancelled, Conflict, Throttled, AnswerLost, Unreachable) as exc:
                if attempt == self.tries - 1 or not _passes(exc):
                    raise_cause(exc)
                self.pause(attempt)
        raise AssertionError("unreachable")

    def request(self, stance: Stance, method: str, request: Mapping[str, Any]) -> Any:
        """One request under the permit of the stance. Raises StanceExpired, or MigratorErrors with their cause."""
        stance.check()
        permit = _Attempts(stance)
        try:
            with under(permit):
                return send(getattr(self.client, method), request, f"dynamodb:{method}", "")
        except StanceExpired:
            if not permit.signed:
                raise
            # The client had sent it once and was about to try again: whether it happened nobody knows.
            raise AnswerLost(f"{method}: no answer came within the lease of the phase") from None


@dataclass(slots=True)
class _Attempts:
    """The permit of one request, over the attempts that the client makes by itself."""

    stance: Stance
    signed: int = 0

    def check(self) -> None:
        self.stance.check()
        self.signed += 1


@dataclass(slots=True)
class _Writing:
    """One call under one stance."""

    sender: Sender
    stance: Stance
    calls: Sequence[Call]
    exact: bool
    token: str | None
    looked: bool = False
    places: dict[str, Place] = field(default_factory=dict)
    seen: Seen = field(default_factory=Seen)
    pinned: dict[str, Place] = field(default_factory=dict)

    def run(self) -> Done:
        pin = self.sender.reader.entropy.nonce()
        try:
            return self._run(pin)
        finally:
            for place in self.pinned.values():
                self._unpin(place, pin)

    def _run(self, pin: str) -> Done:
        assert self.stance.rewrite is not None
        sides = Sides(self.stance.rewrite, self.sender.form)
        rules = self.stance.rules
        planner = Planner(sides, rules, self.stance.phase, pin, self.exact)
        attempt = 0
        while True:
            bodies = None if self.exact or self.looked else blind(sides, rules, self.calls)
            try:
                if bodies is None:
                    bodies = self._plan(planner, sides)
                answer = self._transact(bodies, sides)
            except PinFirst as exc:
                self._pin(exc.place, pin)
                self.seen = Seen()
                answer = None
            if answer is not None and bodies is not None:
                for body in bodies:
                    if body.kind != "ConditionCheck":
                        self.pinned.pop(body.place.id, None)
                return Done(answer, planner.images)
            attempt += 1
            if attempt >= self.sender.tries:
                raise_as_client(
                    self.sender.client,
                    "TransactWriteItems",
                    "TransactionConflictException",
                    "Transaction is ongoing for the item: it changed each time before it could be written",
                )
            self.sender.pause(attempt // 2)

    def _plan(self, planner: Planner, sides: Sides) -> list[Body]:
        self.looked = True
        while True:
            try:
                bodies = [effect.body() for effect in planner.plan(self.calls, self.seen)]
                return bodies + [as_said(call) for call in self.calls if not sides.has(call.table)]
            except Need as need:
                self.places |= {place.id: place for place in need.places}
                self.seen = self.sender.look(self.stance, self.places.values())

    def _pin(self, place: Place, nonce: str) -> None:
        """Set the pin on the item, if it is there."""
        body = Body(place, "Update").exists()
        body.members["UpdateExpression"] = f"SET {body.name(PIN)} = {body.value({'S': nonce})}"
        (request,) = body.action().values()
        self.pinned[place.id] = place
        try:
            self.sender.request(self.stance, "update_item", request)
        except (ConditionFailed, Conflict, Throttled, AnswerLost, Unreachable):
            # Whatever became of it, the next look shows.
            return

    def _unpin(self, place: Place, nonce: str) -> None:
        """Take off a pin that was of no use in the end: as far as that can be done, and verify finds what stays."""
        body = Body(place, "Update").as_read({PIN: {"S": nonce}}, [PIN]).unpinned()
        (request,) = body.action().values()
        try:
            self.sender.request(self.stance, "update_item", request)
        except (MigratorError, StanceExpired) as exc:
            _log.debug("a pin was left on an item of %s: %s", place.table, exc)

    # --- the transaction ----------------------------------------------------------------------------------------------

    def _transact(self, bodies: list[Body], sides: Sides) -> Mapping[str, Any] | None:
        """The answer, or None where it is to be decided anew."""
        if not bodies:
            return {}
        if len(bodies) > MOST_ACTIONS:
            raise NotExpressible(
                f"the transaction would have {len(bodies)} actions, {MOST_ACTIONS} are possible: "
                f"while both sides are written, each of yours takes up to two",
                hint="split the transaction: 50 actions always fit",
            )
        if not any(body.kind != "ConditionCheck" for body in bodies) and not any(
            call.kind == "check" for call in self.calls
        ):
            return {}
        request = {
            "TransactItems": [body.action() for body in bodies],
            "ClientRequestToken": self.token or self.sender.reader.entropy.nonce(),
        }
        doubt: MigratorError | None = None
        for attempt in range(self.sender.tries):
            try:
                answer: Mapping[str, Any] = self.sender.request(self.stance, "transact_write_items", request)
                return answer
            except StanceExpired:
                if doubt is not None:
                    raise_cause(doubt)
                raise
            except Cancelled as exc:
                self.seen = Seen()
                self._cancelled(exc, bodies, sides)
                return None
            except (AnswerLost, Conflict, Throttled, Unreachable) as exc:
                # The same token: the service applies it once, however often it is sent (facts §6).
                if isinstance(exc, AnswerLost) or (isinstance(exc, Conflict) and doubt is None and _in_progress(exc)):
                    doubt = exc
                if attempt == self.sender.tries - 1:
                    raise_cause(doubt or exc)
                self.sender.pause(attempt)
            except ServiceError as exc:
                raise_cause(exc)
        raise AssertionError("unreachable")

    def _cancelled(self, exc: Cancelled, bodies: list[Body], sides: Sides) -> None:
        """Decide anew, unless it was the application's own condition or something that does not pass."""
        for body, reason in zip(bodies, exc.reasons, strict=False):
            code = str(reason.get("Code", "None"))
            if code == FAILED:
                self._lost(body, reason.get("Item") or None, sides)
            elif code not in PASSING and code != "None":
                raise Refused(str(reason.get("Message") or code)) from exc.__cause__
        if any(reason.get("Code") == FAILED for reason in exc.reasons):
            self.looked = True

    def _lost(self, body: Body, item: Item | None, sides: Sides) -> None:
        call = body.call
        if call is None:
            return
        condition = call.condition
        if condition is None or condition.holds(item or {}):
            return
        shown = item
        if item is not None and sides.has(body.place.table) and self.stance.rules.authority != self.sender.form:
            image = sides.image(self.stance.rules.authority, body.place.table, item)
            shown = image[1].item if isinstance(image, tuple) else item
        position = next(number for number, one in enumerate(self.calls) if one is call)
        raise ConditionLost(position, shown)


def _get(place: Place) -> dict[str, Any]:
    return {"TableName": place.table, "Key": dict(place.key)}


def _passes(exc: MigratorError) -> bool:
    if not isinstance(exc, Cancelled):
        return True
    return {str(reason.get("Code", "None")) for reason in exc.reasons} <= PASSING | {"None"}


def _in_progress(exc: Conflict) -> bool:
    return "InProgress" in type(exc.__cause__).__name__ or "in progress" in exc.message


def raise_cause(exc: MigratorError) -> NoReturn:
    """What the application's client raised, as the application knows it."""
    raise exc.__cause__ or exc
