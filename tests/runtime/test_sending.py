"""One call keeps one phase and one token: lost answers, leases that run out, refusals that pass."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from migrator.core.item import Item
from migrator.core.rewrite.phases import Phase, Side
from migrator.runtime import PhaseUnknown, RewritingClient
from migrator.runtime.reader import Stance
from tests.runtime.double import failure
from tests.runtime.situation import Situation, StandIn
from tests.runtime.test_calls import DEVICES, GAME, Case, wire

COUNT = {"UpdateExpression": "ADD wins :one", "ExpressionAttributeValues": {":one": {"N": "1"}}}
APPEND = {
    "UpdateExpression": "SET tags = list_append(tags, :l)",
    "ExpressionAttributeValues": {":l": {"L": [{"S": "b"}]}},
}


def situation(case: Case = GAME, phase: Phase = "dual-write", form: Side = "old", **further: Any) -> Situation:
    return Situation(case.rewrite, phase, form, {case.table: [wire(item) for item in case.items]}, **further)


def key(case: Case = GAME) -> dict[str, Any]:
    names = ("PK", "SK") if case is GAME else ("DeviceID", "Date")
    return {"TableName": case.table, "Key": {name: {"S": case.items[0][name]} for name in names}}


def first(found: Situation, case: Case = GAME) -> Item:
    item = found.store.get(case.table, key(case)["Key"])
    assert item is not None
    return item


@pytest.mark.parametrize("case", [GAME, DEVICES], ids=["by key", "read first"])
@pytest.mark.parametrize("missing", [(), (0,)])
def test_a_write_whose_answer_is_lost_happens_once(case: Case, missing: tuple[int, ...]) -> None:
    for update in (COUNT, APPEND):
        for lost in ({0}, {1}, {0, 1}):
            found = situation(case, without_twin=missing)
            found.client.lost = lost
            found.app.update_item(**key(case), **update)
            item = first(found, case)
            assert (item["wins"]["N"], len(item["tags"]["L"])) in (("4", 1), ("3", 2)), lost
            assert found.discrepancies() == []


def test_an_attempt_is_sent_again_with_its_own_token_and_a_new_decision_with_a_new_one() -> None:
    found = situation(without_twin=(0,))
    found.client.lost = {1}
    found.app.update_item(**key(), **COUNT)
    sent = [request["ClientRequestToken"] for name, request in found.client.requests if name == "transact_write_items"]
    refused, applied, again = sent
    assert refused != applied
    assert applied == again


def test_an_answer_that_stays_lost_is_told_as_the_client_tells_it() -> None:
    found = situation()
    found.client.lost = set(range(100))
    found.store.tokens = _Forgetful()
    with pytest.raises(ReadTimeoutError):
        found.app.put_item(TableName="game", Item=first(found))


class _Forgetful(dict[str, str]):
    """An endpoint that never knows a token, and whose answers never come."""

    def __contains__(self, key: object) -> bool:
        return False


def test_nothing_is_sent_after_the_lease() -> None:
    found = situation()
    found.reader.lease = 10

    def sleepy(method: str, request: Any) -> None:
        raise AssertionError("sent after the lease")

    held = found.reader.stance()
    found.reader.clock.seconds += 11
    found.client.before = sleepy
    assert not held.is_valid
    expired = _Fixed(found.reader, held)
    app = RewritingClient(found.client, expired, form="old")  # type: ignore[arg-type]
    with pytest.raises(PhaseUnknown):
        app.put_item(TableName="game", Item=first(found))
    with pytest.raises(PhaseUnknown):
        app.get_item(**key())
    with pytest.raises(PhaseUnknown):
        app.scan(TableName="game")


class _Fixed:
    """A reader that hands out one stance, whatever became of it."""

    def __init__(self, reader: StandIn, stance: Stance):
        self.clock, self.entropy = reader.clock, reader.entropy
        self._stance = stance

    def stance(self) -> Stance:
        return self._stance


def test_a_call_whose_lease_runs_out_between_attempts_begins_anew_in_the_phase_that_stands() -> None:
    found = situation(without_twin=(0,))
    found.reader.lease = 10
    conflicts = 0

    def conflict(method: str, request: Any) -> None:
        nonlocal conflicts
        if method == "transact_write_items" and conflicts == 0:
            conflicts += 1
            # The attempt was refused, and took longer than the lease: meanwhile the phase changed.
            found.reader.clock.seconds += 11
            found.reader.phase = "cutover"
            reasons = [{"Code": "TransactionConflict"}, {"Code": "None"}]
            raise failure("TransactionCanceledException", "TransactWriteItems", CancellationReasons=reasons)

    found.client.before = conflict
    found.store.put("game", wire({"PK": "PLAYER#ann", "SK": "#METADATA#ann", "wins": 3, "tags": ["a"], "note": "x"}))
    found.app.update_item(**key(), **COUNT)
    first_action = found.client.requests[-1][1]["TransactItems"][0]["Update"]
    assert first_action["Key"]["PK"] == {"S": "PLAYER#ann"}, "in cutover the new side decides"
    assert first(found)["wins"] == {"N": "4"}


def test_what_is_in_doubt_when_the_lease_runs_out_is_not_decided_a_second_time() -> None:
    found = situation()
    found.reader.lease = 10

    def slow(method: str, request: Any) -> None:
        found.reader.clock.seconds += 11

    found.client.before = slow
    found.client.lost = {0}
    with pytest.raises(ReadTimeoutError):
        found.app.update_item(**key(), **COUNT)
    assert first(found)["wins"] == {"N": "4"}
    assert found.client.transactions == 1


@pytest.mark.parametrize(
    "trouble",
    [
        failure("TransactionInProgressException", "TransactWriteItems"),
        failure("ProvisionedThroughputExceededException", "TransactWriteItems"),
        failure("InternalServerError", "TransactWriteItems"),
        failure(
            "TransactionCanceledException",
            "TransactWriteItems",
            CancellationReasons=[{"Code": "ThrottlingError"}, {"Code": "TransactionConflict"}],
        ),
    ],
    ids=lambda exc: exc.response["Error"]["Code"],
)
def test_a_refusal_that_passes_is_tried_again(trouble: ClientError) -> None:
    found = situation()
    met = 0

    def refuse(method: str, request: Any) -> None:
        nonlocal met
        if method == "transact_write_items" and met < 3:
            met += 1
            raise trouble

    found.client.before = refuse
    found.app.update_item(**key(), **COUNT)
    assert first(found)["wins"] == {"N": "4"}
    assert met == 3


def test_conflicts_without_an_end_are_told_as_such() -> None:
    found = situation()

    def refuse(method: str, request: Any) -> None:
        if method == "transact_write_items":
            reasons = [{"Code": "TransactionConflict"}, {"Code": "None"}]
            raise failure("TransactionCanceledException", "TransactWriteItems", CancellationReasons=reasons)

    found.client.before = refuse
    with pytest.raises(ClientError, match="TransactionConflictException"):
        found.app.update_item(**key(), **COUNT)
    assert first(found)["wins"] == {"N": "3"}


def test_what_the_service_refuses_for_good_is_told_as_a_validation_error() -> None:
    found = situation()

    def refuse(method: str, request: Any) -> None:
        if method == "transact_write_items":
            reasons = [{"Code": "None"}, {"Code": "ValidationError", "Message": "Type mismatch for Index Key"}]
            raise failure("TransactionCanceledException", "TransactWriteItems", CancellationReasons=reasons)

    found.client.before = refuse
    with pytest.raises(ClientError, match=r"ValidationException.*Type mismatch"):
        found.app.update_item(**key(), **COUNT)


def test_the_condition_is_judged_by_the_item_that_the_service_shows_not_by_an_older_one() -> None:
    """Between the plan and the transaction another writer makes the condition fail."""
    found = situation(DEVICES)
    done = False

    def meanwhile(method: str, request: Any) -> None:
        nonlocal done
        if method == "transact_write_items" and not done:
            done = True
            for table in ("log", "log-by-state"):
                for item in found.store.all(table):
                    if "wins" in item:
                        found.store.put(table, {**item, "wins": {"N": "9"}})

    found.client.before = meanwhile
    request = {**COUNT, "ConditionExpression": "wins = :w", "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
    request["ExpressionAttributeValues"] = {":one": {"N": "1"}, ":w": {"N": "3"}}
    with pytest.raises(ClientError) as refused:
        found.app.update_item(**key(DEVICES), **request)
    assert refused.value.response["Error"]["Code"] == "ConditionalCheckFailedException"
    assert refused.value.response["Item"]["wins"] == {"N": "9"}  # type: ignore[typeddict-item]


def test_a_pin_that_was_of_no_use_is_taken_off() -> None:
    """The item is pinned to be moved; meanwhile the application's condition stops holding."""
    found = situation(DEVICES)

    def meanwhile(method: str, request: Any) -> None:
        if method == "transact_get_items" and any(name == "update_item" for name, _ in found.client.requests):
            for table in ("log", "log-by-state"):
                for item in found.store.all(table):
                    if "wins" in item:
                        found.store.put(table, {**item, "wins": {"N": "9"}})

    found.client.before = meanwhile
    with pytest.raises(ClientError, match="ConditionalCheckFailed"):
        found.app.update_item(
            **key(DEVICES),
            UpdateExpression="SET #s = :s",
            ConditionExpression="wins = :w",
            ExpressionAttributeNames={"#s": "State"},
            ExpressionAttributeValues={":s": {"S": "ALARM"}, ":w": {"N": "3"}},
        )
    assert any(name == "update_item" for name, _ in found.client.requests), "it was pinned"
    assert found.discrepancies() == []


def test_the_application_s_own_token_goes_with_its_transaction() -> None:
    found = situation()
    for _ in range(2):
        found.app.transact_write_items(TransactItems=[{"Update": {**key(), **COUNT}}], ClientRequestToken="mine")
    assert first(found)["wins"] == {"N": "4"}


def test_in_contract_a_twin_is_looked_for_before_it_is_written() -> None:
    """It is gone more often than not: a transaction that is refused for it would be paid for in vain."""
    found = situation(phase="contract", form="new", without_twin=(0,))
    found.app.update_item(TableName="game", Key=wire({"PK": "PLAYER#ann", "SK": "#METADATA#ann"}), **COUNT)
    assert [name for name, _ in found.client.requests].count("transact_write_items") == 1


def test_what_a_call_rests_on_is_read_consistently_and_at_one_moment() -> None:
    found = situation(DEVICES)
    found.app.update_item(**key(DEVICES), **COUNT)
    reads = [(name, request) for name, request in found.client.requests if "get" in name]
    assert [name for name, _ in reads] == ["get_item", "transact_get_items"]
    assert reads[0][1]["ConsistentRead"] is True
    assert len(reads[1][1]["TransactItems"]) == 2
