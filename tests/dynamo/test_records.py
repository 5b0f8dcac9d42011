"""Control records at the wire: lost answers resolved by reading, passing refusals tried again."""

from __future__ import annotations

from typing import Any

import pytest

from migrator.core.ports import Address, CheckRecord, DeleteRecord, Expect, PutRecord, Record
from migrator.errors import AnswerLost, MigratorError, RecordConflict
from migrator.sandbox import Drop, Request, Response
from tests.dynamo.conftest import Rig

ONE = Address("lock", "lock")
TWO = Address("beat", "beat")


def put(address: Address = ONE, token: int = 1, **expect: Any) -> PutRecord:
    return PutRecord(Record(address, token, {"n": token}), Expect(**expect))


def lose(_: Request, __: Response) -> Drop:
    return Drop()


def drop(_: Request) -> Drop:
    return Drop()


def test_a_put_whose_answer_is_lost_is_found_by_its_version_and_not_sent_again(rig: Rig) -> None:
    with rig.sandbox.intercept(after=lose, operation="PutItem"):
        rig.records.write(put(absent=True))
    assert len(rig.sent("PutItem")) == 1
    assert rig.records.get(ONE) is not None


def test_a_put_that_never_arrived_is_sent_again(rig: Rig) -> None:
    with rig.sandbox.intercept(drop, operation="PutItem", nth=1):
        rig.records.write(put(absent=True))
    assert len(rig.sent("PutItem")) == 2
    assert rig.records.get(ONE) is not None


def test_a_put_that_arrives_late_is_recognised_when_its_second_attempt_finds_it(rig: Rig) -> None:
    late: list[Request] = []

    def keep(request: Request) -> Drop:
        late.append(request)
        return Drop()

    def arrive(_: Request) -> None:
        body = late[0].body
        rig.application().put_item(TableName="app", Item=body["Item"])

    with (
        rig.sandbox.intercept(keep, operation="PutItem", nth=1),
        rig.sandbox.intercept(arrive, operation="PutItem", nth=2),
    ):
        rig.records.write(put(absent=True))
    assert len(rig.sent("PutItem")) == 2


def test_a_put_that_another_run_overtook_is_a_conflict_and_not_repeated(rig: Rig) -> None:
    def overtake(_: Request, __: Response) -> Drop:
        item = rig.layout.item(Record(ONE, 9, {}), "theirs")
        rig.application().put_item(TableName="app", Item=item)
        return Drop()

    with rig.sandbox.intercept(after=overtake, operation="PutItem", nth=1), pytest.raises(RecordConflict) as caught:
        rig.records.write(put(most_token=1))
    assert caught.value.current == Record(ONE, 9, {}, {}, "theirs")


def test_a_delete_whose_answer_is_lost_is_found_done(rig: Rig) -> None:
    rig.records.write(put())
    with rig.sandbox.intercept(after=lose, operation="DeleteItem"):
        rig.records.write(DeleteRecord(ONE, Expect(absent=False, token=1)))
    assert len(rig.sent("DeleteItem")) == 1
    assert rig.records.get(ONE) is None


def test_a_delete_that_never_arrived_is_sent_again(rig: Rig) -> None:
    rig.records.write(put())
    with rig.sandbox.intercept(drop, operation="DeleteItem", nth=1):
        rig.records.write(DeleteRecord(ONE, Expect(absent=False, token=1)))
    assert rig.records.get(ONE) is None


def test_a_transaction_whose_answer_is_lost_is_found_by_its_versions(rig: Rig) -> None:
    rig.records.write(put(TWO))
    rig.sandbox.requests.clear()
    with rig.sandbox.intercept(after=lose, operation="TransactWriteItems"):
        rig.records.write(put(absent=True), DeleteRecord(TWO, Expect(absent=False)))
    assert len(rig.sent("TransactWriteItems")) == 1
    assert rig.records.get(ONE) is not None
    assert rig.records.get(TWO) is None


def test_the_attempts_of_one_transaction_are_one_request_to_the_service(rig: Rig) -> None:
    with rig.sandbox.intercept(drop, operation="TransactWriteItems", nth=1):
        rig.records.write(put(absent=True), CheckRecord(TWO, Expect(absent=True)))
        rig.records.write(put(absent=False), CheckRecord(TWO, Expect(absent=True)))
    tokens = [body["ClientRequestToken"] for body in rig.sent("TransactWriteItems")]
    assert len(tokens) == 3
    assert tokens[0] == tokens[1] != tokens[2]


def test_a_check_alone_whose_answer_is_lost_is_asked_again(rig: Rig) -> None:
    with rig.sandbox.intercept(after=lose, operation="TransactWriteItems", nth=1):
        rig.records.write(CheckRecord(ONE, Expect(absent=True)))
    assert len(rig.sent("TransactWriteItems")) == 2


@pytest.mark.parametrize(
    "code", ["TransactionConflictException", "ThrottlingException", "ProvisionedThroughputExceededException"]
)
def test_a_conflict_or_throttle_is_no_lost_record(rig: Rig, code: str) -> None:
    count = 0

    def refuse(_: Request) -> Response | None:
        nonlocal count
        count += 1
        return Response.error(code, "not now") if count <= 6 else None

    with rig.sandbox.intercept(refuse, operation="PutItem"):
        rig.records.write(put(absent=True))
    assert rig.records.get(ONE) is not None
    assert len(rig.told) == 6
    assert sum(seconds for _, seconds in rig.told) < 10


@pytest.mark.parametrize("code", ["TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"])
def test_a_transaction_cancelled_for_a_passing_reason_is_sent_again(rig: Rig, code: str) -> None:
    cancelled = Response.error(
        "TransactionCanceledException", "cancelled", CancellationReasons=[{"Code": "None"}, {"Code": code}]
    )
    with rig.sandbox.intercept(lambda _: cancelled, operation="TransactWriteItems", nth=1):
        rig.records.write(put(absent=True), put(TWO))
    assert len(rig.sent("TransactWriteItems")) == 2


def test_a_server_that_fails_for_good_is_not_asked_for_ever(rig: Rig) -> None:
    broken = Response.error("InternalServerError", "oops", status=500)
    with rig.sandbox.intercept(lambda _: broken, operation="PutItem"), pytest.raises(AnswerLost):
        rig.records.write(put(absent=True))
    assert len(rig.sent("PutItem")) == 5


@pytest.mark.parametrize("operation", ["GetItem", "Query", "PutItem", "DeleteItem", "TransactWriteItems"])
def test_access_denied_is_an_error_with_action_and_table_and_never_an_absent_record(rig: Rig, operation: str) -> None:
    calls = {
        "GetItem": lambda: rig.records.get(ONE),
        "Query": lambda: list(rig.records.query("lock")),
        "PutItem": lambda: rig.records.write(put()),
        "DeleteItem": lambda: rig.records.write(DeleteRecord(ONE, Expect())),
        "TransactWriteItems": lambda: rig.records.write(put(), put(TWO)),
    }
    denied = Response.error("AccessDeniedException", "denied")
    with rig.sandbox.intercept(lambda _: denied, operation=operation), pytest.raises(MigratorError) as caught:
        calls[operation]()
    assert caught.value.code == "access-denied"
    assert f"dynamodb:{operation} on app" in caught.value.message
    assert len(rig.sent(operation)) == 1


def test_an_application_s_item_under_the_prefix_is_named_and_not_taken_for_a_record(rig: Rig) -> None:
    rig.put({"PK": {"S": "__migrator__lock"}, "SK": {"S": "lock"}, "v": {"S": "theirs"}})
    with pytest.raises(MigratorError) as caught:
        rig.records.get(ONE)
    assert caught.value.code == "foreign-record"
