"""Counters that are counted anew while the application changes them, by transactions, between any two calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from migrator.core.where import BeginsWith
from migrator.operations import RebuildCounter
from migrator.testing.memory import Call
from tests.simulation.world import Site, chain, migration

GAMES = 4
SEEDED = 3


def player(game: int, name: str, **more: Any) -> dict[str, Any]:
    return {"PK": f"G#{game}", "SK": f"USER#{name}", **more}


def game(number: int, **more: Any) -> dict[str, Any]:
    return {"PK": f"G#{number}", "SK": "META", "open": True, **more}


def site_of(*items: dict[str, Any], **options: Any) -> Site:
    operation = RebuildCounter("people", where={"SK": "META"}, count={"SK": BeginsWith("USER#")}, **options)
    return Site(chain(migration("001", operation))).with_table(*items)


def wrong() -> list[dict[str, Any]]:
    """Games whose counters are right, too high, too low and absent."""
    counters: list[dict[str, Any]] = [{"people": SEEDED}, {"people": 9}, {"people": 1}, {}]
    games = [game(number, **counter) for number, counter in enumerate(counters)]
    return [*games, *(player(number, f"p{n}") for number in range(GAMES) for n in range(SEEDED))]


def counts(site: Site) -> dict[str, tuple[Any, int]]:
    """Of each game its counter, and how many play in it."""
    items = site.items
    return {
        one["PK"]: (
            one.get("people"),
            sum(1 for other in items if other["PK"] == one["PK"] and other["SK"].startswith("USER#")),
        )
        for one in items
        if one["SK"] == "META"
    }


class Application:
    """A hook: each time it lets players join, or leave, at one moment with the counter."""

    def __init__(self, site: Site, when: Callable[[int], bool], by: int):
        self.site, self.when, self.by = site, when, by
        self.moments = self.changes = 0

    def __call__(self, call: Call) -> None:
        self.moments += 1
        if not self.when(self.moments):
            return
        number = self.changes % GAMES
        (found,) = [item for item in self.site.items if item["PK"] == f"G#{number}" and item["SK"] == "META"]
        before = int(found.get("people", 0))
        self.changes += 1
        if self.by > 0:
            self.site.put({**found, "people": before + 1}, player(number, f"late{self.changes}"))
            return
        names = [one for one in self.site.items if one["PK"] == f"G#{number}" and one["SK"].startswith("USER#")]
        if names:
            self.site.world.items.remove("test-app", _key(names[0]))
            self.site.put({**found, "people": before - 1})


def _key(item: dict[str, Any]) -> Any:
    return {name: {"S": item[name]} for name in ("PK", "SK")}


def test_counters_are_what_they_count_and_those_that_are_right_are_not_written() -> None:
    site = site_of(*wrong())
    result = site.runner().upgrade(from_base=True)
    assert result.exit_code == 0
    assert set(counts(site).values()) == {(SEEDED, SEEDED)}
    assert result.outcomes[0].counts.written == GAMES - 1
    assert all(item.get("open") for item in site.items if item["SK"] == "META")


@pytest.mark.parametrize("by", [1, -1])
@pytest.mark.parametrize("every", [2, 3, 5, 7, 11, 13])
def test_players_who_come_and_go_all_the_while_are_counted_once(every: int, by: int) -> None:
    site = site_of(*wrong())
    hook = Application(site, lambda moment: moment % every == 0 and moment < 400, by)
    result = site.runner(hook).upgrade(from_base=True)
    if result.exit_code:
        # One that never was still is a failed item: a quieter hour finishes it.
        assert result.exit_code == 6
        assert site.runner().upgrade(from_base=True).exit_code == 0
    assert hook.changes
    # What the application counts on from a wrong counter is wrong by as much, until it is rebuilt.
    assert all(counter == number for counter, number in counts(site).values()), counts(site)


@pytest.mark.parametrize("nth", range(1, 200, 3))
def test_one_who_joins_at_any_moment_is_counted_once(nth: int) -> None:
    site = site_of(*wrong())
    result = site.runner(Application(site, lambda moment: moment == nth, 1)).upgrade(from_base=True)
    assert result.exit_code == 0
    assert all(counter == number for counter, number in counts(site).values()), counts(site)


def test_amounts_are_added_up_and_what_is_no_number_fails_its_counter_alone() -> None:
    items = [game(0), game(1), player(0, "a", amount=2), player(0, "b", amount=3), player(1, "c", amount="many")]
    site = site_of(*items, sum="amount")
    result = site.runner().upgrade(from_base=True)
    assert result.exit_code == 6
    assert "not-a-number" in result.outcomes[0].examples[0]
    totals = {item["PK"]: item.get("people") for item in site.items if item["SK"] == "META"}
    assert totals == {"G#0": 5, "G#1": None}


def test_a_counter_that_is_deleted_meanwhile_is_not_brought_back() -> None:
    site = site_of(*wrong())

    def gone(call: Call) -> None:
        if call.operation == "items.query":
            site.world.items.remove("test-app", _key(game(1)))

    assert site.runner(gone).upgrade(from_base=True).exit_code == 0
    assert "G#1" not in counts(site)


def test_no_write_undoes_what_the_application_counted_since_the_look() -> None:
    site = site_of(*wrong())
    joined: list[str] = []
    standing: dict[str, tuple[Any, int]] = {}

    def late(call: Call) -> None:
        if call.operation != "items.write":
            return
        key = call.arguments["write"].key["PK"]["S"]
        if call.moment == "before":
            if key not in joined:
                joined.append(key)
                (found,) = [one for one in site.items if one["PK"] == key and one["SK"] == "META"]
                site.put({**found, "people": int(found.get("people", 0)) + 1}, player(int(key[2:]), "late"))
            standing[key] = counts(site)[key]
        elif counts(site)[key] != standing[key]:
            # The write was taken: whatever it found, it is right.
            counter, number = counts(site)[key]
            assert counter == number

    assert site.runner(late).upgrade(from_base=True).exit_code == 0
    assert len(joined) == GAMES - 1
    assert all(counter == number for counter, number in counts(site).values())
