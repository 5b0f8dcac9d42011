"""Attributes that move to a sibling: nothing that only one of both holds is lost, whoever wrote it and when."""

from __future__ import annotations

from typing import Any

import pytest

from migrator.control.phases import PhaseRecord
from migrator.core.rewrite.phases import RULES
from migrator.core.rewrite.record import from_json
from migrator.core.where import Exists
from migrator.operations import SplitItem
from migrator.runtime.reader import Stance
from migrator.testing.clock import VirtualClock
from tests.simulation.world import Site, chain, migration, person, wire

SPLIT = SplitItem(["bio", "photo"], key={"SK": "{SK}#detail"}, where={"team": Exists()})
PEOPLE = tuple(person(number, bio=f"bio {number}", photo=number) for number in range(4))


def ready() -> Site:
    site = Site(chain(migration("001", SPLIT))).with_table(*PEOPLE, {"PK": "X", "SK": "other", "bio": "of nobody"})
    assert site.runner().upgrade(from_base=True).exit_code == 9
    result = site.runner().upgrade(app_ready=True)
    assert result.exit_code == 9, result
    return site


def contract(site: Site) -> Any:
    return site.runner().contract("001", yes=True)


def item(site: Site, number: int, sort: str = "person") -> dict[str, Any] | None:
    return next((one for one in site.items if (one["PK"], one["SK"]) == (f"P#{number}", sort)), None)


def sibling(site: Site, number: int) -> dict[str, Any]:
    found = item(site, number, "person#detail")
    assert found is not None
    return {name: value for name, value in found.items() if not name.startswith("__")}


def written_there(site: Site, number: int, **values: Any) -> None:
    """As a writer of the last kind does: the sibling gets the values, the item loses them, at one moment."""
    site.put({**(item(site, number, "person#detail") or {}), **values})
    found = item(site, number)
    assert found is not None
    site.put({name: value for name, value in found.items() if name not in values})


def test_the_attributes_go_to_siblings_and_leave_the_items_at_contract() -> None:
    site = ready()
    assert [item(site, n) for n in range(4)] == list(PEOPLE)
    for number in range(4):
        wanted = {"PK": f"P#{number}", "SK": "person#detail", "bio": f"bio {number}", "photo": number}
        assert sibling(site, number) == wanted
    assert contract(site).exit_code == 0
    assert [item(site, n) for n in range(4)] == [person(n) for n in range(4)]
    assert [item(site, n, "person#detail") for n in range(4)] == [sibling(site, n) for n in range(4)]
    assert item(site, 0, "person#detail") == sibling(site, 0)  # no mark is left
    assert {"PK": "X", "SK": "other", "bio": "of nobody"} in site.items


def test_what_is_written_to_the_sibling_alone_stays_as_it_is_through_contract() -> None:
    site = ready()
    written_there(site, 1, bio="new")
    assert contract(site).exit_code == 0
    assert sibling(site, 1) == {"PK": "P#1", "SK": "person#detail", "bio": "new", "photo": 1}
    assert item(site, 1) == person(1)


def test_what_differs_at_contract_is_kept_in_both_and_listed_and_goes_once_it_is_right() -> None:
    site = ready()
    site.update(2, bio="late")
    result = contract(site)
    assert result.exit_code == 6
    assert 'PK="P#2"' in result.outcomes[-1].examples[0]
    assert "bio differ" in result.outcomes[-1].examples[0]
    assert (item(site, 2) or {})["bio"] == "late"
    assert sibling(site, 2)["bio"] == "bio 2"
    assert item(site, 1) == person(1)
    written_there(site, 2, bio="late")
    assert contract(site).exit_code == 0
    assert (item(site, 2), sibling(site, 2)["bio"]) == (person(2), "late")


def test_an_item_without_its_sibling_keeps_what_it_has() -> None:
    site = ready()
    site.world.items.remove("test-app", wire({"PK": "P#3", "SK": "person#detail"}))
    assert contract(site).exit_code == 6
    assert item(site, 3) == PEOPLE[3]


def test_a_sibling_that_is_written_between_the_look_and_the_removal_is_checked() -> None:
    site = ready()

    def late(call: Any) -> None:
        # The item would lose a value that its sibling does not hold any more.
        if call.operation == "items.together" and call.moment == "before" and sibling(site, 0)["bio"] == "bio 0":
            site.put({**sibling(site, 0), "bio": "other"})

    result = site.runner(late).contract("001", yes=True)
    assert result.exit_code == 6
    assert (item(site, 0) or {})["bio"] == "bio 0"
    assert sibling(site, 0)["bio"] == "other"


def test_a_rollback_removes_the_siblings_but_one_that_holds_what_its_item_lacks() -> None:
    site = ready()
    written_there(site, 1, bio="new")
    result = site.runner().rollback("001")
    assert result.exit_code == 6
    assert "sibling" in result.outcomes[-1].examples[0]
    assert sibling(site, 1)["bio"] == "new"
    assert item(site, 0, "person#detail") is None
    site.update(1, bio="new")
    assert site.runner().rollback("001").exit_code == 0
    assert [item(site, n, "person#detail") for n in range(4)] == [None] * 4
    assert (item(site, 1) or {})["bio"] == "new"


def test_a_repair_takes_nothing_from_a_sibling_that_its_item_lacks() -> None:
    site = ready()
    written_there(site, 1, bio="new")
    site.update(2, bio="late")
    result = site.runner().verify("001", repair=True)
    assert result.exit_code == 6
    assert sibling(site, 1)["bio"] == "new"
    assert sibling(site, 2)["bio"] == "late"


@pytest.mark.parametrize(("phase", "rules"), [("expand", "expand"), ("dual-write", "dual-write"), ("done", "expand")])
def test_the_runtime_writes_no_sibling_any_more_once_items_lose_what_it_holds(phase: Any, rules: Any) -> None:
    site = ready()
    (record,) = [PhaseRecord.of(one) for one in site.kept("phase#") if one.address.sort == "phase"]
    rewrite = from_json(record.rewrite, lambda _name: len)
    assert Stance(phase, 1, rewrite, VirtualClock(), 1e9).rules == RULES[rules]
