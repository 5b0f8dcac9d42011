"""Our evaluator against the engine: what an update makes of an item, whether a condition holds, what is projected."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError

from migrator.core.item import Item, same_item
from migrator.runtime.expressions.conditions import Condition
from migrator.runtime.expressions.paths import projected
from migrator.runtime.expressions.tokens import BadExpression, paths_of
from migrator.runtime.expressions.updates import NotApplicable, UpdateText
from tests.runtime.test_calls import wire

ITEM: Item = {
    **wire({"id": "1", "n": 3, "text": "hello", "list": ["a", "b", "c"], "map": {"x": 1, "in": {"y": [1, 2]}}}),
    "ss": {"SS": ["a", "b"]},
    "ns": {"NS": ["1", "2.50"]},
    "bin": {"B": b"abc"},
    "flag": {"BOOL": True},
    "nothing": {"NULL": True},
    "a.b": {"S": "dotted"},
}
NAMES = {"#n": "n", "#t": "text", "#d": "a.b", "#l": "list", "#m": "map", "#i": "in", "#f": "fresh"}
VALUES: dict[str, Any] = {
    ":one": {"N": "1"},
    ":three": {"N": "3.0"},
    ":half": {"N": "0.50"},
    ":big": {"N": "99999999999999999999999999999999999999"},
    ":h": {"S": "he"},
    ":a": {"S": "a"},
    ":l": {"L": [{"S": "z"}]},
    ":ss": {"SS": ["b", "c"]},
    ":ns": {"NS": ["2.5", "7"]},
    ":all": {"SS": ["a", "b"]},
    ":bin": {"B": b"ab"},
    ":S": {"S": "S"},
    ":t": {"BOOL": True},
    ":map": {"M": {"k": {"S": "v"}}},
}
UPDATES = [
    "SET #n = :one",
    "SET #n = #n + :one",
    "SET #n = #n - :half",
    "SET #n = :one - #n",
    "SET #f = if_not_exists(#f, :one) + :one",
    "SET #n = if_not_exists(#n, :one) + :one",
    "SET #f = #n, #n = :one",
    "SET #f = list_append(#l, :l)",
    "SET #l = list_append(:l, #l)",
    "SET #f = list_append(if_not_exists(#f, :l), :l)",
    "SET #l[1] = :h",
    "SET #l[9] = :h",
    "SET #m.x = :h, #m.fresh = :one",
    "SET #m.#i.y[0] = :h",
    "SET #m.gone.x = :h",
    "SET #l[0].x = :h",
    "SET #f = #m.#i",
    "SET #f = gone",
    "SET #d = :one",
    "REMOVE #n, #l[0], #m.x",
    "REMOVE gone",
    "REMOVE #m.#i.y[1]",
    "ADD #n :one",
    "ADD #f :one",
    "ADD #t :one",
    "ADD ss :ss, ns :ns",
    "ADD #f :ss",
    "ADD ss :ns",
    "DELETE ss :ss",
    "DELETE ss :all",
    "DELETE gone :ss",
    "DELETE ns :ss",
    "SET #n = :one REMOVE #t ADD ns :ns DELETE ss :ss",
    "set #n = #n + :big",
    "SET #f = :map",
]
CONDITIONS = [
    "#n = :three",
    "#n <> :three",
    "gone = :one",
    "gone <> :one",
    "#n < :big AND #n > :half",
    "#t < :h",
    "#n >= :h",
    "#n BETWEEN :one AND :three",
    "#n IN (:one, :three)",
    "#t IN (:one)",
    "attribute_exists(#m.#i.y[1])",
    "attribute_exists(#m.#i.y[2])",
    "attribute_not_exists(gone)",
    "attribute_type(#t, :S)",
    "attribute_type(gone, :S)",
    "begins_with(#t, :h)",
    "begins_with(bin, :bin)",
    "begins_with(gone, :h)",
    "contains(#t, :h)",
    "contains(ss, :a)",
    "contains(ns, :three)",
    "contains(#l, :a)",
    "contains(#m, :a)",
    "size(#t) > :three",
    "size(#l) = :three",
    "size(bin) = :three",
    "size(gone) = :three",
    "NOT #n = :three OR #t = :h",
    "NOT (#n = :three AND flag = :t)",
    "(#n = :one OR #n = :three) AND NOT contains(#t, :h)",
    "flag = :t",
    "#m.x = :one AND #m.#i.y[0] < :three",
    "ss = :all",
    "#f = :one OR attribute_not_exists(#f)",
]
PROJECTIONS = ["#n, #t", "#l[2], #l[0]", "#m.#i.y[1], #m.x", "gone, #d", "#m, id", "#l[7]"]


def used(text: str) -> dict[str, Any]:
    words = set(text.replace("(", " ").replace(")", " ").replace(",", " ").replace(".", " ").replace("[", " ").split())
    found: dict[str, Any] = {}
    for member, known in (("ExpressionAttributeNames", NAMES), ("ExpressionAttributeValues", VALUES)):
        some = {name: value for name, value in known.items() if name in words}
        if some:
            found[member] = some
    return found


@pytest.fixture(scope="module")
def table(client: Any) -> str:
    client.create_table(
        TableName="expressions",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    client.get_waiter("table_exists").wait(TableName="expressions", WaiterConfig={"Delay": 1})
    return "expressions"


@pytest.mark.parametrize("text", UPDATES)
def test_an_update_makes_of_an_item_what_the_engine_makes(client: Any, table: str, text: str) -> None:
    client.put_item(TableName=table, Item=ITEM)
    try:
        client.update_item(TableName=table, Key={"id": ITEM["id"]}, UpdateExpression=text, **used(text))
        engine: Any = client.get_item(TableName=table, Key={"id": ITEM["id"]}, ConsistentRead=True)["Item"]
    except ClientError as exc:
        engine = exc.response["Error"]["Code"]
    try:
        ours: Any = UpdateText.parse(text, NAMES, VALUES).applied_to(ITEM)
    except NotApplicable:
        ours = "ValidationException"
    assert ours == engine if isinstance(engine, str) else same_item(ours, engine), (ours, engine)


@pytest.mark.parametrize("text", CONDITIONS)
def test_a_condition_holds_where_the_engine_says_so(client: Any, table: str, text: str) -> None:
    client.put_item(TableName=table, Item=ITEM)
    ours = Condition.parse(text, NAMES, VALUES).holds(ITEM)
    try:
        client.put_item(TableName=table, Item=ITEM, ConditionExpression=text, **used(text))
        engine = True
    except client.exceptions.ConditionalCheckFailedException:
        engine = False
    assert ours == engine


@pytest.mark.parametrize("text", PROJECTIONS)
def test_a_projection_leaves_what_the_engine_leaves(client: Any, table: str, text: str) -> None:
    client.put_item(TableName=table, Item=ITEM)
    answer = client.get_item(TableName=table, Key={"id": ITEM["id"]}, ProjectionExpression=text, **used(text))
    assert same_item(projected(ITEM, paths_of(text, NAMES)), answer.get("Item", {}))


@pytest.mark.parametrize(
    "text",
    [
        "SET #n",
        "SET #n = :gone",
        "SET #x = :one",
        "MOVE #n :one",
        "SET #n = f(#n)",
        "SET #n = :one SET #t = :h",
        "ADD #l[x] :one",
        "SET #n = ; 1",
    ],
)
def test_what_is_no_update_is_not_taken_for_one(text: str) -> None:
    with pytest.raises(BadExpression):
        UpdateText.parse(text, NAMES, VALUES)


@pytest.mark.parametrize(
    "text", ["#n", "#n = ", "#n ~ :one", "size(#n)", "f(#n, :one)", "#n = :one )", "(#n = :one", "#n IN :one"]
)
def test_what_is_no_condition_is_not_taken_for_one(text: str) -> None:
    with pytest.raises(BadExpression):
        Condition.parse(text, NAMES, VALUES)


def test_positions_of_a_list_are_those_it_had_before() -> None:
    """As the service's own guide shows it; the engine takes one out after the other."""
    item = wire({"id": "1", "list": ["Chisel", "Hammer", "Nails", "Screwdriver", "Hacksaw"]})
    left = UpdateText.parse("REMOVE #l[1], #l[2]", NAMES, VALUES).applied_to(item)
    assert left["list"] == wire({"list": ["Chisel", "Screwdriver", "Hacksaw"]})["list"]


def test_an_update_says_what_it_writes_and_what_it_reads() -> None:
    update = UpdateText.parse("SET #f = #n + :one, #m.x = #t REMOVE #l[0] ADD ns :ns", NAMES, VALUES)
    assert update.writes == {"fresh", "map", "list", "ns"}
    assert update.reads == {"n", "text"}
    assert update.needs == {"n", "text", "map", "list", "ns"}
