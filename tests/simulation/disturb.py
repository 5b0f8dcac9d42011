"""Disturbs a scenario at one moment and lets the operator type the same command again until it is done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from migrator.errors import MigratorError
from migrator.runner.results import FailedResult, NoteResult, RunResult
from migrator.testing.memory import Call, Crash, CrashAt, Hook
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
