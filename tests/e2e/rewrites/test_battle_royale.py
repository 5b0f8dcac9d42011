"""835 items in one table: what names a player changes its prefix, in every PK and SK that carries it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from migrator.core.item import from_python, to_python
from tests.e2e.rewrites.moving import DATA, App, Item, Moving, ordered

TABLE = "battle-royale"
CREATE = """
operations = [
    CreateTable(
        partition_key="PK",
        sort_key="SK",
        indexes=[
            Index("OpenGamesIndex", partition_key="map", sort_key="open_timestamp"),
            Index("InvertedIndex", partition_key="SK", sort_key="PK"),
        ],
    )
]
"""
REWRITE = """
operations = [
    RewriteKeys(
        forms=[
            ({"PK": "USER#{player}"}, {"PK": "PLAYER#{player}"}),
            ({"SK": "USER#{player}"}, {"SK": "PLAYER#{player}"}),
        ],
        readers="runtime",
    )
]
"""


def wire(line: str) -> Item:
    import json

    return {name: dict(from_python(value)) for name, value in json.loads(line).items()}


MODEL = [wire(line) for line in (DATA / "battle-royale-items.jsonl").read_text().splitlines()]


def renamed(item: Item, old: str = "USER#", new: str = "PLAYER#") -> Item:
    """The item with the other prefix in its keys."""
    keys = {name: {"S": item[name]["S"].replace(old, new)} for name in ("PK", "SK") if item[name]["S"].startswith(old)}
    return {**item, **keys}


def named(form: str, prefix: str) -> str:
    return prefix if form == "old" else {"USER#": "PLAYER#", "USER$": "PLAYER$"}[prefix]


def both(form: str, **request: Any) -> dict[str, Any]:
    """A query in the words of a client's form, and what is said otherwise on the other side."""

    def values(side: str) -> dict[str, Any]:
        return {
            name: {"S": text.replace("USER", "PLAYER") if side == "new" else text}
            for name, text in request["values"].items()
        }

    index = {"IndexName": request["index"]} if "index" in request else {}
    said = {"TableName": TABLE, "KeyConditionExpression": request["key"], **index}
    names = {"ExpressionAttributeNames": request["names"]} if "names" in request else {}
    sides = {side: {"ExpressionAttributeValues": values(side)} for side in ("old", "new")}
    return {**said, **names, **sides[form], **sides}


def answers(app: App, form: str) -> Mapping[str, list[Item]]:
    """What the application asks: each question with its answer."""
    game = next(item for item in MODEL if "open_timestamp" in item)
    player = next(item for item in MODEL if item["SK"]["S"].startswith("USER#"))["SK"]["S"]
    number = game["game_id"]["S"]
    return {
        "the game and who plays in it": app.query(
            **both(
                form,
                key="PK = :game AND SK BETWEEN :first AND :last",
                values={":game": f"GAME#{number}", ":first": f"#METADATA#{number}", ":last": "USER$"},
            )
        ),
        "the open games of its map": app.query(
            **both(
                form,
                key="#m = :map",
                names={"#m": "map"},
                values={":map": game["map"]["S"]},
                index="OpenGamesIndex",
            )
        ),
        "the games of a player": app.query(
            **both(form, key="SK = :player", values={":player": player}, index="InvertedIndex")
        ),
        "the profile of a player": app.query(**both(form, key="PK = :player", values={":player": player})),
    }


def expected(items: list[Item]) -> Mapping[str, list[Item]]:
    """The same of a table that was never touched, in the old form."""
    game = next(item for item in MODEL if "open_timestamp" in item)
    player = next(item for item in MODEL if item["SK"]["S"].startswith("USER#"))["SK"]
    return {
        "the game and who plays in it": [item for item in items if item["PK"] == game["PK"]],
        "the open games of its map": [i for i in items if "open_timestamp" in i and i.get("map") == game["map"]],
        "the games of a player": [item for item in items if item["SK"] == player],
        "the profile of a player": [item for item in items if item["PK"] == player],
    }


def sound(project: Moving, items: list[Item]) -> None:
    """Clients of both forms get every item of every answer once, in the form that they speak."""
    for form in ("old", "new"):
        with project.app(form, "r2") as app:
            found = answers(app, form)
        for question, wanted in expected(items).items():
            mine = wanted if form == "old" else [renamed(item) for item in wanted]
            assert ordered(found[question]) == ordered(mine), (form, question)
            assert wanted, question


def join(app: App, game: Item, player: str) -> Item:
    """A player joins, as the application does it: one transaction on the game and its new item."""
    item = {
        "PK": game["PK"],
        "SK": {"S": f"USER#{player}"},
        "game_id": game["game_id"],
        "username": {"S": player},
    }
    put = {"TableName": TABLE, "Item": item, "ConditionExpression": "attribute_not_exists(SK)"}
    update = {
        "TableName": TABLE,
        "Key": {"PK": game["PK"], "SK": game["SK"]},
        "UpdateExpression": "SET people = people + :one",
        "ExpressionAttributeValues": {":one": {"N": "1"}},
    }
    app.client.transact_write_items(TransactItems=[{"Put": put}, {"Update": update}])
    return item


def test_players_get_another_prefix_everywhere_and_every_query_is_right_in_every_phase(
    moving: Callable[..., Moving],
) -> None:
    project = moving({"game": TABLE}, r1=CREATE, r2=REWRITE)
    project.upgrade("r1")
    project.put("game", MODEL)
    items = list(MODEL)
    game = next(item for item in MODEL if "open_timestamp" in item)

    def joins(player: str) -> None:
        with project.app("old", "r2") as app:
            items.append(join(app, game, player))
        (found,) = [item for item in items if item["PK"] == game["PK"] and item["SK"] == game["SK"]]
        more = {"people": {"N": str(int(to_python(found["people"])) + 1)}}
        items[items.index(found)] = {**found, **more}

    project.advance("upgrade")
    sound(project, items)
    assert len(project.scan()) == 835
    project.advance("ready")
    joins("ada")
    sound(project, items)
    project.advance("cutover")
    joins("bob")
    sound(project, items)
    assert len(project.scan()) == 837 + 300 + 522  # both forms of every item that names a player in its key
    project.advance("contract")
    sound(project, items)
    assert project.scan() == ordered(map(renamed, items))
    assert project.scan(index="InvertedIndex") == project.scan()
    assert len(project.scan(index="OpenGamesIndex")) == 9
