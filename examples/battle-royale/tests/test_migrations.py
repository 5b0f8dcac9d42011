"""What the two indexes answer, on a handful of the items of `items.jsonl`."""

import json
from pathlib import Path

import pytest

ITEMS = Path(__file__).parents[1] / "items.jsonl"


@pytest.fixture
def some_items():
    """One game that still takes players, one that is full, and who plays in them."""
    rows = [json.loads(line) for line in ITEMS.read_text().splitlines()]
    games = [row for row in rows if row["SK"].startswith("#METADATA#") and row["PK"].startswith("GAME#")]
    chosen = {next(row["PK"] for row in games if ("open_timestamp" in row) is is_open) for is_open in (True, False)}
    return [row for row in rows if row["PK"] in chosen]


def test_only_a_game_that_takes_players_is_in_the_sparse_index(migrate, some_items):
    game = migrate(seed=some_items)
    assert len(game.items("OpenGamesIndex")) == 1
    assert all("open_timestamp" in item for item in game.items("OpenGamesIndex"))


def test_the_inverted_index_finds_the_games_of_a_player(migrate, some_items):
    game = migrate(seed=some_items)
    plays = next(item for item in game.items() if item["SK"].startswith("USER#"))
    found = game.client.query(
        TableName=game.name,
        IndexName="InvertedIndex",
        KeyConditionExpression="SK = :player",
        ExpressionAttributeValues={":player": {"S": plays["SK"]}},
    )
    assert plays["PK"] in [item["PK"]["S"] for item in found["Items"]]


def test_a_full_game_leaves_the_index_while_it_is_there(migrate, some_items):
    game = migrate(seed=some_items)
    (open_game,) = game.items("OpenGamesIndex")
    game.put({name: value for name, value in open_game.items() if name != "open_timestamp"})
    assert game.items("OpenGamesIndex") == []
