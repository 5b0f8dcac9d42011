"""The application writes between any two calls of a run: none of its writes is lost, none of its deletions undone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from migrator.core.where import Absent
from migrator.operations import Backfill, DeleteItems, RemoveAttributes, RenameAttribute
from migrator.testing.memory import Call
from tests.simulation.disturb import Tally
from tests.simulation.scenarios import exclaim, summary, upper, with_boss
from tests.simulation.world import Site, chain, migration, person

ONE = 3
"""The item that the application writes to."""

STEPS: dict[str, Callable[[], Any]] = {
    "template": lambda: Backfill(set={"label": "L#{name}"}),
    "journal": lambda: Backfill(set={"label": "L#{name}"}, undo="journal"),
    "function": lambda: Backfill(transform=upper),
    "once": lambda: Backfill(transform=exclaim, once=True),
    "lookup": lambda: Backfill(where={"boss": Absent()}, transform=with_boss),
    "version": lambda: Backfill(transform=summary, version="v"),
    "remove": lambda: RemoveAttributes("team"),
    "rename": lambda: RenameAttribute("name", "title"),
}


def put_read(site: Site) -> None:
    site.put(person(ONE, name="new", v=100))


def update_read(site: Site) -> None:
    site.update(ONE, name="new", v=100)


def update_unrelated(site: Site) -> None:
    site.update(ONE, note="keep", v=100)


def delete(site: Site) -> None:
    site.remove(ONE)


def recreate(site: Site) -> None:
    site.remove(ONE)
    site.put(person(ONE, name="new", note="second life"))


WRITERS = (put_read, update_read, update_unrelated, delete, recreate)


class Between:
    """A hook that lets the application write once, at the nth moment, if its item is there."""

    def __init__(self, site: Site, nth: int, write: Callable[[Site], None]):
        self.site, self.left, self.write = site, nth, write

    def __call__(self, _call: Call) -> None:
        self.left -= 1
        if self.left == -1 and self.site.get(ONE) is not None:
            self.write(self.site)


def _site(step: str) -> Site:
    return Site(chain(migration("001", STEPS[step]()))).with_table(*(person(number) for number in range(6)))


def _moments(step: str) -> int:
    site, tally = _site(step), Tally()
    site.runner(tally).upgrade(from_base=True, yes=True)
    return 2 * len(tally.calls)


def _right(step: str, item: dict[str, Any]) -> bool:
    """Whether the step has done its work on an item, whatever the application made of the rest."""
    match step:
        case "template" | "journal":
            return item["label"] == f"L#{item['name']}"
        case "function":
            return item["upper"] == item["name"].upper()
        case "lookup":
            return item["boss"] == "n0"
        case "remove":
            return "team" not in item
        case "rename":
            return item["title"] == item["name"]
        case "version":
            return item["size"] == len([name for name in item if name not in ("size", "v")])
    return True


def _disturbed(step: str, write: Callable[[Site], None], nth: int) -> None:
    site = _site(step)
    result = site.runner(Between(site, nth, write)).upgrade(from_base=True, yes=True)
    where = f"{step}, {write.__name__} at {nth}"
    found = site.get(ONE)
    if write is delete:
        assert found is None, f"{where}: a ghost"
        assert result.exit_code in (0, 9), where
        return
    assert found is not None, where
    if write is update_unrelated or write is recreate:
        assert found["note"] == ("keep" if write is update_unrelated else "second life"), f"{where}: a lost write"
    if write is not update_unrelated:
        # An append stands on the new name, or the new name stands alone: never the old one.
        assert found["name"] in (("new", "new!") if step == "once" else ("new",)), f"{where}: a lost write"
    assert found["name"].count("!") <= 1, f"{where}: appended twice"
    if result.exit_code in (0, 9):
        # Found right by the second pass; a write after it is the application's own affair, as after the revision.
        others = [site.get(number) for number in range(6) if number != ONE]
        assert all(one is not None and _right(step, one) for one in others), where
        return
    # The second pass saw it: incomplete. The next run ends it.
    assert result.exit_code == 6, where
    if step == "rename":
        # Two names that differ are for a person: here the application's own word is the right one.
        site.update(ONE, title=found["name"])
    assert site.runner().upgrade(from_base=True, yes=True).exit_code in (0, 9), where
    again = site.get(ONE)
    assert again is not None
    assert _right(step, again), where


@pytest.mark.parametrize("write", WRITERS, ids=lambda write: write.__name__)
@pytest.mark.parametrize("step", STEPS)
def test_no_write_of_the_application_is_lost_wherever_it_falls(step: str, write: Callable[[Site], None]) -> None:
    for nth in range(0, _moments(step), 47):
        _disturbed(step, write, nth)


@pytest.mark.deep
@pytest.mark.parametrize("write", WRITERS, ids=lambda write: write.__name__)
@pytest.mark.parametrize("step", STEPS)
def test_no_write_of_the_application_is_lost_at_any_single_moment(step: str, write: Callable[[Site], None]) -> None:
    for nth in range(_moments(step)):
        _disturbed(step, write, nth)


class BeforeItsWrite:
    """A hook that lets the application write just before a run writes its item."""

    def __init__(self, site: Site, write: Callable[[Site], None], times: int = 1):
        self.site, self.write, self.left = site, write, times

    def __call__(self, call: Call) -> None:
        if call.moment != "before" or call.operation not in ("items.write", "items.transact"):
            return
        if call.arguments["write"].key["PK"] == {"S": f"P#{ONE}"} and self.left:
            self.left -= 1
            self.write(self.site)


@pytest.mark.parametrize("step", STEPS)
def test_an_item_deleted_after_the_scan_read_it_is_not_brought_back(step: str) -> None:
    site = _site(step)
    assert site.runner(BeforeItsWrite(site, delete)).upgrade(from_base=True, yes=True).exit_code in (0, 9)
    assert site.get(ONE) is None
    assert site.history["001"].counts.gone == 1


@pytest.mark.parametrize("step", ["template", "journal", "function", "once", "rename"])
def test_a_decision_that_an_update_overtook_is_made_again_from_the_new_item(step: str) -> None:
    site = _site(step)
    assert site.runner(BeforeItsWrite(site, update_read)).upgrade(from_base=True, yes=True).exit_code in (0, 9)
    found = site.get(ONE)
    assert found is not None
    assert _right(step, found)
    assert found["name"] == ("new!" if step == "once" else "new")
    assert site.history["001"].counts.conflicts == 1


def test_an_item_that_changes_under_every_decision_fails_by_name_and_the_others_go_on() -> None:
    site = _site("template")
    moves = iter(range(1000))

    def move(site: Site) -> None:
        site.update(ONE, name=f"moved {next(moves)}")

    result = site.runner(BeforeItsWrite(site, move, times=1000)).upgrade(from_base=True)
    assert result.exit_code == 6
    (failed,) = site.runner().failed_list().items
    assert (failed.code, failed.key["PK"]) == ("guard-lost", {"S": f"P#{ONE}"})
    assert [item.get("label") is not None for item in site.items].count(True) == 5
    assert site.runner().upgrade().state == "applied"


# --- deletions, and their way back ------------------------------------------------------------------------------------


def _deleting() -> Site:
    return Site(chain(migration("001", DeleteItems({"team": "t0"})))).with_table(*(person(n) for n in range(6)))


def test_what_the_application_deleted_itself_does_not_come_back_with_what_the_step_deleted() -> None:
    site = _deleting()
    assert site.runner(BeforeItsWrite(site, delete)).upgrade(from_base=True, yes=True).exit_code == 0
    assert site.runner().downgrade("base").exit_code == 0
    assert site.get(0) == person(0)
    assert site.get(ONE) is None, "the application deleted it, not the step"


def test_an_item_that_stops_being_selected_is_neither_deleted_nor_kept_in_the_journal() -> None:
    site = _deleting()
    result = site.runner(BeforeItsWrite(site, lambda site: site.update(ONE, team="t9"))).upgrade(
        from_base=True, yes=True
    )
    assert result.exit_code == 0
    site.remove(ONE)
    site.runner().downgrade("base")
    assert site.get(ONE) is None


def test_what_comes_back_is_what_was_deleted_not_what_the_scan_had_read() -> None:
    site = _deleting()
    site.runner(BeforeItsWrite(site, lambda site: site.update(ONE, name="late"))).upgrade(from_base=True, yes=True)
    site.runner().downgrade("base")
    assert site.get(ONE) == person(ONE, name="late")
