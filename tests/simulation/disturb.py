"""Disturbs a scenario at one moment and lets the operator type the same command again until it is done."""

from __future__ import annotations

import random
from dataclasses import dataclass

from migrator.errors import MigratorError
from migrator.testing.memory import Call, Crash, Hook
from tests.simulation.scenarios import Scenario
from tests.simulation.world import Effects, Site

MOST_RUNS = 6


@dataclass(frozen=True)
class Outcome:
    """What came of a scenario."""

    site: Site
    effects: Effects
    runs: int
    exit_code: int


def undisturbed(scenario: Scenario) -> Outcome:
    site = scenario.given()
    effects = Effects(site)
    result = scenario.command(site.runner(effects))
    return Outcome(site, effects, 1, result.exit_code)


def disturbed(scenario: Scenario, hook: Hook, *, seconds_between: float = 0.0) -> Outcome:
    """Run with the hook, then again without it as often as needed; every run is another process."""
    site = scenario.given()
    effects = Effects(site)
    exit_code, run = -1, 0
    for run in range(1, MOST_RUNS + 1):
        hooks = (effects, hook) if run == 1 else (effects,)
        try:
            exit_code = scenario.command(site.runner(*hooks)).exit_code
        except Crash:
            site.world.clock.advance(seconds_between)
            continue
        except MigratorError as error:
            if error.code in scenario.done and run > 1:
                exit_code = expected_exit(scenario)
                break
            site.world.clock.advance(seconds_between)
            continue
        if exit_code == expected_exit(scenario):
            break
    return Outcome(site, effects, run, exit_code)


_EXPECTED: dict[str, Outcome] = {}


def expected(scenario: Scenario) -> Outcome:
    """The undisturbed outcome, computed once."""
    if scenario.name not in _EXPECTED:
        _EXPECTED[scenario.name] = undisturbed(scenario)
    return _EXPECTED[scenario.name]


def expected_exit(scenario: Scenario) -> int:
    return expected(scenario).exit_code


def moments(scenario: Scenario) -> int:
    """How many moments, before and after each call, the undisturbed command has."""
    return expected(scenario).effects.moments


def assert_as_undisturbed(scenario: Scenario, found: Outcome, where: str) -> None:
    wanted = expected(scenario)
    assert found.exit_code == wanted.exit_code, f"{where}: exit {found.exit_code} after {found.runs} runs"
    assert found.site.standing() == wanted.site.standing(), where
    assert found.effects.most_changed <= scenario.most_changes, f"{where}: {found.effects.changed}"
    assert found.effects.accepted == wanted.effects.accepted, where
    assert found.effects.applied == wanted.effects.applied, where


# --- single faults ----------------------------------------------------------------------------------------------------

WRITES = (
    "items.write", "items.transact", "items.together", "records.write", "tables.create", "tables.create_index",
    "tables.delete_index",
    "tables.update_index", "tables.change_setting",
)  # fmt: skip


class NthCall:
    """A hook that raises at the nth (from 0) call of these operations, on one side of its effect, and once only."""

    def __init__(self, nth: int, error: Exception, moment: str = "before", operations: tuple[str, ...] = ()):
        self.left = nth
        self.error = error
        self.moment = moment
        self.operations = operations

    def __call__(self, call: Call) -> None:
        if call.moment != self.moment or (self.operations and call.operation not in self.operations):
            return
        self.left -= 1
        if self.left == -1:
            raise self.error


class Tally:
    """A hook that lists the calls."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def __call__(self, call: Call) -> None:
        if call.moment == "before":
            self.calls.append(call.operation)


def calls(scenario: Scenario) -> list[str]:
    """The operations that the undisturbed command calls, in order."""
    site, tally = scenario.given(), Tally()
    scenario.command(site.runner(tally))
    return tally.calls


def sample(count: int, most: int, seed: str) -> list[int]:
    """At most so many of range(count): the ends, and others chosen the same way in every run."""
    if count <= most:
        return list(range(count))
    chosen = random.Random(seed).sample(range(1, count - 1), most - 2)
    return sorted({0, count - 1, *chosen})
