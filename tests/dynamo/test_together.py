"""Transactions over several items at the wire: what an answer, its loss and a conflict mean."""

from __future__ import annotations

from typing import Any

import pytest

from migrator.core.change import Check, ChecksLost, Put, Refused, TryAgain, Unknown, Written
from migrator.core.item import Item
from migrator.core.ports import Address, CheckRecord, Expect, Joint
from migrator.errors import LeaseLost, MigratorError, ServiceError, Throttled
from migrator.sandbox import Drop, Response
from tests.dynamo.conftest import Rig
from tests.dynamo.test_writes import PAIRS, REASONS, Counting, cancelled, item, key, lose

CHECK = Check("app", key("b"), present=False)
RECORD = CheckRecord(Address("lock", "lock"), Expect())


def together(rig: Rig, name: str = "a") -> Joint:
    return rig.items.together([("app", Put(item(name), key(name)))], [CHECK], [RECORD], Counting())


def read(rig: Rig) -> list[Item | None]:
    return list(rig.items.get_together([("app", key("a")), ("app", key("b"))]))


@pytest.mark.parametrize(
    ("codes", "wanted", "at"),
    [
        (("ConditionalCheckFailed", "ConditionalCheckFailed", "TransactionConflict"), ChecksLost, (0, 1)),
        (("TransactionConflict", "ConditionalCheckFailed", "None"), ChecksLost, (1,)),
        (("None", "None", "ConditionalCheckFailed"), ChecksLost, (2,)),
        (("ValidationError", "ConditionalCheckFailed", "None"), ChecksLost, (1,)),
        (("ValidationError", "None", "TransactionConflict"), Refused, (0,)),
        (("ItemCollectionSizeLimitExceeded", "None", "None"), Refused, (0,)),
        (("TransactionConflict", "None", "TransactionConflict"), TryAgain, (0, 2)),
        (("TransactionConflict", "ThrottlingError", "None"), TryAgain, (0,)),
        (("None", "ThrottlingError", "None"), TryAgain, (1,)),
        (("ProvisionedThroughputExceeded", "None", "None"), TryAgain, (0,)),
    ],
)
def test_a_cancelled_joint_write_says_which_of_its_actions_it_is_about(
    rig: Rig, codes: tuple[str, ...], wanted: type, at: tuple[int, ...]
) -> None:
    with rig.sandbox.intercept(lambda _: cancelled(*codes), operation="TransactWriteItems"):
        joint = together(rig)
    assert isinstance(joint.outcome, wanted)
    assert joint.at == at
    assert len(rig.sent("TransactWriteItems")) == 1


def test_lost_conditions_are_named(rig: Rig) -> None:
    both = cancelled("ConditionalCheckFailed", "ConditionalCheckFailed", "ConditionalCheckFailed")
    with rig.sandbox.intercept(lambda _: both, operation="TransactWriteItems"):
        outcome = together(rig).outcome
    assert isinstance(outcome, ChecksLost)
    for named in ('PK="a"', 'PK="b"', "control record lock lock"):
        assert named in outcome.reason


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_joint_write_whose_answer_is_lost_is_unknown_and_sent_once(rig: Rig, moment: str) -> None:
    hook: dict[str, Any] = {"before": lambda _: Drop()} if moment == "before" else {"after": lose}
    with rig.sandbox.intercept(**hook, operation="TransactWriteItems"):
        joint = together(rig)
    assert isinstance(joint.outcome, Unknown)
    assert len(rig.sent("TransactWriteItems")) == 1
    assert rig.all() == ([] if moment == "before" else [item("a")])


def test_a_joint_write_after_a_lost_one_is_a_request_of_its_own(rig: Rig) -> None:
    with rig.sandbox.intercept(after=lose, operation="TransactWriteItems", nth=1):
        together(rig)
    assert isinstance(together(rig).outcome, ChecksLost)
    tokens = [body["ClientRequestToken"] for body in rig.sent("TransactWriteItems")]
    assert len(set(tokens)) == 2


@pytest.mark.parametrize("code", ["TransactionConflictException", "TransactionInProgressException"])
def test_a_joint_write_that_met_another_request_is_tried_again_by_its_caller(rig: Rig, code: str) -> None:
    with rig.sandbox.intercept(lambda _: Response.error(code, "ongoing"), operation="TransactWriteItems"):
        joint = together(rig)
    assert isinstance(joint.outcome, TryAgain)
    assert joint.outcome.code == "transaction-conflict"


def test_a_throttled_joint_write_tells_why(rig: Rig) -> None:
    slow = Response.error("ThrottlingException", "slow down", throttlingReasons=REASONS)
    with rig.sandbox.intercept(lambda _: slow, operation="TransactWriteItems"):
        outcome = together(rig).outcome
    assert isinstance(outcome, TryAgain)
    assert outcome.reasons == PAIRS


def test_a_denied_joint_write_ends_the_run(rig: Rig) -> None:
    denied = Response.error("AccessDeniedException", "no")
    with rig.sandbox.intercept(lambda _: denied), pytest.raises(MigratorError) as caught:
        together(rig)
    assert caught.value.code == "access-denied"
    with rig.sandbox.intercept(lambda _: denied), pytest.raises(MigratorError) as caught:
        read(rig)
    assert caught.value.code == "access-denied"


def test_the_permit_is_asked_once_for_a_joint_write_and_never_for_a_read(rig: Rig) -> None:
    permit = Counting(left=1)
    write = [("app", Put(item("a"), key("a")))]
    assert rig.items.together(write, (), (), permit).outcome == Written()
    read(rig)
    assert permit.asked == 1
    with pytest.raises(LeaseLost):
        rig.items.together(write, (), (), permit)
    assert len(rig.sent("TransactWriteItems")) == 1


@pytest.mark.parametrize(
    "answer",
    [
        cancelled("TransactionConflict", "None"),
        cancelled("None", "ThrottlingError"),
        cancelled("ProvisionedThroughputExceeded", "TransactionConflict"),
        Response.error("TransactionConflictException", "ongoing"),
        Response.error("ThrottlingException", "slow down"),
        Response.error("InternalServerError", "oops", status=500),
        Drop(),
    ],
    ids=["conflict", "throttled part", "both", "conflict alone", "throttled", "server", "lost"],
)
def test_a_read_that_a_transaction_or_a_throttle_cancelled_is_read_again(rig: Rig, answer: Any) -> None:
    rig.put(item("b", v="1"))
    with rig.sandbox.intercept(lambda _: answer, operation="TransactGetItems", nth=1):
        assert read(rig) == [None, item("b", v="1")]
    assert len(rig.sent("TransactGetItems")) == 2
    assert len(rig.told) == 1


def test_a_read_that_is_always_in_conflict_gives_up_as_a_conflict(rig: Rig) -> None:
    with (
        rig.sandbox.intercept(lambda _: cancelled("TransactionConflict", "None"), operation="TransactGetItems"),
        pytest.raises(ServiceError) as caught,
    ):
        read(rig)
    assert caught.value.code == "transaction-conflict"
    with (
        rig.sandbox.intercept(lambda _: cancelled("None", "ThrottlingError"), operation="TransactGetItems"),
        pytest.raises(Throttled),
    ):
        read(rig)


def test_a_read_that_no_wait_mends_is_not_repeated(rig: Rig) -> None:
    with (
        rig.sandbox.intercept(lambda _: cancelled("None", "ValidationError"), operation="TransactGetItems"),
        pytest.raises(ServiceError) as caught,
    ):
        read(rig)
    assert caught.value.code == "validation"
    assert len(rig.sent("TransactGetItems")) == 1
