"""Guarded writes at the wire: who may send, what an answer or its loss means."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Lock
from typing import Any

import pytest
from botocore.credentials import CredentialResolver, RefreshableCredentials

from migrator.core.change import (
    Change,
    Check,
    ChecksLost,
    Delete,
    GuardLost,
    Put,
    Refused,
    TryAgain,
    Unknown,
    Update,
    Written,
)
from migrator.core.item import Item
from migrator.core.ports import Address, CheckRecord, Expect, PutRecord, Record
from migrator.dynamo.client import Clients, connect, under
from migrator.dynamo.credentials import Connection
from migrator.dynamo.items import DynamoItems
from migrator.dynamo.retry import Retry
from migrator.errors import LeaseLost, MigratorError
from migrator.sandbox import Drop, Request, Response, Sandbox
from migrator.testing.clock import SeededEntropy
from migrator.wire.items import FastItems
from tests.dynamo.conftest import Rig


@pytest.fixture(params=["boto3", "fast"])
def rig(rig: Rig, request: pytest.FixtureRequest) -> Iterator[Rig]:
    """Both transports: a write that is alone travels as its own request on either."""
    if request.param == "boto3":
        yield rig
        return
    entropy = SeededEntropy()
    with FastItems(rig.clients, Retry(rig.clock, entropy), rig.clock, entropy, rig.layout) as rig.items:
        yield rig


class Counting:
    """A permit that is taken away after `left` questions."""

    def __init__(self, left: int = 1_000_000) -> None:
        self.left = left
        self.asked = 0
        self._lock = Lock()

    def check(self) -> None:
        with self._lock:
            self.asked += 1
            if self.asked > self.left:
                raise LeaseLost("lease-lost", "taken over")


def item(name: str, **more: str) -> Item:
    return {"PK": {"S": name}, "SK": {"S": "x"}} | {attribute: {"S": value} for attribute, value in more.items()}


def key(name: str) -> Item:
    return item(name)


UPDATE = Update(key("a"), Change({}, {"v": {"S": "1"}}))


def one(rig: Rig, write: Any) -> Any:
    (outcome,) = rig.items.write("app", [write], Counting()).outcomes
    return outcome


def transact(rig: Rig, write: Any, *records: Any) -> Any:
    (outcome,) = rig.items.transact("app", write, records, Counting()).outcomes
    return outcome


# --- the permit -------------------------------------------------------------------------------------------------------


def test_the_permit_is_asked_once_for_each_request(rig: Rig) -> None:
    permit = Counting()
    rig.items.write("app", [Put(item(str(n)), key(str(n))) for n in range(20)], permit)
    rig.items.transact("app", Put(item("t"), key("t")), (), permit)
    assert permit.asked == 21
    assert len(rig.sent("PutItem")) == 20


def test_after_a_refusal_no_request_leaves_any_thread(rig: Rig) -> None:
    permit = Counting(left=5)
    with pytest.raises(LeaseLost):
        rig.items.write("app", [Put(item(str(n)), key(str(n))) for n in range(50)], permit)
    assert len(rig.sent("PutItem")) == 5
    assert len(rig.all()) == 5


def test_the_permit_is_asked_again_for_each_attempt(rig: Rig) -> None:
    def again(attempts: int, **_: Any) -> int | None:
        return 0 if attempts < 3 else None

    permit = Counting(left=2)
    with connect(Connection(endpoint_url=rig.sandbox.endpoint_url), {}) as clients:
        clients.items.meta.events.register("needs-retry.dynamodb", again)
        with under(permit), pytest.raises(LeaseLost):
            clients.items.put_item(TableName="app", Item=item("a"))
    assert permit.asked == 3
    assert len(rig.sent("PutItem")) == 2


def test_the_reads_of_the_tool_ask_for_no_permit(rig: Rig) -> None:
    rig.put(item("a", v="other"))
    permit = Counting(left=1)
    outcomes = rig.items.write("app", [Put(item("a"), key("a"))], permit)
    assert outcomes.outcomes == [GuardLost(item("a", v="other"))]
    assert rig.items.get("app", key("a")) is not None
    assert permit.asked == 1


def test_credentials_are_refreshed_before_the_permit_is_asked_not_after(rig: Rig, sandbox: Sandbox) -> None:
    order: list[str] = []

    def refresh() -> dict[str, str]:
        order.append("refreshed")
        return {"access_key": "000000000000", "secret_key": "x", "token": "t", "expiry_time": "2999-01-01T00:00:00Z"}

    class Provider:
        METHOD = CANONICAL_NAME = "test"

        def load(self) -> RefreshableCredentials:
            return RefreshableCredentials.create_from_metadata(
                refresh() | {"expiry_time": "2020-01-01T00:00:00Z"}, refresh, "test"
            )

    class Asking:
        def check(self) -> None:
            order.append("asked")

    with connect(Connection(endpoint_url=sandbox.endpoint_url), {}) as clients:
        session = clients.access.session
        session._credentials = None
        session.register_component("credential_provider", CredentialResolver([Provider()]))
        with Clients(clients.access, Connection()) as fresh:
            order.clear()
            with under(Asking()):
                fresh.items.list_tables()
    assert order == ["refreshed", "asked"]


# --- lost answers -----------------------------------------------------------------------------------------------------


def lose(_: Request, __: Response) -> Drop:
    return Drop()


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_write_whose_answer_is_lost_is_unknown_and_sent_once(rig: Rig, moment: str) -> None:
    rig.put(item("a"))
    hook = {"before": lambda _: Drop()} if moment == "before" else {"after": lose}
    with rig.sandbox.intercept(**hook, operation="UpdateItem"):  # type: ignore[arg-type]
        assert isinstance(one(rig, UPDATE), Unknown)
    assert len(rig.sent("UpdateItem")) == 1
    assert rig.all() == [item("a") if moment == "before" else item("a", v="1")]


@pytest.mark.parametrize(("code", "status"), [("InternalServerError", 500), ("ServiceUnavailable", 503)])
def test_a_server_s_failure_is_unknown(rig: Rig, code: str, status: int) -> None:
    with rig.sandbox.intercept(lambda _: Response.error(code, "oops", status=status), operation="UpdateItem"):
        assert isinstance(one(rig, UPDATE), Unknown)
    with rig.sandbox.intercept(lambda _: Response.error(code, "oops", status=status), operation="TransactWriteItems"):
        assert isinstance(transact(rig, UPDATE), Unknown)
    assert len(rig.sent("UpdateItem")) == len(rig.sent("TransactWriteItems")) == 1


def test_a_lost_transaction_is_unknown_and_the_next_is_a_request_of_its_own(rig: Rig) -> None:
    rig.put(item("a"))
    with rig.sandbox.intercept(after=lose, operation="TransactWriteItems", nth=1):
        assert isinstance(transact(rig, UPDATE), Unknown)
        assert transact(rig, UPDATE) == Written()
    tokens = [body["ClientRequestToken"] for body in rig.sent("TransactWriteItems")]
    assert len(set(tokens)) == 2


def test_an_endpoint_that_is_gone_means_not_sent(rig: Rig) -> None:
    with Sandbox() as gone:
        url = gone.endpoint_url
    with (
        connect(Connection(endpoint_url=url), {}) as clients,
        DynamoItems(clients, Retry(rig.clock, SeededEntropy()), SeededEntropy(), rig.layout) as items,
    ):
        (outcome,) = items.write("app", [UPDATE], Counting()).outcomes
    assert isinstance(outcome, TryAgain)
    assert outcome.code == "endpoint-unreachable"


# --- refusals ---------------------------------------------------------------------------------------------------------

REASONS = [{"reason": "TableWriteKeyRangeThroughputExceeded", "resource": "arn:aws:dynamodb:r:1:table/app"}]
PAIRS = (("TableWriteKeyRangeThroughputExceeded", "arn:aws:dynamodb:r:1:table/app"),)


@pytest.mark.parametrize(
    ("code", "member"),
    [
        ("ProvisionedThroughputExceededException", "ThrottlingReasons"),
        ("RequestLimitExceeded", "ThrottlingReasons"),
        ("ThrottlingException", "throttlingReasons"),
    ],
)
def test_a_throttled_write_is_tried_by_the_engine_which_learns_why(rig: Rig, code: str, member: str) -> None:
    with rig.sandbox.intercept(
        lambda _: Response.error(code, "slow down", **{member: REASONS}), operation="UpdateItem"
    ):
        outcome = one(rig, UPDATE)
    assert isinstance(outcome, TryAgain)
    assert (outcome.code, outcome.reasons) == ("throttled", PAIRS)
    assert len(rig.sent("UpdateItem")) == 1


@pytest.mark.parametrize("code", ["TransactionConflictException", "ReplicatedWriteConflictException"])
def test_a_conflict_with_another_write_is_tried_again_by_the_engine(rig: Rig, code: str) -> None:
    with rig.sandbox.intercept(lambda _: Response.error(code, "ongoing"), operation="UpdateItem"):
        outcome = one(rig, UPDATE)
    assert isinstance(outcome, TryAgain)
    assert outcome.code == "transaction-conflict"


@pytest.mark.parametrize("code", ["ValidationException", "ItemCollectionSizeLimitExceededException"])
def test_what_the_service_never_takes_is_refused(rig: Rig, code: str) -> None:
    with rig.sandbox.intercept(lambda _: Response.error(code, "no"), operation="UpdateItem"):
        assert isinstance(one(rig, UPDATE), Refused)


@pytest.mark.parametrize(
    ("code", "wanted"),
    [
        ("AccessDeniedException", "access-denied"),
        ("ExpiredTokenException", "credentials-expired"),
        ("ExpiredToken", "credentials-expired"),
        ("UnrecognizedClientException", "credentials-invalid"),
        ("ResourceNotFoundException", "table-not-found"),
    ],
)
def test_what_no_write_will_get_past_ends_the_run(rig: Rig, code: str, wanted: str) -> None:
    denied = Response.error(code, "no")
    with rig.sandbox.intercept(lambda _: denied), pytest.raises(MigratorError) as caught:
        one(rig, UPDATE)
    assert caught.value.code == wanted
    with rig.sandbox.intercept(lambda _: denied), pytest.raises(MigratorError) as caught:
        transact(rig, UPDATE)
    assert caught.value.code == wanted


def test_a_lost_guard_is_read_where_the_engine_gives_no_item(rig: Rig) -> None:
    rig.put(item("a", v="now"))
    lost = Response.error("ConditionalCheckFailedException", "The conditional request failed")
    with rig.sandbox.intercept(lambda _: lost, operation="UpdateItem"):
        assert one(rig, UPDATE) == GuardLost(item("a", v="now"))
    (read,) = rig.sent("GetItem")
    assert read["ConsistentRead"] is True


def cancelled(*codes: str) -> Response:
    reasons = [{"Code": code} | ({} if code == "None" else {"Message": code}) for code in codes]
    return Response.error("TransactionCanceledException", "Transaction cancelled", CancellationReasons=reasons)


CHECKED = Update(key("a"), Change({}, {"v": {"S": "1"}}, checks=(Check("app", key("b"), True),)))
RECORD = CheckRecord(Address("lock", "lock"), Expect(absent=False))


@pytest.mark.parametrize(
    ("codes", "wanted"),
    [
        (("ConditionalCheckFailed", "ConditionalCheckFailed", "TransactionConflict"), GuardLost),
        (("TransactionConflict", "ConditionalCheckFailed", "None"), ChecksLost),
        (("None", "None", "ConditionalCheckFailed"), ChecksLost),
        (("ValidationError", "ConditionalCheckFailed", "None"), ChecksLost),
        (("ValidationError", "None", "TransactionConflict"), Refused),
        (("ItemCollectionSizeLimitExceeded", "None", "None"), Refused),
        (("TransactionConflict", "None", "None"), TryAgain),
        (("None", "ThrottlingError", "None"), TryAgain),
        (("None", "None", "ProvisionedThroughputExceeded"), TryAgain),
    ],
)
def test_a_cancelled_transaction_means_what_its_reasons_say(rig: Rig, codes: tuple[str, ...], wanted: type) -> None:
    with rig.sandbox.intercept(lambda _: cancelled(*codes), operation="TransactWriteItems"):
        assert isinstance(transact(rig, CHECKED, RECORD), wanted)


def test_lost_checks_name_the_item_and_the_record(rig: Rig) -> None:
    both = cancelled("None", "ConditionalCheckFailed", "ConditionalCheckFailed")
    with rig.sandbox.intercept(lambda _: both, operation="TransactWriteItems"):
        outcome = transact(rig, CHECKED, RECORD)
    assert isinstance(outcome, ChecksLost)
    assert 'PK="b"' in outcome.reason
    assert "control record lock lock" in outcome.reason


# --- what is sent -----------------------------------------------------------------------------------------------------


def test_numbers_leave_as_the_text_that_was_read(rig: Rig) -> None:
    numbers = ["12345678901234567890123456789012345678", "1E-130", "-0", "1.50", "1e2"]
    change = Change({f"g{n}": {"N": text} for n, text in enumerate(numbers)}, {"l": {"L": [{"N": n} for n in numbers]}})
    one(rig, Update(key("a"), change))
    (body,) = rig.sent("UpdateItem")
    sent = list(body["ExpressionAttributeValues"].values())
    assert sent == [{"N": text} for text in numbers] + [{"L": [{"N": text} for text in numbers]}]


def test_every_write_asks_for_the_item_that_defeats_it_and_for_its_cost(rig: Rig) -> None:
    rig.items.write("app", [UPDATE, Put(item("b"), key("b")), Delete(key("c"), {})], Counting())
    bodies = rig.sent("UpdateItem", "PutItem", "DeleteItem")
    assert len(bodies) == 3
    for body in bodies:
        assert body["ReturnValuesOnConditionCheckFailure"] == "ALL_OLD"
        assert body["ReturnConsumedCapacity"] == "INDEXES"
        assert body["ConditionExpression"]


def test_reads_are_strongly_consistent(rig: Rig) -> None:
    rig.items.get("app", key("a"))
    rig.items.scan("app")
    rig.items.query("app", {"PK": {"S": "a"}}, most=1)
    list(rig.records.query("p"))
    rig.records.get(Address("p", "s"))
    reads = rig.sent("GetItem", "Scan", "Query")
    assert len(reads) == 5
    assert all(body["ConsistentRead"] is True for body in reads)


def test_a_record_lies_under_the_prefix_in_one_attribute(rig: Rig) -> None:
    rig.put(item("a"))
    record = Record(Address("lock", "lock"), 3, {"who": "me"}, {"before": item("a")})
    assert transact(rig, UPDATE, PutRecord(record, Expect())) == Written()
    (stored,) = (found for found in rig.all() if found["PK"]["S"] != "a")
    assert stored["PK"] == {"S": "__migrator__lock"}
    assert stored["SK"] == {"S": "lock"}
    assert set(stored) == {"PK", "SK", "__migrator__"}
    assert stored["__migrator__"]["M"]["items"] == {"M": {"before": {"M": item("a")}}}
