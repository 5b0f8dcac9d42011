"""A worker that freezes with a request signed, and wakes when another run has gone on: its request changes nothing."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from migrator.errors import MigratorError
from migrator.testing.memory import Call, Crash, Once
from tests.engine.rewriting.house import House, log, rewrite_prefix, rewrite_state
from tests.engine.rewriting.moments import command, is_of_phases

REWRITES = {"another-table": rewrite_state, "one-table": rewrite_prefix}
LOGS = tuple(log(number) for number in range(5))
each_rewrite = pytest.mark.parametrize("rewrite", REWRITES)


def thawed(house: House, name: str, *others: str, nth: int = 0) -> list[bool]:
    """Freeze a command with its nth data request signed; other runs work meanwhile; then the request arrives.

    Returns whether it changed anything.
    """
    standing = {}
    changed: list[bool] = []

    def tables() -> object:
        return {table: house.world.items.all(table) for table in house.tables.values()}

    def others_work() -> None:
        house.world.clock.advance(2 * house.limits.lease)
        for other in others:
            assert command(house, other) in (0, 9), other
        standing[0] = tables()

    def arrived(call: Call) -> None:
        if standing and not changed and call.moment == "after" and call.operation == "items.together":
            changed.append(tables() != standing[0])

    freeze = Once("items.together", others_work, "before", nth)
    with pytest.raises(MigratorError) as caught:
        raise_of(house, name, freeze, arrived)
    assert caught.value.code == "lease-lost"
    assert freeze.done
    assert tables() == standing[0], "the frozen run wrote after another had taken over"
    return changed


def raise_of(house: House, name: str, *hooks: object) -> None:
    code = command(house, name, *hooks)
    raise MigratorError("lease-lost" if code == 4 else f"exit-{code}", "the frozen run ended")


@each_rewrite
@pytest.mark.parametrize("nth", [0, 1])
def test_a_copier_that_froze_in_backfill_and_wakes_in_contract_changes_nothing(rewrite: str, nth: int) -> None:
    house = House.of(REWRITES[rewrite](), *LOGS).prepared()
    assert thawed(house, "ready", "ready", "cutover", "contract", nth=nth) == [False]
    assert (house.old, house.new) == ([], house.twins(*LOGS))


@each_rewrite
def test_a_copier_that_froze_in_backfill_and_wakes_after_the_way_back_brings_no_twin(rewrite: str) -> None:
    house = House.of(REWRITES[rewrite](), *LOGS).prepared()
    assert thawed(house, "ready", "rollback") == [False]
    assert (house.old, house.new) == (list(LOGS), [])


@each_rewrite
def test_a_deletion_signed_before_the_freeze_does_not_take_an_item_that_was_put_since(rewrite: str) -> None:
    house = House.of(REWRITES[rewrite](), *LOGS).cut_over()
    assert thawed(house, "contract", "contract") == [False]


# --- between setting a phase and waiting ------------------------------------------------------------------------------


@dataclass
class Waited:
    """A hook that measures how long a run takes from its first look at the phase to its first change of it."""

    house: House
    looked_at: float | None = None
    seconds: float | None = None

    def __call__(self, call: Call) -> None:
        now = self.house.world.clock.true_seconds
        if call.operation == "records.get" and call.arguments["address"].sort == "phase" and self.looked_at is None:
            self.looked_at = now
        if is_of_phases(call) and self.seconds is None and self.looked_at is not None:
            self.seconds = now - self.looked_at


CHANGES = [((), "ready"), (("ready",), "cutover"), (("ready", "cutover"), "rollback")]


@pytest.mark.parametrize(("before", "name"), CHANGES, ids=[name for _, name in CHANGES])
def test_a_run_that_finds_a_phase_nobody_waited_for_waits_in_full(before: tuple[str, ...], name: str) -> None:
    house = House.of(rewrite_state(), *LOGS).prepared()
    for one in before:
        command(house, one)
    generation = house.record.generation

    def die(_call: Call) -> None:
        if house.record.generation > generation:
            raise Crash("dead between setting the phase and waiting")

    with pytest.raises(Crash):
        command(house, name, die)
    assert not house.record.is_settled
    full = house.record.wait_seconds
    house.world.clock.advance(full - 1.0)
    waited = Waited(house)
    assert command(house, name, waited) in (0, 9)
    assert waited.seconds is not None
    assert waited.seconds >= full


def test_a_wait_that_was_cut_short_is_begun_again_from_its_beginning() -> None:
    house = House.of(rewrite_state(), *LOGS).prepared()
    runner = house.runner()

    def interrupt() -> None:
        runner.stop(15)

    house.world.clock.at(30.0, interrupt)
    assert runner.upgrade(app_ready=True).exit_code == 143
    assert (house.record.phase, house.record.is_settled) == ("dual-write", False)
    waited = Waited(house)
    command(house, "ready", waited)
    assert waited.seconds is not None
    assert waited.seconds >= house.record.wait_seconds


def test_the_lease_is_kept_while_a_phase_is_waited_for() -> None:
    house = House.of(rewrite_state(), *LOGS, lease=15.0).prepared()
    assert command(house, "ready") == 9
