"""What cannot be kept on both sides is refused before anything is sent, and told while it still works."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError

from migrator.core.rewrite.phases import Phase, Side
from migrator.core.rewrite.rewrite import Rewrite
from migrator.errors import MigratorError
from migrator.runtime import KeyCollision, KeyUnknown, NotExpressible, RewritingClient, UnsupportedCall, WrongForm
from tests.core.rewrite import routes
from tests.runtime.situation import Numbers, Situation, StandIn
from tests.runtime.test_calls import DEVICES, FOLDED, GAME, MERGED, Case, wire

WRITES = {"put_item", "update_item", "delete_item", "transact_write_items", "batch_write_item", "execute_statement"}


def situation(case: Case = GAME, phase: Phase = "dual-write", form: Side = "old", **further: Any) -> Situation:
    items = [*case.items, *([case.neither] if case.neither else [])]
    return Situation(case.rewrite, phase, form, {case.table: [wire(item) for item in items]}, **further)


BATCH = {"RequestItems": {"game": [{"PutRequest": {"Item": wire({"PK": "USER#zoe", "SK": "#METADATA#zoe"})}}]}}
LEGACY = {
    "TableName": "game",
    "Key": wire({"PK": "USER#ann", "SK": "#METADATA#ann"}),
    "AttributeUpdates": {"note": {"Value": {"S": "new"}, "Action": "PUT"}},
}
MANY = {
    "TransactItems": [
        {"Put": {"TableName": "game", "Item": wire({"PK": f"USER#{n}", "SK": f"#METADATA#{n}"})}} for n in range(51)
    ]
}
STATEMENT = {"Statement": "UPDATE \"game\" SET note=1 WHERE PK='USER#ann'"}
UNSUPPORTED = {
    "batch_write_item": BATCH,
    "update_item": LEGACY,
    "transact_write_items": MANY,
    "execute_statement": STATEMENT,
}


@pytest.mark.parametrize("method", UNSUPPORTED)
@pytest.mark.parametrize("phase", ["dual-write", "cutover", "contract"])
def test_what_cannot_be_kept_on_both_sides_is_refused_with_nothing_sent(phase: Phase, method: str) -> None:
    found = situation(phase=phase)
    with pytest.raises(NotExpressible):
        getattr(found.app, method)(**UNSUPPORTED[method])
    assert [name for name, _ in found.client.requests if name in WRITES] == []


@pytest.mark.parametrize("method", ["batch_write_item", "transact_write_items", "execute_statement"])
def test_in_expand_such_a_call_works_and_is_told_once(method: str) -> None:
    found = situation(phase="expand")
    told: list[UnsupportedCall] = []
    app = RewritingClient(found.client, found.reader, form="old", on_unsupported=told.append)  # type: ignore[arg-type]
    for _ in range(2):
        getattr(app, method)(**UNSUPPORTED[method])
    assert [one.method for one in told] == [method]
    assert app.unsupported == set(told)
    assert [name for name, _ in found.client.requests] == [method, method]


def test_a_transaction_of_fifty_actions_fits_always() -> None:
    found = situation()
    found.app.transact_write_items(TransactItems=MANY["TransactItems"][:50])
    assert len(found.client.requests[-1][1]["TransactItems"]) == 100
    assert found.discrepancies() == []


def test_calls_on_other_tables_are_none_of_the_rewrite_s_business() -> None:
    found = situation()
    found.store.keys["else"] = ("id",)
    item = wire({"id": "1", "n": 1})
    found.app.put_item(TableName="else", Item=item)
    answer = found.app.update_item(
        TableName="else",
        Key=wire({"id": "1"}),
        UpdateExpression="ADD n :one",
        ExpressionAttributeValues={":one": {"N": "1"}},
        ReturnValues="ALL_NEW",
    )
    assert answer["Attributes"]["n"] == {"N": "2"}
    found.app.batch_write_item(RequestItems={"else": [{"DeleteRequest": {"Key": wire({"id": "1"})}}]})
    found.app.transact_write_items(
        TransactItems=[
            {"Put": {"TableName": "else", "Item": item}},
            {"Delete": {"TableName": "game", "Key": wire({"PK": "USER#ann", "SK": "#METADATA#ann"})}},
        ]
    )
    assert found.store.all("else") == [item]
    assert found.discrepancies() == []


def test_items_on_neither_side_go_straight_through() -> None:
    found = situation()
    found.app.update_item(
        TableName="game",
        Key=wire({"PK": "GAME#1", "SK": "#METADATA#1"}),
        UpdateExpression="SET #m = :m",
        ExpressionAttributeNames={"#m": "map"},
        ExpressionAttributeValues={":m": {"S": "red"}},
    )
    assert [name for name, _ in found.client.requests] == ["update_item"]


@pytest.mark.parametrize("phase", ["dual-write", "cutover"])
@pytest.mark.parametrize(("form", "prefix"), [("old", "PLAYER#"), ("new", "USER#")])
def test_a_client_speaks_one_form(phase: Phase, form: Side, prefix: str) -> None:
    found = situation(phase=phase, form=form)
    before = {table: found.store.all(table) for table in found.store.keys}
    item = wire({"PK": f"{prefix}zoe", "SK": "#METADATA#zoe"})
    with pytest.raises(WrongForm):
        found.app.put_item(TableName="game", Item=item)
    with pytest.raises(WrongForm):
        found.app.delete_item(TableName="game", Key={name: item[name] for name in ("PK", "SK")})
    assert {table: found.store.all(table) for table in found.store.keys} == before


def test_the_new_form_needs_a_record_to_know_the_old_one() -> None:
    found = situation(form="new")
    app = RewritingClient(found.client, StandIn(None, "expand"), form="new")  # type: ignore[arg-type]
    with pytest.raises(NotExpressible, match="no phase record yet"):
        app.scan(TableName="game")


def test_without_a_record_old_code_works_as_ever() -> None:
    found = situation(phase="expand")
    app = RewritingClient(found.client, StandIn(None, "expand"), form="old")  # type: ignore[arg-type]
    app.batch_write_item(**BATCH)
    assert app.scan(TableName="game")["Count"] == 5


# --- collisions -------------------------------------------------------------------------------------------------------

PEOPLE = Case(FOLDED.rewrite, "people", ({"id": "ANN", "note": "x"}, {"id": "bob", "note": "y"}), {"id": "cid"})


def test_before_cutover_a_write_that_collides_stands_on_the_side_that_decides(
    caplog: pytest.LogCaptureFixture,
) -> None:
    found = situation(PEOPLE)
    found.app.put_item(TableName="people", Item=wire({"id": "Ann", "note": "rival"}))
    assert found.store.get("people", wire({"id": "Ann"})) == wire({"id": "Ann", "note": "rival"})
    twin = found.store.get("folded", wire({"id": "ann"}))
    assert twin is not None
    assert twin["note"] == {"S": "x"}, "the twin that stood there is its owner's still"
    assert "taken by the twin of" in caplog.text


def test_from_cutover_on_a_write_that_collides_fails() -> None:
    found = situation(PEOPLE, "cutover")
    with pytest.raises(KeyCollision):
        found.app.put_item(TableName="people", Item=wire({"id": "Ann", "note": "rival"}))
    assert found.store.get("people", wire({"id": "Ann"})) is None


def test_two_new_keys_of_one_old_one_collide_while_the_old_side_decides() -> None:
    """The new form may hold two states of one date, the old one cannot."""
    for phase in ("expand", "dual-write", "cutover"):
        found = situation(DEVICES, phase, "new")  # type: ignore[arg-type]
        item = wire({"DeviceID": "d1", "State#Date": "ALARM#2020-01-01", "State": "ALARM", "Date": "2020-01-01"})
        with pytest.raises(KeyCollision):
            found.app.put_item(TableName="log-by-state", Item=item)


@pytest.mark.parametrize("phase", ["expand", "dual-write", "cutover", "contract", "done"])
def test_the_new_form_changes_a_key_by_deleting_and_putting_in_one_transaction(phase: Phase) -> None:
    found = situation(DEVICES, phase, "new")
    request = {
        "TransactItems": [
            {
                "Delete": {
                    "TableName": "log-by-state",
                    "Key": wire({"DeviceID": "d1", "State#Date": "WARNING#2020-01-01"}),
                }
            },
            {
                "Put": {
                    "TableName": "log-by-state",
                    "Item": wire(
                        {"DeviceID": "d1", "State#Date": "ALARM#2020-01-01", "State": "ALARM", "Date": "2020-01-01"}
                    ),
                }
            },
        ]
    }
    seen, expected = found.both("transact_write_items", **request)
    assert seen == expected == {}
    assert found.seen() == found.expected()
    assert found.discrepancies() == []


def test_an_item_whose_key_cannot_be_told_is_not_taken_for_absent() -> None:
    found = situation(FOLDED, "dual-write", "new", without_twin=(0,))
    with pytest.raises(KeyUnknown):
        found.app.get_item(TableName="folded", Key=wire({"id": "ann"}))
    with pytest.raises(KeyUnknown):
        found.app.delete_item(TableName="folded", Key=wire({"id": "ann"}))


def test_old_code_is_out_of_work_in_contract_where_keys_cannot_be_told() -> None:
    found = situation(DEVICES, "contract", "old", without_twin=(0,))
    with pytest.raises(KeyUnknown):
        found.app.get_item(TableName="log", Key=wire({"DeviceID": "d1", "Date": "2020-01-01"}))


# --- twins that stay --------------------------------------------------------------------------------------------------

CLAIMS = Rewrite((routes.CLAIMS,), moves=False)


def claims(phase: Phase) -> Situation:
    users = [wire({"PK": f"USER#{n}", "SK": "META", "email": f"{n}@x"}) for n in ("ann", "bob")]
    found = Situation(CLAIMS, "dual-write", "old", {"app": users})
    found.reader.phase = phase
    return found


@pytest.mark.parametrize("phase", ["dual-write", "done"])
def test_a_claim_follows_its_item(phase: Phase) -> None:
    found = claims(phase)
    found.app.update_item(
        TableName="app",
        Key=wire({"PK": "USER#ann", "SK": "META"}),
        UpdateExpression="SET email = :e",
        ExpressionAttributeValues={":e": {"S": "new@x"}},
    )
    claimed = sorted(item["PK"]["S"] for item in found.store.all("app") if item["SK"]["S"] == "CLAIM")
    assert claimed == ["EMAIL#bob@x", "EMAIL#new@x"]
    found.app.delete_item(TableName="app", Key=wire({"PK": "USER#ann", "SK": "META"}))
    assert [item["PK"]["S"] for item in found.store.all("app") if item["SK"]["S"] == "CLAIM"] == ["EMAIL#bob@x"]


def test_claims_are_there_to_be_read() -> None:
    found = claims("done")
    key = wire({"PK": "EMAIL#ann@x", "SK": "CLAIM"})
    assert "Item" in found.app.get_item(TableName="app", Key=key)
    assert found.app.scan(TableName="app")["Count"] == 4


def test_a_claim_that_is_taken_refuses_the_write() -> None:
    found = claims("dual-write")
    with pytest.raises(KeyCollision):
        found.app.put_item(TableName="app", Item=wire({"PK": "USER#cid", "SK": "META", "email": "ann@x"}))
    assert found.store.get("app", wire({"PK": "USER#cid", "SK": "META"})) is None


# --- small things -----------------------------------------------------------------------------------------------------


def test_two_operations_on_one_item_are_refused_as_the_service_does() -> None:
    found = situation()
    key = {"TableName": "game", "Key": wire({"PK": "USER#ann", "SK": "#METADATA#ann"})}
    with pytest.raises(ClientError, match="multiple operations on one item"):
        found.app.transact_write_items(TransactItems=[{"Delete": key}, {"Delete": key}])


def test_an_update_of_a_key_attribute_is_refused_as_the_service_does() -> None:
    found = situation(DEVICES)
    with pytest.raises(ClientError, match="part of the key"):
        found.app.update_item(
            TableName="log",
            Key=wire({"DeviceID": "d1", "Date": "2020-01-01"}),
            UpdateExpression="SET DeviceID = :x",
            ExpressionAttributeValues={":x": {"S": "x"}},
        )


def test_a_client_whose_attempts_may_outlast_the_wait_is_refused() -> None:
    found = situation()

    class Config:
        connect_timeout = 60
        read_timeout = 60

    class Meta:
        config = Config()

    found.client.meta = Meta()  # type: ignore[attr-defined]
    app = RewritingClient(found.client, found.reader, form="old")  # type: ignore[arg-type]
    with pytest.raises(MigratorError, match="one attempt of this client may last 120 s"):
        app.scan(TableName="game")


def test_no_form_but_the_two() -> None:
    found = situation()
    with pytest.raises(MigratorError, match="'old' form or the 'new' one"):
        RewritingClient(found.client, StandIn(None, "expand", entropy=Numbers()), form="newer")  # type: ignore[arg-type]


def test_a_twin_that_another_item_has_come_by_meanwhile_is_not_deleted() -> None:
    found = situation(PEOPLE)
    rival = wire({"id": "Ann", "note": "rival"})
    done = False

    def meanwhile(method: str, request: Any) -> None:
        nonlocal done
        if method == "transact_write_items" and not done:
            done = True
            found.store.put("people", rival)
            found.store.put("folded", FOLDED.rewrite.routes[0].twin_of(rival).item)  # type: ignore[union-attr]

    found.client.before = meanwhile
    found.app.delete_item(TableName="people", Key=wire({"id": "ANN"}))
    twin = found.store.get("folded", wire({"id": "ann"}))
    assert twin is not None
    assert twin["note"] == {"S": "rival"}
    assert found.store.get("people", wire({"id": "ANN"})) is None


def test_an_attribute_that_the_new_side_has_for_its_own_is_not_written_there_as_it_was_said(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """`PK` is any attribute of the old table, and a key of the new one: the item can have no new form any more."""
    found = situation(MERGED)
    seen, expected = found.both(
        "update_item",
        TableName="users",
        Key=wire({"id": "ann"}),
        UpdateExpression="SET PK = :x",
        ExpressionAttributeValues={":x": {"S": "mine"}},
    )
    assert seen == expected == {}
    assert found.seen() == found.expected()
    assert "written without a twin" in caplog.text
