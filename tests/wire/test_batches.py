"""Updates in batches: each is judged by itself, with the outcome that it would have had alone."""

from __future__ import annotations

from typing import Any

import pytest

from migrator.core.change import (
    Change,
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
from migrator.errors import AnswerLost, LeaseLost, MigratorError
from migrator.sandbox import Drop, Response
from tests.wire.conftest import Fast

BATCH = "BatchExecuteStatement"


def key(name: str) -> Item:
    return {"PK": {"S": name}, "SK": {"S": "x"}}


def item(name: str, **more: Any) -> Item:
    return {**key(name), **{attribute: {"S": value} for attribute, value in more.items()}}


def update(name: str, guard: dict[str, Any] | None = None, **sets: str) -> Update:
    return Update(key(name), Change(guard or {}, {attribute: {"S": value} for attribute, value in sets.items()}))


def updates(count: int) -> list[Update]:
    return [update(f"k{n}", v=str(n)) for n in range(count)]


def filled(fast: Fast, count: int) -> None:
    requests = [{"PutRequest": {"Item": item(f"k{n}")}} for n in range(count)]
    for begin in range(0, count, 25):
        fast.rig.application().batch_write_item(RequestItems={"app": requests[begin : begin + 25]})


def answering(responses: list[dict[str, Any]]) -> Response:
    return Response.json({"Responses": responses})


def statements(fast: Fast) -> list[int]:
    """How many each batch held."""
    return [len(body["Statements"]) for body in fast.sent(BATCH)]


# --- what travels how -------------------------------------------------------------------------------------------------


def test_updates_go_twenty_five_at_a_time(fast: Fast) -> None:
    filled(fast, 60)
    outcomes = fast.write(*updates(60))
    assert outcomes.outcomes == [Written()] * 60
    assert sorted(statements(fast)) == [10, 25, 25]
    assert fast.sent("UpdateItem") == []
    assert {one["v"]["S"] for one in fast.stored().values()} == {str(n) for n in range(60)}
    assert outcomes.consumed.write == {"app": 60.0}


def test_one_update_goes_alone(fast: Fast) -> None:
    filled(fast, 1)
    assert fast.write(*updates(1)).outcomes == [Written()]
    assert [len(fast.sent(BATCH)), len(fast.sent("UpdateItem"))] == [0, 1]


def test_puts_and_deletes_go_alone_beside_a_batch(fast: Fast) -> None:
    fast.rig.put(item("a"), item("b"), item("c", v="1"))
    writes = [update("a", v="1"), Put(item("d"), key("d")), Delete(key("c"), {}), update("b", v="2")]
    outcomes = fast.write(*writes).outcomes
    assert outcomes == [Written(), Written(), Written(item("c", v="1")), Written()]
    assert statements(fast) == [2]
    assert fast.stored().keys() == {"a", "b", "d"}


@pytest.mark.parametrize(
    "value",
    [
        {"NULL": True},
        {"SS": ["a", "b"]},
        {"NS": ["1"]},
        {"BS": [b"\x00"]},
        {"L": [{"S": "a"}]},
        {"M": {"a": {"N": "1"}}},
    ],
)
def test_a_guard_that_is_not_certain_in_a_batch_goes_alone(fast: Fast, value: Any) -> None:
    fast.rig.put({**item("a"), "g": value}, item("b"), item("c"))
    outcomes = fast.write(update("a", {"g": value}, v="1"), update("b", v="1"), update("c", v="1")).outcomes
    assert outcomes == [Written()] * 3
    assert statements(fast) == [2]
    assert len(fast.sent("UpdateItem")) == 1


@pytest.mark.parametrize("name", ["a.b", "a[0]", '"', "'", "\\", " ", "名前", "?", "x\ny"])
def test_a_name_that_means_something_in_a_statement_goes_alone(fast: Fast, name: str) -> None:
    fast.rig.put({**item("a"), name: {"S": "1"}}, item("b"), item("c"))
    awkward = Update(key("a"), Change({name: {"S": "1"}}, {name: {"S": "2"}}))
    assert fast.write(awkward, update("b", v="1"), update("c", v="1")).outcomes == [Written()] * 3
    assert statements(fast) == [2]
    assert fast.stored()["a"][name] == {"S": "2"}


@pytest.mark.parametrize("name", ["status", "size", "SELECT", "a-b", "#n0", ":v0", "__migrator__", "x" * 200])
def test_a_reserved_word_is_no_matter_in_a_batch(fast: Fast, name: str) -> None:
    fast.rig.put({**item("a"), name: {"S": "1"}}, item("b"))
    one = Update(key("a"), Change({name: {"S": "1"}}, {name: {"S": "2"}}))
    assert fast.write(one, update("b", v="1")).outcomes == [Written()] * 2
    lost = Update(key("a"), Change({name: None}, {"v": {"S": "3"}}))
    assert fast.write(lost, update("b", v="2")).outcomes == [GuardLost({**item("a"), name: {"S": "2"}}), Written()]
    removal = Update(key("a"), Change({name: {"S": "2"}}, {}, frozenset({name})))
    assert fast.write(removal, update("b", v="3")).outcomes == [Written()] * 2
    assert fast.stored()["a"] == item("a")
    assert statements(fast) == [2, 2, 2]


def test_values_of_every_type_are_set_by_a_batch_as_they_are(fast: Fast) -> None:
    values: dict[str, Any] = {
        "s": {"S": "'\"? \n é"},
        "n": {"N": "12345678901234567890123456789012345678"},
        "b": {"B": b"\x00\xff"},
        "t": {"BOOL": False},
        "z": {"NULL": True},
        "ss": {"SS": ["a", "b"]},
        "ns": {"NS": ["1.5", "2"]},
        "bs": {"BS": [b"\x00", b"\x01"]},
        "l": {"L": [{"M": {"a.b": {"B": b"\x01"}}}, {"L": []}]},
        "m": {"M": {}},
    }
    fast.rig.put(item("a"), item("b"))
    one = Update(key("a"), Change(dict.fromkeys(values), values))
    assert fast.write(one, update("b", v="1")).outcomes == [Written()] * 2
    assert statements(fast) == [2]
    assert fast.items.get("app", key("a")) == {**item("a"), **values}


@pytest.mark.parametrize(
    ("stored", "guard", "holds"),
    [
        ({"N": "1.50"}, {"N": "1.5"}, True),
        ({"N": "1E+2"}, {"N": "100"}, True),
        ({"N": "1"}, {"S": "1"}, False),
        ({"S": "\u00e9"}, {"S": "e\u0301"}, False),
        ({"S": ""}, {"S": ""}, True),
        ({"B": b""}, {"B": b""}, True),
        ({"BOOL": True}, {"BOOL": False}, False),
        ({"NULL": True}, {"BOOL": True}, False),
        ({"SS": ["a"]}, {"S": "a"}, False),
        ({"NULL": True}, None, False),
    ],
)
def test_a_guard_in_a_batch_means_what_it_means_alone(fast: Fast, stored: Any, guard: Any, holds: bool) -> None:
    fast.rig.put({**item("a"), "g": stored}, item("b"))
    outcome, _ = fast.write(update("a", {"g": guard}, v="1"), update("b", v="1")).outcomes
    assert statements(fast) == [2]
    assert isinstance(outcome, Written if holds else GuardLost)
    assert ("v" in fast.stored()["a"]) is holds


# --- outcomes ---------------------------------------------------------------------------------------------------------


def test_each_statement_has_its_own_outcome_in_the_order_of_the_writes(fast: Fast) -> None:
    fast.rig.put(item("a"), item("b", v="other"), item("d"))
    writes = [
        update("a", {"v": None}, v="1"),
        update("b", {"v": {"S": "read"}}, v="1"),
        update("gone", v="1"),
        update("d", v="1"),
    ]
    answer = fast.write(*writes)
    assert answer.outcomes == [Written(), GuardLost(item("b", v="other")), GuardLost(None), Written()]
    assert fast.stored().keys() == {"a", "b", "d"}
    assert all(body["ConsistentRead"] for body in fast.sent("GetItem"))
    # What lost guards consumed the engine estimates: it is not to be counted twice.
    assert answer.consumed.write == {"app": 2.0}


def test_throttled_statements_are_tried_again_and_no_others(fast: Fast) -> None:
    filled(fast, 50)
    with fast.rig.sandbox.fault("statement", share=0.4):
        outcomes = fast.write(*updates(50)).outcomes
    again = [n for n, outcome in enumerate(outcomes) if outcome != Written()]
    assert 0 < len(again) < 50
    assert all(isinstance(outcomes[n], TryAgain) and outcomes[n].code == "throttled" for n in again)  # type: ignore[union-attr]
    stored = fast.stored()
    assert [n for n in range(50) if "v" not in stored[f"k{n}"]] == again


@pytest.mark.parametrize(
    ("code", "wanted", "named"),
    [
        ("ProvisionedThroughputExceeded", TryAgain, "throttled"),
        ("RequestLimitExceeded", TryAgain, "throttled"),
        ("TransactionConflict", TryAgain, "transaction-conflict"),
        ("InternalServerError", Unknown, ""),
    ],
)
def test_the_error_of_a_statement_means_what_that_of_a_request_does(
    fast: Fast, code: str, wanted: type, named: str
) -> None:
    filled(fast, 2)
    with fast.rig.sandbox.fault("statement", code=code, share=1.0):
        outcomes = fast.write(*updates(2)).outcomes
    assert [type(outcome) for outcome in outcomes] == [wanted] * 2
    assert [getattr(outcome, "code", "") for outcome in outcomes] == [named] * 2


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_batch_whose_answer_is_lost_is_unknown_and_sent_once(fast: Fast, moment: str) -> None:
    filled(fast, 3)
    hook: dict[str, Any] = {"before": lambda _: Drop()} if moment == "before" else {"after": lambda _, __: Drop()}
    with fast.rig.sandbox.intercept(**hook, operation=BATCH):
        outcomes = fast.write(*updates(3)).outcomes
    assert [type(outcome) for outcome in outcomes] == [Unknown] * 3
    assert statements(fast) == [3]
    assert all(("v" in one) is (moment == "after") for one in fast.stored().values())


def test_an_answer_with_too_few_results_is_a_lost_one(fast: Fast) -> None:
    filled(fast, 3)
    with fast.rig.sandbox.intercept(lambda _: answering([{}]), operation=BATCH):
        outcomes = fast.write(*updates(3)).outcomes
    assert [type(outcome) for outcome in outcomes] == [Unknown] * 3


def test_a_batch_that_is_throttled_whole_is_tried_again_whole_by_the_engine(fast: Fast) -> None:
    filled(fast, 3)
    reasons = [{"reason": "TableWriteKeyRangeThroughputExceeded", "resource": "arn:aws:dynamodb:r:1:table/app"}]
    slow = Response.error("ThrottlingException", "slow down", throttlingReasons=reasons)
    with fast.rig.sandbox.intercept(lambda _: slow, operation=BATCH):
        outcomes = fast.write(*updates(3)).outcomes
    assert [(o.code, o.reasons) for o in outcomes if isinstance(o, TryAgain)] == [
        ("throttled", (("TableWriteKeyRangeThroughputExceeded", "arn:aws:dynamodb:r:1:table/app"),))
    ] * 3
    assert statements(fast) == [3]


# --- what a batch cannot do -------------------------------------------------------------------------------------------


def test_a_statement_that_the_service_does_not_take_goes_alone_from_then_on(fast: Fast) -> None:
    filled(fast, 4)
    refused = answering([{"Error": {"Code": "ValidationError", "Message": "no such syntax"}}] * 4)
    with fast.rig.sandbox.intercept(lambda _: refused, operation=BATCH):
        assert fast.write(*updates(4)).outcomes == [Written()] * 4
        assert fast.write(*updates(4)).outcomes == [Written()] * 4
    assert statements(fast) == [4]
    assert len(fast.sent("UpdateItem")) == 8


def test_what_is_refused_alone_too_is_refused(fast: Fast) -> None:
    fast.rig.put(item("a", v="x" * 300_000), item("b"), item("c"))
    large = update("a", w="x" * 150_000)
    outcomes = fast.write(large, update("b", w="1"), update("c", w="1")).outcomes
    assert [type(outcome) for outcome in outcomes] == [Refused, Written, Written]
    # The statement was not to blame: its shape goes in batches as before.
    fast.write(update("b", w="2"), update("c", w="2"))
    assert len(statements(fast)) == 2


@pytest.mark.parametrize("per_statement", [True, False])
def test_where_statements_are_denied_updates_go_alone_for_the_rest_of_the_run(fast: Fast, per_statement: bool) -> None:
    filled(fast, 30)
    text = "User: u is not authorized to perform: dynamodb:PartiQLUpdate on resource: arn:aws:dynamodb:r:1:table/app"
    denied = Response.error("AccessDeniedException", text)

    def deny(request: Any) -> Response:
        count = len(request.body["Statements"])
        return answering([{"Error": {"Code": "AccessDenied", "Message": text}}] * count)

    with fast.rig.sandbox.intercept(deny if per_statement else lambda _: denied, operation=BATCH):
        assert fast.write(*updates(30)).outcomes == [Written()] * 30
    assert fast.write(*updates(30)).outcomes == [Written()] * 30
    assert len(statements(fast)) == 2
    assert len(fast.sent("UpdateItem")) == 60
    (told,) = fast.told
    assert "dynamodb:PartiQLUpdate" in told


def test_where_updates_are_denied_altogether_the_run_ends(fast: Fast) -> None:
    filled(fast, 3)
    denied = Response.error("AccessDeniedException", "not authorized to perform: dynamodb:UpdateItem")
    with fast.rig.sandbox.intercept(lambda _: denied), pytest.raises(MigratorError) as caught:
        fast.write(*updates(3))
    assert caught.value.code == "access-denied"


# --- the permit -------------------------------------------------------------------------------------------------------


class Counting:
    """A permit that is taken away after `left` questions."""

    def __init__(self, left: int):
        self.left = left
        self.asked = 0

    def check(self) -> None:
        self.asked += 1
        if self.asked > self.left:
            raise LeaseLost("lease-lost", "taken over")


def test_the_permit_is_asked_once_for_each_batch(fast: Fast) -> None:
    filled(fast, 60)
    permit = Counting(100)
    fast.items.write("app", updates(60), permit)
    assert permit.asked == 3


@pytest.mark.parametrize("left", [0, 1, 3, 11])
def test_after_a_refusal_no_batch_leaves_and_what_left_is_answered_for(fast: Fast, left: int) -> None:
    filled(fast, 400)
    with pytest.raises(LeaseLost):
        fast.items.write("app", updates(400), Counting(left))
    assert len(statements(fast)) == left
    assert sum("v" in one for one in fast.stored().values()) == 25 * left


def test_an_error_that_ends_the_run_sends_nothing_more(fast: Fast) -> None:
    filled(fast, 400)
    gone = Response.error("ExpiredTokenException", "expired")
    with fast.rig.sandbox.intercept(lambda _: gone, operation=BATCH), pytest.raises(MigratorError) as caught:
        fast.write(*updates(400))
    assert caught.value.code == "credentials-expired"
    assert len(statements(fast)) < 16


def test_connections_are_used_again(fast: Fast) -> None:
    filled(fast, 400)
    opened: list[Any] = []
    connections = fast.items._sender._connections
    open_one = connections._open
    connections._open = lambda: opened.append(open_one()) or opened[-1]  # type: ignore[method-assign, func-returns-value]
    for _ in range(3):
        fast.write(*updates(400))
    assert 1 <= len(opened) <= 8


# --- reads ------------------------------------------------------------------------------------------------------------


def test_a_read_is_tried_again_and_its_loss_told_in_the_end(fast: Fast) -> None:
    fast.rig.put(item("a"))
    with fast.rig.sandbox.intercept(after=lambda _, __: Drop(), operation="Scan", nth=1):
        assert fast.items.scan("app").items == [item("a")]
    assert len(fast.sent("Scan")) == 2
    with fast.rig.sandbox.intercept(after=lambda _, __: Drop(), operation="Scan"), pytest.raises(AnswerLost):
        fast.items.scan("app")
