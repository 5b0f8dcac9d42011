"""Writers that know no phase, or the wrong one for longer than a lease: found, named, and never written over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from migrator.core.rewrite.phases import Phase
from migrator.runner.results import RunResult
from tests.engine.rewriting.house import OLD, App, House, log, rewrite_prefix, rewrite_state
from tests.simulation.world import wire

REWRITES = {"another-table": rewrite_state, "one-table": rewrite_prefix}
LOGS = tuple(log(number) for number in range(5))
ONE = LOGS[2]


@pytest.fixture(params=REWRITES)
def house(request: pytest.FixtureRequest) -> House:
    return House.of(REWRITES[request.param](), *LOGS)


def put_new(app: App) -> None:
    app.put(log(9))


def put_over(app: App) -> None:
    app.put({**ONE, "name": "over"})


def update(app: App) -> None:
    app.update(ONE, name="late")


def move(app: App) -> None:
    app.update(ONE, state="moved")


def delete(app: App) -> None:
    app.delete(ONE)


WRITES = (put_new, put_over, update, move, delete)
each_write = pytest.mark.parametrize("write", WRITES, ids=lambda write: write.__name__)


def named(result: RunResult, house: House, number: int) -> bool:
    """Whether the result says of the item which it is, by its old or its new key."""
    names = (f'"P#{number}"', f'"PERSON#{number}"')
    return any(name in text for text in result.outcomes[-1].examples for name in names)


def is_deletion_of_one(call: Any) -> bool:
    writes = call.arguments["writes"] if call.operation == "items.together" else ()
    return call.moment == "before" and any(write.key["SK"]["S"] == ONE["SK"] for _, write in writes)


def concerns(write: Callable[[App], None]) -> int:
    return 9 if write is put_new else 2


@each_write
def test_a_laggard_that_writes_the_old_side_alone_in_dual_write_stops_the_cutover_until_the_twin_follows(
    house: House, write: Callable[[App], None]
) -> None:
    house.copied()
    write(house.app("expand"))
    wanted = house.old
    result = house.runner().cutover(None)
    assert (result.exit_code, house.record.phase) == (6, "dual-write")
    assert named(result, house, concerns(write))
    assert house.record.strays == 1
    assert house.old == wanted
    assert house.runner().verify(None, repair=True).exit_code == 0
    assert (house.old, house.new) == (wanted, house.twins(*wanted))
    assert house.runner().cutover(None).exit_code == 9


@each_write
def test_a_laggard_that_writes_the_old_side_alone_in_cutover_stops_the_contract_and_never_changes_the_new_side(
    house: House, write: Callable[[App], None]
) -> None:
    house.cut_over()
    write(house.app("expand"))
    wanted = house.new
    result = house.runner().contract(None, yes=True)
    assert (result.exit_code, house.record.phase) == (6, "cutover")
    assert named(result, house, concerns(write))
    assert house.runner().verify(None, repair=True).exit_code == 0
    assert (house.old, house.new) == (list(LOGS), wanted)
    assert house.runner().contract(None, yes=True).exit_code == 0
    assert (house.old, house.new) == ([], wanted)


@each_write
def test_an_instance_that_writes_the_new_side_alone_in_dual_write_is_found_and_the_old_side_decides(
    house: House, write: Callable[[App], None]
) -> None:
    house.copied()
    write(house.app("done"))
    result = house.runner().cutover(None)
    assert (result.exit_code, house.record.phase) == (6, "dual-write")
    assert named(result, house, concerns(write))
    assert house.runner().verify(None, repair=True).exit_code == 0
    assert (house.old, house.new) == (list(LOGS), house.twins(*LOGS))


@pytest.mark.parametrize("write", [put_new, put_over, update, move], ids=lambda write: write.__name__)
def test_a_stray_write_to_the_old_side_in_contract_is_kept_and_reported_and_the_others_go(
    house: House, write: Callable[[App], None]
) -> None:
    house.cut_over()
    wanted = house.new

    def stray(call: Any) -> None:
        if call.operation == "items.scan" and house.record.phase == "contract" and strays:
            strays.pop()(house.app("expand"))

    strays = [write]
    result = house.runner(stray).contract(None, yes=True)
    assert (result.exit_code, house.record.phase) == (6, "contract")
    assert named(result, house, concerns(write))
    (kept,) = house.old
    assert house.new == wanted
    assert (kept["PK"], kept["name"], kept["state"]) == {
        put_new: ("P#9", "n9", "s0"),
        put_over: ("P#2", "over", "s2"),
        update: ("P#2", "late", "s2"),
        move: ("P#2", "n2", "moved"),
    }[write]
    assert {one.code for one in house.runner().failed_list().items} == {"stray"}
    # The operator brings over by hand what it wrote, and the same command ends it.
    house.world.items.remove(OLD, wire({"PK": kept["PK"], "SK": kept["SK"]}))
    assert house.runner().contract(None, yes=True).exit_code == 0
    assert (house.old, house.new, house.record.phase) == ([], wanted, "done")


def test_an_operator_may_leave_a_stray_where_it_is(house: House) -> None:
    house.cut_over()
    strays = [put_new]

    def stray(call: Any) -> None:
        if call.operation == "items.scan" and house.record.phase == "contract" and strays:
            strays.pop()(house.app("expand"))

    assert house.runner(stray).contract(None, yes=True).exit_code == 6
    house.runner().failed_skip("001", [], "a test wrote it")
    assert house.runner().contract(None, yes=True).exit_code == 0
    assert house.old == [log(9)]


@pytest.mark.parametrize("phase", ["expand", "done"])
def test_a_one_sided_write_while_items_are_copied_is_found_before_the_gate(house: House, phase: Phase) -> None:
    house.prepared()
    late = [update]

    def stray(call: Any) -> None:
        copied = house.twins(ONE)[0]
        stands = house.world.items.as_another().get(house.route.target, wire(copied))
        if house.record.phase == "dual-write" and stands is not None and call.moment == "after" and late:
            late.pop()(house.app(phase))

    result = house.runner(stray).upgrade(app_ready=True)
    assert result.exit_code == 6
    assert named(result, house, 2)
    assert house.runner().verify(None, repair=True).exit_code == 0
    assert house.runner().upgrade(app_ready=True).exit_code == 9
    assert house.new == house.twins(*house.old)


@pytest.mark.parametrize("write", [put_over, update, move], ids=lambda write: write.__name__)
def test_a_stray_between_reading_and_deleting_an_old_item_keeps_it(house: House, write: Callable[[App], None]) -> None:
    house.cut_over()
    strays = [write]

    def stray(call: Any) -> None:
        if is_deletion_of_one(call) and house.record.phase == "contract" and strays:
            strays.pop()(house.app("expand"))

    assert house.runner(stray).contract(None, yes=True).exit_code == 6
    (kept,) = house.old
    assert kept["PK"] == ONE["PK"]
    assert kept != ONE


def test_an_old_item_whose_new_one_is_changed_alone_between_reading_and_deleting_is_not_what_was_compared(
    house: House,
) -> None:
    house.cut_over()
    strays = [update]

    def stray(call: Any) -> None:
        if is_deletion_of_one(call) and house.record.phase == "contract" and strays:
            strays.pop()(house.app("done"))

    assert house.runner(stray).contract(None, yes=True).exit_code == 6
    assert house.old == [ONE]


def test_a_way_back_takes_no_item_of_the_new_side_that_is_no_twin(house: House) -> None:
    house.copied()
    other = wire({"PK": "other", "SK": "no twin", "name": "kept"})
    house.world.items.put(house.route.target, other)
    assert house.runner().rollback(None).exit_code == 0
    assert other in house.world.items.all(house.route.target)


def test_a_twin_that_changes_between_reading_and_removing_is_read_again(house: House) -> None:
    house.copied()
    late = [ONE]

    def write(call: Any) -> None:
        is_removal = call.operation == "items.together" and call.moment == "before"
        if is_removal and house.record.phase == "expand" and late:
            house.app("expand").delete(late.pop())

    assert house.runner(write).rollback(None).exit_code == 0
    assert (house.old, house.new) == ([item for item in LOGS if item is not ONE], [])


def test_a_repair_that_the_application_overtakes_is_decided_again() -> None:
    house = House.of(rewrite_state(), *LOGS).copied()
    house.app("expand").update(ONE, name="one side")
    late = [ONE]

    def write(call: Any) -> None:
        if call.operation == "items.together" and call.moment == "before" and late:
            # The twin alone, back and forth: the old side, which decides, is as it was read.
            twin = house.twins({**ONE, "name": "by another"})[0]
            late.clear()
            house.world.items.put(house.route.target, wire(twin))

    result = house.runner(write).verify(None, repair=True)
    assert result.exit_code == 0
    assert result.outcomes[-1].counts.conflicts == 1
    assert house.new == house.twins(*house.old)
