"""The way back of data steps: what the step did goes, what the application did since stays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from migrator.core.change import Refused
from migrator.errors import AnswerLost
from migrator.operations import Backfill, DeleteItems, PutItems, RemoveAttributes, RunPython
from migrator.testing.memory import Answer, Call, Crash, Once, raising
from tests.simulation.scenarios import SEEDS, exclaim, mark_all
from tests.simulation.world import Site, chain, migration, person

PEOPLE = tuple(person(number) for number in range(6))


def applied(*operations: Any, people: tuple[Mapping[str, Any], ...] = PEOPLE) -> Site:
    site = Site(chain(migration("001", *operations))).with_table(*people)
    assert site.runner().upgrade(from_base=True, yes=True).exit_code == 0
    return site


def test_attributes_that_no_item_had_before_are_removed_again() -> None:
    site = applied(Backfill(set={"label": "L#{name}"}))
    assert site.runner().downgrade("base").state == "downgraded"
    assert site.items == list(PEOPLE)


def test_where_an_item_held_the_attribute_before_there_is_no_way_back_without_a_journal() -> None:
    site = applied(Backfill(set={"label": "L#{name}"}), people=(*PEOPLE, person(7, label="mine")))
    before = site.items
    result = site.runner().downgrade("base")
    assert result.exit_code == 1
    assert "[not-undoable]" in result.outcomes[-1].error
    assert site.items == before


def test_with_a_journal_what_an_item_held_before_comes_back_type_and_all() -> None:
    site = applied(
        Backfill(set={"label": "L#{name}"}, undo="journal"), people=(*PEOPLE, person(7, label=[1, {"a": 2}]))
    )
    assert site.runner().downgrade("base").exit_code == 0
    assert site.get(7) == person(7, label=[1, {"a": 2}])
    assert site.get(1) == person(1)


@pytest.mark.parametrize("undo", ["auto", "journal"])
def test_a_value_that_the_application_changed_since_survives_the_way_back(undo: Any) -> None:
    site = applied(Backfill(set={"label": "L#{name}"}, undo=undo))
    site.update(2, label="the user's own")
    site.update(3, note="unrelated")
    assert site.runner().downgrade("base").exit_code == 0
    assert site.get(2) == person(2, label="the user's own")
    assert site.get(3) == person(3, note="unrelated")


@pytest.mark.parametrize("undo", ["auto", "journal"])
def test_an_item_deleted_since_is_not_brought_back_by_the_way_back(undo: Any) -> None:
    site = applied(Backfill(set={"label": "L#{name}"}, undo=undo))
    site.remove(2)
    assert site.runner().downgrade("base").exit_code == 0
    assert site.get(2) is None


def test_a_journal_written_twice_keeps_what_was_before_the_first_write() -> None:
    """The revision ended incomplete, the application changed what the template reads, and it ran again."""
    step = Backfill(set={"label": "L#{name}"}, undo="journal")
    site = Site(chain(migration("001", step, Backfill(set={"x": "{nick}"})))).with_table(person(1, label="mine"))
    assert site.runner().upgrade(from_base=True).exit_code == 6
    assert site.runner().rollback("001").exit_code == 0
    assert site.get(1) == person(1, label="mine")


def test_an_append_is_taken_back_once() -> None:
    site = applied(Backfill(transform=exclaim, once=True))
    site.update(3, name="renamed")
    assert site.runner().downgrade("base").exit_code == 0
    assert [item["name"] for item in site.items] == ["n0", "n1", "n2", "renamed", "n4", "n5"]


def test_removed_attributes_come_back_unless_the_application_set_them_anew() -> None:
    site = applied(RemoveAttributes("team"))
    site.update(2, team="new")
    assert site.runner().downgrade("base").exit_code == 0
    assert [item["team"] for item in site.items] == ["t0", "t1", "new", "t0", "t1", "t2"]


def test_put_items_go_again_unless_the_application_changed_them() -> None:
    site = applied(PutItems(SEEDS), people=())
    changed = {**SEEDS[1], "name": "edited"}
    site.put(changed)
    assert site.runner().downgrade("base").exit_code == 0
    assert site.items == [changed]


def test_an_item_that_the_application_enriches_while_it_is_taken_away_is_put_back() -> None:
    site = applied(PutItems(SEEDS[:1]), people=())
    enriched = {**SEEDS[0], "note": "just now"}
    hook = Once("items.write", lambda: site.put(enriched))
    assert site.runner(hook).downgrade("base").exit_code == 0
    assert site.items == [enriched]


def test_an_equal_item_that_stood_there_before_is_not_ours_to_take_away() -> None:
    site = Site(chain(migration("001", PutItems(SEEDS)))).with_table(SEEDS[0])
    site.runner().upgrade(from_base=True)
    site.runner().downgrade("base")
    assert site.items == [SEEDS[0]]


def test_a_put_item_that_the_application_changed_before_a_resume_is_no_failure() -> None:
    site = Site(chain(migration("001", PutItems(SEEDS)))).with_table()
    with pytest.raises(Crash):
        site.runner(Once("items.transact", raising(Crash("killed")), "after", nth=1)).upgrade(from_base=True)
    changed = {**SEEDS[0], "name": "edited"}
    site.put(changed)
    assert site.runner().upgrade().state == "applied"
    assert changed in site.items


def test_an_item_brought_back_and_deleted_again_during_an_interrupted_way_back_stays_deleted() -> None:
    site = applied(DeleteItems({"team": "t0"}))
    back: list[int] = []

    def die(call: Call) -> None:
        if call.moment == "after" and call.operation == "items.transact":
            back.append(1)
        if len(back) == 2:
            raise Crash("killed")

    with pytest.raises(Crash):
        site.runner(die).downgrade("base")
    for number in (0, 3):
        site.remove(number)
    assert site.runner().downgrade("base").exit_code == 0
    assert [item["PK"] for item in site.items if item["team"] == "t0"] == []


@pytest.mark.parametrize("undo", ["auto", "journal"])
def test_what_could_not_be_taken_back_keeps_the_way_back_incomplete_and_is_tried_again(undo: Any) -> None:
    site = applied(Backfill(set={"label": "L#{name}"}, undo=undo))

    def refuse(call: Call) -> None:
        is_write = call.moment == "before" and call.operation in ("items.write", "items.transact")
        if is_write and call.arguments["write"].key["PK"] == {"S": "P#3"}:
            raise Answer(Refused("ValidationException", "no"))

    result = site.runner(refuse).downgrade("base")
    assert (result.state, result.exit_code) == ("incomplete", 6)
    assert any("P#3" in example for example in result.outcomes[-1].examples)
    assert site.get(3) == person(3, label="L#n3")
    assert site.runner().downgrade("base").state == "downgraded"
    assert site.items == list(PEOPLE)
    assert site.kept("failures#") == site.kept("journal") == []


def test_a_function_without_a_way_back_that_was_interrupted_cannot_be_rolled_back() -> None:
    site = Site(chain(migration("001", RunPython(mark_all)))).with_table(*PEOPLE)
    with pytest.raises(Crash):
        site.runner(Once("items.write", raising(Crash("killed")), "after", nth=2)).upgrade(from_base=True)
    with pytest.raises(Exception, match="no way back"):
        site.runner().rollback("001")


def test_a_revision_taken_back_can_be_applied_again_from_its_beginning() -> None:
    site = applied(Backfill(set={"label": "L#{name}"}))
    site.runner().downgrade("base")
    site.put(person(50))
    assert site.runner().upgrade().state == "applied"
    assert all(item["label"] == f"L#{item['name']}" for item in site.items)


def test_a_crash_while_a_way_back_is_recorded_does_not_make_the_next_upgrade_skip_its_work() -> None:
    """Checkpoints that outlive a rolled-back revision would say that all segments are done already."""
    site = applied(Backfill(set={"label": "L#{name}"}))

    def die(call: Call) -> None:
        for action in call.arguments.get("actions", ()):
            record = getattr(action, "record", None)
            if call.moment == "after" and record is not None and record.body.get("status") == "rolled-back":
                raise Crash("killed")

    with pytest.raises(Crash):
        site.runner(die).downgrade("base")
    assert site.kept("checkpoints") == []
    site.world.clock.advance(120)
    assert site.runner().upgrade().state == "applied"
    assert all("label" in item for item in site.items)


def test_an_item_that_came_back_by_a_lost_answer_and_was_deleted_since_is_not_brought_back_again() -> None:
    site = applied(DeleteItems({"team": "t0"}))

    def lose(call: Call) -> None:
        if call.moment == "after" and call.operation == "items.transact" and site.get(0) is not None:
            site.remove(0)
            raise AnswerLost("no answer")

    assert site.runner(lose).downgrade("base").state == "downgraded"
    assert site.get(0) is None
    assert site.get(3) == person(3)
