"""Two runs on one environment: one freezes for longer than its lease while the other takes over and completes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from migrator.control.layout import LOCK
from migrator.core.ports import PutRecord, Record
from migrator.errors import LockHeld, MigratorError
from migrator.operations import Backfill, PutItems
from migrator.runner.runner import Runner
from migrator.testing.memory import Call, Crash, CrashAt
from tests.simulation.disturb import expected, expected_exit, moments, sample
from tests.simulation.scenarios import REWRITES, REWRITES_BACK, SEEDS, UPGRADES, WAYS_BACK, Scenario, exclaim
from tests.simulation.world import Effects, Site, chain, migration, person, quick_world

SAMPLES = 5


@dataclass
class Freeze:
    """A hook that stops its run at the nth moment, lets `meanwhile` happen, and counts what the run does after.

    A run that stops before a call has signed its request: it arrives when the run is long taken over.
    """

    site: Site
    nth: int
    effects: Effects
    meanwhile: Callable[[], None]
    was_taken_over: bool = False
    is_over: bool = False
    late: list[str] = field(default_factory=list)
    _acquired: bool = False
    _records: list[Record] = field(default_factory=list)

    def __call__(self, call: Call) -> None:
        if call.moment == "after":
            self.effects(call)
            if call.operation == "records.write":
                self._acquired = self._acquired or any(
                    isinstance(one, PutRecord) and one.record.address == LOCK for one in call.arguments["actions"]
                )
                if self.is_over and self.site.records != self._records:
                    self.late.append(str(call.arguments["actions"]))
        self.nth -= 1
        if self.nth == -1:
            lock = self.site.kept("lock")
            self.meanwhile()
            # The other run takes no lock where nothing is left to do.
            self.was_taken_over = self._acquired and self.site.kept("lock") != lock
            self.is_over = True
            self._records = self.site.records
        if call.moment == "before":
            self.effects(call)


def _freeze(scenario: Scenario, nth: int) -> None:
    """The first run freezes; the second, typed by the operator, takes over after a lease of silence."""
    site = scenario.given()
    theirs, ours = Effects(site), Effects(site)
    exits: list[int] = []
    changed_before: list[int] = []

    def takeover() -> None:
        site.world.clock.advance(2 * site.limits.lease)
        try:
            exits.append(scenario.command(site.runner(theirs)).exit_code)
        except MigratorError as error:
            exits.append(expected_exit(scenario) if error.code in scenario.done else error.exit_code)
        changed_before.append(ours.changed.total())

    freeze = Freeze(site, nth, ours, takeover)
    where = f"{scenario} frozen at {nth}"
    try:
        late_exit = scenario.command(site.runner(freeze)).exit_code
    except MigratorError as error:
        # Of a conflict of control records the run says that it lost its lock, not that something is broken.
        late_exit = 6 if error.code == "record-conflict" else error.exit_code
    if freeze.was_taken_over:
        assert freeze.late == [], f"{where}: a control write after the takeover"
        assert changed_before == [ours.changed.total()], f"{where}: a data write after the takeover"
    changed = ours.changed + theirs.changed
    assert max(changed.values(), default=0) <= scenario.most_changes, f"{where}: {changed}"
    assert exits == [expected_exit(scenario)], where
    assert late_exit != 6, f"{where}: the loser speaks of failures that are none"
    assert site.standing() == expected(scenario).site.standing(), where


@pytest.mark.parametrize("scenario", [*UPGRADES, *REWRITES, *WAYS_BACK, *REWRITES_BACK], ids=str)
def test_a_run_that_froze_for_two_leases_writes_nothing_after_another_took_over(scenario: Scenario) -> None:
    for nth in sample(moments(scenario), SAMPLES, scenario.name):
        _freeze(scenario, nth)


@pytest.mark.deep
@pytest.mark.parametrize("scenario", [*UPGRADES, *REWRITES, *WAYS_BACK, *REWRITES_BACK], ids=str)
def test_a_run_that_froze_at_any_moment_writes_nothing_after_another_took_over(scenario: Scenario) -> None:
    for nth in range(moments(scenario)):
        _freeze(scenario, nth)


# --- one at a time ----------------------------------------------------------------------------------------------------


def _exclaiming(*, undo: str = "auto") -> Site:
    step = Backfill(transform=exclaim, once=True, undo=undo)  # type: ignore[arg-type]
    return Site(chain(migration("001", step))).with_table(*(person(number) for number in range(8)))


def _names(site: Site) -> list[str]:
    return [item["name"] for item in site.items]


EXCLAIMED = [f"n{number}!" for number in range(8)]


def _at(tenth: int, site: Site) -> int:
    """The moment that lies so many tenths into an undisturbed upgrade of such a site, which is used up by it."""
    told: list[Call] = []
    site.runner(told.append).upgrade(from_base=True)
    return len(told) * tenth // 10


def test_a_second_run_meanwhile_waits_or_ends_with_exit_4_and_names_the_holder() -> None:
    site = _exclaiming()
    refused: list[LockHeld] = []

    def second() -> None:
        with pytest.raises(LockHeld) as caught:
            site.runner(name="second").upgrade(from_base=True, lock_timeout=5.0)
        refused.append(caught.value)

    freeze = Freeze(site, _at(6, _exclaiming()), Effects(site), second)
    assert site.runner(freeze, name="first").upgrade(from_base=True).exit_code == 0
    assert refused[0].exit_code == 4
    assert "first" in refused[0].message
    assert _names(site) == EXCLAIMED


def test_three_runs_one_after_another_append_exactly_once() -> None:
    site = _exclaiming()
    states = [site.runner().upgrade(from_base=True).state for _ in range(3)]
    assert states == ["applied", "up-to-date", "up-to-date"]
    assert _names(site) == EXCLAIMED


def test_nothing_pending_takes_no_lock_and_writes_nothing() -> None:
    site = _exclaiming()
    site.runner().upgrade(from_base=True)
    before = site.records
    assert site.runner().upgrade().state == "up-to-date"
    assert site.records == before


@pytest.mark.parametrize("tenth", range(3, 10))
def test_a_lock_broken_under_a_live_run_costs_no_second_append_and_no_false_failure(tenth: int) -> None:
    """The operator was wrong: the run was alive, and its own clock does not tell it for another third of its lease."""
    site = _exclaiming()
    ours, theirs = Effects(site), Effects(site)

    def broken() -> None:
        owner = site.runner().lock_show().lock.owner
        site.runner().lock_release(owner)
        assert site.runner(theirs).upgrade(from_base=True).exit_code == 0

    result = site.runner(Freeze(site, _at(tenth, _exclaiming()), ours, broken)).upgrade(from_base=True)
    assert result.exit_code == 4
    assert max((ours.changed + theirs.changed).values()) == 1
    assert _names(site) == EXCLAIMED
    assert site.kept("failures#") == []
    assert site.history["001"].status == "applied"


@pytest.mark.parametrize("tenth", range(4, 10))
def test_a_lock_broken_under_a_run_that_puts_items_ends_that_run(tenth: int) -> None:
    def putting() -> Site:
        return Site(chain(migration("001", PutItems(SEEDS)))).with_table()

    site = putting()
    ours = Effects(site)

    def broken() -> None:
        site.runner().lock_release(site.runner().lock_show().lock.owner)
        assert site.runner().upgrade(from_base=True).exit_code == 0
        # The application's own deletion, after the revision: it stays deleted.
        site.world.items.remove("test-app", {"PK": {"S": "SEED#1"}, "SK": {"S": "seed"}})

    freeze = Freeze(site, _at(tenth, putting()), ours, broken)
    result = site.runner(freeze).upgrade(from_base=True)
    assert result.exit_code == 4
    assert [item["PK"] for item in site.items] == ["SEED#2"]


def test_an_undo_after_a_crash_waits_until_the_dead_runs_last_requests_cannot_arrive() -> None:
    site = _exclaiming()
    clock = site.world.clock
    with pytest.raises(Crash):
        site.runner(CrashAt(12, "items.transact")).upgrade(from_base=True)
    died = clock.true_seconds
    first: list[float] = []

    def note(call: Call) -> None:
        if call.operation == "items.transact" and not first:
            first.append(clock.true_seconds)

    assert site.runner(note).rollback("001").state == "rolled-back"
    assert first[0] >= died + 900
    assert _names(site) == [f"n{number}" for number in range(8)]


def test_an_undo_after_a_clean_stop_does_not_wait() -> None:
    site = _exclaiming()
    site.runner().upgrade(from_base=True)
    before = site.world.clock.true_seconds
    site.runner().downgrade("base")
    assert site.world.clock.true_seconds - before < 60


def test_a_signal_ends_the_wait_for_a_dead_runs_last_requests() -> None:
    site = _exclaiming()
    with pytest.raises(Crash):
        site.runner(CrashAt(12, "items.transact")).upgrade(from_base=True)
    runner: Runner = site.runner()
    site.world.clock.at(120, lambda: runner.stop(15))
    before = site.world.clock.true_seconds
    assert runner.rollback("001").exit_code == 143
    assert site.world.clock.true_seconds - before < 130
    assert site.runner().rollback("001").state == "rolled-back"


def test_a_run_decides_again_under_the_lock_what_it_had_decided_while_waiting_for_it() -> None:
    """A stamp waits for the lock of an upgrade that dies: its revision has effects, and is not stamped over."""
    site = _exclaiming()
    with pytest.raises(Crash):
        site.runner(CrashAt(120)).upgrade(from_base=True)
    stamped: list[MigratorError] = []
    other = _exclaiming()

    def stamp() -> None:
        with pytest.raises(MigratorError) as caught:
            other.runner(late).stamp("head")
        stamped.append(caught.value)

    crash = CrashAt(120)

    def late(call: Call) -> None:
        # The stamp has read an empty history; before it takes the lock, another run begins and dies.
        if call.operation == "records.get" and not crash.crashed:
            with pytest.raises(Crash):
                other.runner(crash).upgrade(from_base=True)

    stamp()
    assert stamped[0].code == "unfinished-revision"
    assert other.history["001"].status == "started"


def test_a_downgrade_that_waited_while_another_run_moved_the_history_is_refused() -> None:
    step = Backfill(set={"label": "L#{name}"})
    site = Site(chain(migration("001", step), migration("002", Backfill(set={"more": "M#{name}"}))))
    site.with_table(person(1))
    site.runner().upgrade("001", from_base=True)
    moved: list[int] = []

    def meanwhile(call: Call) -> None:
        if call.operation == "records.get" and not moved:
            moved.append(1)
            site.runner().upgrade()

    with pytest.raises(MigratorError) as caught:
        site.runner(meanwhile).downgrade("base")
    assert caught.value.code == "history-moved"
    assert [entry.status for entry in site.history.values()] == ["applied", "applied"]


def test_a_run_that_froze_for_a_lease_stops_by_its_own_clock_though_nobody_took_over() -> None:
    site = _exclaiming()
    freeze = Freeze(site, _at(6, _exclaiming()), Effects(site), lambda: site.world.clock.advance(site.limits.lease))
    result = site.runner(freeze).upgrade(from_base=True)
    assert result.exit_code == 4
    assert freeze.late == []
    assert site.runner().upgrade().state == "applied"
    assert _names(site) == EXCLAIMED


def test_a_run_whose_lock_was_broken_ends_at_the_first_write_that_is_held_back() -> None:
    site = Site(chain(migration("001", Backfill(transform=exclaim, once=True))), world=quick_world(page_bytes=10_000))
    site.with_table(*(person(number) for number in range(8)))
    site.limits = replace(site.limits, segments=1)
    tried: list[str] = []

    def broken() -> None:
        site.runner().lock_release(site.runner().lock_show().lock.owner)
        assert site.runner().upgrade(from_base=True).exit_code == 0
        tried.clear()

    def note(call: Call) -> None:
        if call.moment == "before" and call.operation == "items.transact":
            tried.append("transact")
            if len(tried) == 2 and site.history["001"].status == "started":
                broken()

    assert site.runner(note).upgrade(from_base=True).exit_code == 4
    # The rest of its batch finds the items changed; the first of them that is decided anew meets the fence.
    assert len(tried) <= 6 + 1
    assert _names(site) == EXCLAIMED
