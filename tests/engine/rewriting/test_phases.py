from __future__ import annotations

import pytest

from tests.engine.rewriting.house import House, log, rewrite_prefix, rewrite_state

REWRITES = {"another table": rewrite_state, "one table": rewrite_prefix}
LOGS = tuple(log(number) for number in range(9))


@pytest.fixture(params=REWRITES)
def house(request: pytest.FixtureRequest) -> House:
    return House.of(REWRITES[request.param](), *LOGS)


def test_items_move_through_all_phases_and_the_old_side_goes_at_contract(house: House) -> None:
    house.prepared()
    assert (house.record.phase, house.new) == ("expand", [])
    assert house.runner().upgrade(app_ready=True).exit_code == 9
    assert (house.record.phase, house.old, house.new) == ("dual-write", list(LOGS), house.twins(*LOGS))
    assert house.runner().cutover(None).exit_code == 9
    assert (house.record.phase, house.old) == ("cutover", list(LOGS))
    assert house.runner().contract(None, yes=True).exit_code == 0
    assert (house.record.phase, house.old, house.new) == ("done", [], house.twins(*LOGS))


def test_a_way_back_leaves_the_old_side_and_nothing_else(house: House) -> None:
    house.cut_over()
    assert house.runner().rollback(None).exit_code == 0
    assert (house.old, house.new, house.kept("phase#")) == (list(LOGS), [], [])
