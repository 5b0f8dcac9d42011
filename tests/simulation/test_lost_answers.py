"""One answer is lost, or one call is throttled: the run resolves it, or stops and the next one does."""

from __future__ import annotations

import pytest

from migrator.errors import AnswerLost, Throttled
from tests.simulation.disturb import (
    WRITES,
    NthCall,
    assert_as_undisturbed,
    calls,
    disturbed,
    sample,
)
from tests.simulation.scenarios import ALL, UPGRADES, Scenario

SAMPLES = 4


def _lose(scenario: Scenario, most: int) -> None:
    count = sum(operation in WRITES for operation in calls(scenario))
    for nth in sample(count, most, scenario.name):
        for moment in ("before", "after"):
            hook = NthCall(nth, AnswerLost("no answer"), moment, WRITES)
            assert_as_undisturbed(scenario, disturbed(scenario, hook), f"{scenario}: answer {nth} lost {moment} effect")


def _throttle(scenario: Scenario, most: int) -> None:
    for nth in sample(len(calls(scenario)), most, scenario.name):
        hook = NthCall(nth, Throttled("too fast"))
        assert_as_undisturbed(scenario, disturbed(scenario, hook), f"{scenario}: call {nth} throttled")


@pytest.mark.parametrize("scenario", ALL, ids=str)
def test_a_lost_answer_to_any_write_changes_nothing_in_the_end(scenario: Scenario) -> None:
    _lose(scenario, SAMPLES)


@pytest.mark.deep
@pytest.mark.parametrize("scenario", ALL, ids=str)
def test_a_lost_answer_to_every_single_write_changes_nothing_in_the_end(scenario: Scenario) -> None:
    _lose(scenario, 100_000)


@pytest.mark.parametrize("scenario", ALL, ids=str)
def test_throttling_of_any_call_changes_nothing_in_the_end(scenario: Scenario) -> None:
    _throttle(scenario, SAMPLES)


@pytest.mark.deep
@pytest.mark.parametrize("scenario", ALL, ids=str)
def test_throttling_of_every_single_call_changes_nothing_in_the_end(scenario: Scenario) -> None:
    _throttle(scenario, 100_000)


@pytest.mark.parametrize("scenario", [one for one in UPGRADES if one.name.startswith("backfill")], ids=str)
def test_a_lost_answer_to_a_data_write_does_not_stop_the_run(scenario: Scenario) -> None:
    operations = ("items.write", "items.transact")
    count = sum(operation in operations for operation in calls(scenario))
    for nth in range(count):
        for moment in ("before", "after"):
            found = disturbed(scenario, NthCall(nth, AnswerLost("no answer"), moment, operations))
            assert found.runs == 1
            (entry,) = found.site.history.values()
            assert (entry.counts.written, entry.counts.failed) == (8, 0)
