"""Cases drawn from public reports, and rewrites of other shapes: marks, several sources, twins that stay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from migrator.core.events import Waiting
from migrator.core.rewrite.route import MARK
from migrator.core.schema import Index, KeyAttribute
from migrator.core.settings import TimeToLive
from migrator.core.where import BeginsWith
from migrator.errors import MigratorError
from migrator.operations import ClaimUnique, CopyTable, RewriteKeys
from migrator.testing.memory import Call
from tests.engine.rewriting.house import NEW, OLD, App, House, log, rewrite_prefix, rewrite_state
from tests.simulation.world import SHAPE, plain, quick_world, wire

REWRITES = {"another-table": rewrite_state, "one-table": rewrite_prefix}
LOGS = tuple(log(number) for number in range(6))
ONE = LOGS[2]
each_rewrite = pytest.mark.parametrize("rewrite", REWRITES)


def test_items_written_during_the_copy_by_a_client_that_knows_nothing_are_named_and_hold_up_the_cutover() -> None:
    """write-during-copy"""
    items = tuple(log(number) for number in range(200))
    house = House.of(rewrite_state(), *items, world=quick_world(page_bytes=3000), segments=4).prepared()
    writes = iter(range(10**6))

    def client(call: Call) -> None:
        if call.operation == "items.together" and call.moment == "after" and next(writes) == 15:
            house.put({**log(900), "name": "X"})
            house.put({**items[7], "name": "Y"})
            house.put({**items[8], "name": "Y"})

    # What was copied before it was written differs; what was copied after is as it then was.
    result = house.runner(client).upgrade(app_ready=True)
    apart = {item["PK"] for item in house.old if house.twins(item)[0] not in house.new}
    assert apart
    assert result.exit_code == 6
    assert {text.split('"')[1] for text in result.outcomes[-1].examples} == apart
    with pytest.raises(MigratorError) as caught:
        house.runner().cutover(None)
    assert caught.value.code == "unfinished-revision"
    assert house.runner().verify(None, repair=True).exit_code == 0
    assert house.runner().upgrade(app_ready=True).exit_code == 9
    assert house.new == house.twins(*house.old)
    assert house.runner().cutover(None).exit_code == 9


@each_rewrite
def test_an_item_deleted_between_scan_and_write_is_absent_on_both_sides(rewrite: str) -> None:
    """delete-during-copy"""
    house = House.of(REWRITES[rewrite](), *LOGS).prepared()
    deleted = [ONE]

    def delete(call: Call) -> None:
        writes = call.arguments.get("writes", ()) if call.operation == "items.together" else ()
        if call.moment == "before" and deleted and any(ONE["SK"] in str(write.key) for _, write in writes):
            house.app("dual-write").delete(deleted.pop())

    assert house.runner(delete).upgrade(app_ready=True).exit_code == 9
    assert not deleted
    left = [item for item in LOGS if item is not ONE]
    assert (house.old, house.new) == (left, house.twins(*left))


@each_rewrite
@pytest.mark.parametrize("phase", ["dual-write", "expand"])
def test_a_copy_that_read_a_stale_item_does_not_bring_it_back(rewrite: str, phase: Any) -> None:
    """stale-copy: the application writes v2, on both sides or on the old one alone; the twin is v2 at the end."""
    house = House.of(REWRITES[rewrite](), *LOGS).prepared()
    written = [ONE]

    def write(call: Call) -> None:
        writes = call.arguments.get("writes", ()) if call.operation == "items.together" else ()
        if call.moment == "before" and written and any(ONE["SK"] in str(write.key) for _, write in writes):
            App(house, phase).update(written.pop(), name="v2")

    assert house.runner(write).upgrade(app_ready=True).exit_code == 9
    assert not written
    wanted = [{**item, "name": "v2"} if item is ONE else item for item in LOGS]
    assert (house.old, house.new) == (wanted, house.twins(*wanted))


@each_rewrite
@pytest.mark.parametrize("late", ["delete", "move"])
def test_a_twin_whose_item_a_late_instance_took_away_while_dual_write_was_entered_goes_with_the_copy(
    rewrite: str, late: str
) -> None:
    """One instance knows of dual-write already and puts both; another, still in expand, deletes or moves the item."""
    house = House.of(REWRITES[rewrite](), *LOGS).prepared()

    def both_at_work() -> None:
        house.app("dual-write").put(log(9))
        if late == "delete":
            App(house, "expand").delete(log(9))
        else:
            App(house, "expand").update(log(9), state="elsewhere")

    is_entered: list[bool] = []

    def entered(call: Call) -> None:
        if call.moment == "after" and not is_entered and house.kept("phase#") and house.record.phase == "dual-write":
            is_entered.append(not house.record.is_settled)
            both_at_work()

    assert house.runner(entered).upgrade(app_ready=True).exit_code == 9
    assert is_entered == [True]
    wanted = [*LOGS, *([{**log(9), "state": "elsewhere"}] if late == "move" else [])]
    assert (house.old, house.new) == (wanted, house.twins(*wanted))
    assert [one.address.partition for one in house.kept("checkpoints")] == []


@each_rewrite
@pytest.mark.parametrize("phase", ["cutover", "done"])
def test_a_way_back_after_cutover_keeps_what_was_written_since(rewrite: str, phase: Any) -> None:
    """rollback-after-cutover: also what was written to the new side alone."""
    house = House.of(REWRITES[rewrite](), *LOGS).cut_over()
    app = App(house, phase)
    app.put(log(9))
    app.update(LOGS[0], name="updated")
    app.update(LOGS[3], state="moved")
    app.delete(LOGS[1])
    assert house.runner().rollback(None).exit_code == 0
    wanted = [{**LOGS[0], "name": "updated"}, LOGS[2], {**LOGS[3], "state": "moved"}, *LOGS[4:], log(9)]
    assert (house.old, house.new) == (wanted, [])


@each_rewrite
def test_no_table_is_ever_deleted(rewrite: str) -> None:
    """never-delete-table"""
    asked: list[str] = []
    house = House.of(REWRITES[rewrite](), *LOGS)
    note = [lambda call: asked.append(call.operation)]
    house.prepared(*note)
    house.runner(*note).upgrade(app_ready=True)
    house.runner(*note).cutover(None)
    house.runner(*note).contract(None, yes=True)
    assert not [one for one in asked if one.startswith(("tables.delete", "tables.drop"))]
    assert all(house.world.tables.as_another().describe(table) is not None for table in (OLD, NEW))


# --- verification -----------------------------------------------------------------------------------------------------


def test_numbers_compare_by_value_sets_by_content_and_types_exactly() -> None:
    house = House.of(rewrite_state(), log(1, n=15, tags={"a", "b"}), log(2)).copied()
    twin = house.twin(wire(log(1)))
    same = {**twin, "n": {"N": "15.0"}, "tags": {"SS": ["b", "a"]}}
    house.world.items.put(NEW, same)
    assert house.runner().verify(None).exit_code == 0
    house.world.items.put(NEW, {**same, "n": {"S": "15"}})
    assert house.runner().verify(None).exit_code == 6


def test_a_clean_comparison_is_of_its_generation_and_is_void_after_any_change_of_phase() -> None:
    house = House.of(rewrite_state(), *LOGS).copied()
    verified = house.record.verified
    assert verified is not None
    assert (verified.generation, verified.pairs) == (house.record.generation, len(LOGS))
    assert house.runner().cutover(None).exit_code == 9
    assert house.record.verified is None


def test_a_cutover_compares_anew_what_was_compared_too_long_ago() -> None:
    house = House.of(rewrite_state(), *LOGS).copied()
    generation = house.record.generation

    def die(call: Call) -> None:
        # The comparison of the cutover is done; the change of phase is not.
        if call.operation == "records.write" and house.history["001"].steps.get("0.cutover.0", {}).get("done"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        house.runner(die).cutover(None)
    assert house.record.generation == generation
    house.world.clock.advance(2 * 3600)
    house.put(log(7))
    assert house.runner().cutover(None).exit_code == 6
    assert house.record.phase == "dual-write"


def test_what_time_to_live_took_from_one_side_is_no_difference() -> None:
    house = House.of(rewrite_state(), *LOGS, log(7, until=2**31), log(8, until=1)).copied()
    for table in (OLD, NEW):
        house.world.tables.as_another().change_setting(table, TimeToLive("until"))
    house.world.items.remove(OLD, wire({"PK": "P#8", "SK": "day8"}))
    assert house.runner().verify(None).exit_code == 0
    house.world.items.remove(OLD, wire({"PK": "P#7", "SK": "day7"}))
    assert house.runner().verify(None).exit_code == 6


# --- other shapes -----------------------------------------------------------------------------------------------------


def lower(item: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"PK": item["PK"].lower()}


def test_twins_whose_keys_do_not_tell_their_source_carry_a_mark_until_contract() -> None:
    items = tuple({**log(number), "PK": f"P#Name{number}"} for number in range(4))
    house = House.of(RewriteKeys(where={"PK": BeginsWith("P#")}, key=lower, to="new"), *items).cut_over()
    assert all(MARK in item for item in house.new)
    assert house.runner().contract(None, yes=True).exit_code == 0
    assert house.old == []
    found = [plain(item) for item in house.world.items.all(NEW)]
    assert sorted(item["PK"] for item in found) == [f"p#name{number}" for number in range(4)]
    assert not any(MARK in item for item in found)


def test_a_marked_rewrite_goes_back_too() -> None:
    items = tuple({**log(number), "PK": f"P#Name{number}"} for number in range(4))
    house = House.of(RewriteKeys(where={"PK": BeginsWith("P#")}, key=lower, to="new"), *items).copied()
    assert house.runner().rollback(None).exit_code == 0
    assert (house.items, house.world.items.all(NEW)) == (sorted(items, key=lambda one: one["PK"]), [])


def _merging() -> House:
    operation = CopyTable(
        ("app", "b"), "new", key={"PK": "{kind}#{PK}", "SK": "{SK}"}, partition_key="PK", sort_key="SK"
    )
    house = House.of(operation)
    house.tables = {"app": OLD, "b": "test-b", "new": NEW}
    house.world.tables.add("test-b", SHAPE)
    house.put(*(log(number, kind="a") for number in range(4)))
    house.world.items.put("test-b", *(wire(log(number, kind="b")) for number in range(4)))
    return house


def test_several_tables_merge_into_one_though_their_keys_are_alike() -> None:
    house = _merging().cut_over()
    assert sorted(item["PK"] for item in house.new) == sorted(f"{kind}#P#{n}" for kind in "ab" for n in range(4))
    assert house.runner().contract(None, yes=True).exit_code == 0
    assert (house.world.items.all("test-b"), len(house.world.items.all(NEW))) == ([], 8)
    assert house.kept("checkpoints") == []


def test_items_of_two_sources_that_come_to_one_key_are_a_collision_that_names_both() -> None:
    house = _merging()
    house.world.items.put("test-b", wire(log(0, kind="a")))
    result = house.runner().upgrade(from_base=True)
    assert result.exit_code == 6
    texts = [text for text in result.outcomes[-1].examples if text.startswith("key-collision")]
    assert len(texts) == 1
    assert "app" in texts[0]
    assert "b PK" in texts[0]


def test_claims_are_made_kept_and_stay_when_the_rewrite_ends() -> None:
    operation = ClaimUnique(key={"PK": "EMAIL#{email}", "SK": "claim"}, where={"PK": BeginsWith("P#")})
    items = tuple(log(number, email=f"e{number}") for number in range(4))
    house = House.of(operation, *items)
    assert house.runner().upgrade(from_base=True).exit_code == 9
    assert house.runner().upgrade(app_ready=True).exit_code == 9
    claims = [item for item in house.items if item["PK"].startswith("EMAIL#")]
    assert [item["PK"] for item in claims] == [f"EMAIL#e{number}" for number in range(4)]
    assert house.runner().contract(None, yes=True).exit_code == 0
    assert [item for item in house.items if item["PK"].startswith("EMAIL#")] == claims
    assert house.record.phase == "done"


def test_duplicates_are_listed_before_a_claim_is_made() -> None:
    operation = ClaimUnique(key={"PK": "EMAIL#{email}", "SK": "claim"}, where={"PK": BeginsWith("P#")})
    house = House.of(operation, log(1, email="x"), log(2, email="x"), log(3, email="y"))
    result = house.runner().upgrade(from_base=True)
    assert result.exit_code == 6
    (example,) = result.outcomes[-1].examples
    assert "P#1" in example
    assert "P#2" in example


# --- writers that are stopped -----------------------------------------------------------------------------------------


def test_while_the_application_is_stopped_nobody_is_waited_for_unless_an_instance_reported_itself() -> None:
    house = House.of(rewrite_state(application="stopped"), *LOGS)
    began = house.world.clock.true_seconds
    house.cut_over()
    assert house.world.clock.true_seconds - began < house.record.wait_seconds
    assert house.record.is_settled
    assert not [event for event in house.events if isinstance(event, Waiting) and "instance" in event.reason]


# --- indexes ----------------------------------------------------------------------------------------------------------


def _indexed() -> House:
    house = House.of(rewrite_state(), *(log(number) for number in range(6)), {"PK": "P#7", "SK": "day7", "state": "s1"})
    house.world.tables.drop(NEW)
    by_name = Index("by-name", (KeyAttribute("name"),))
    house.world.tables.add(NEW, replace(SHAPE, indexes={"by-name": by_name}))
    return house


class Behind:
    """A hook that makes the entries of an index differ from its table, for so many scans."""

    def __init__(self, house: House, times: int):
        self.house, self.left = house, times

    def __call__(self, call: Call) -> None:
        if call.operation != "items.scan_index" or not self.left:
            return
        item = self.house.twin(wire(ONE))
        if call.moment == "before":
            self.house.world.items.remove(NEW, item)
        else:
            self.left -= 1
            self.house.world.items.put(NEW, item)


def test_the_indexes_of_the_new_side_are_compared_with_its_items() -> None:
    house = _indexed().copied()
    assert house.runner(Behind(house, 2)).verify(None).exit_code == 0, "it only followed a little later"
    result = house.runner(Behind(house, 10**6)).verify(None)
    assert result.exit_code == 6
    (example,) = result.outcomes[-1].examples
    assert "by-name" in example
    assert '"P#2"' in example
