"""The process dies at any one call, before or after its effect; the operator types the command again."""

from __future__ import annotations

import pytest

from migrator.testing.memory import CrashAt
from tests.simulation.disturb import assert_as_undisturbed, disturbed, expected, moments, sample
from tests.simulation.scenarios import ALL, REWRITES_BACK, WAYS_BACK, Scenario

SAMPLES = 6


@pytest.mark.parametrize("scenario", ALL, ids=str)
def test_a_command_that_died_anywhere_ends_as_if_it_had_not(scenario: Scenario) -> None:
    for moment in sample(moments(scenario), SAMPLES, scenario.name):
        assert_as_undisturbed(scenario, disturbed(scenario, CrashAt(moment)), f"{scenario} died at moment {moment}")


@pytest.mark.deep
@pytest.mark.parametrize("scenario", ALL, ids=str)
def test_a_command_that_died_at_every_single_moment_ends_as_if_it_had_not(scenario: Scenario) -> None:
    for moment in range(moments(scenario)):
        assert_as_undisturbed(scenario, disturbed(scenario, CrashAt(moment)), f"{scenario} died at moment {moment}")


@pytest.mark.parametrize("scenario", ALL, ids=str)
def test_a_command_leaves_no_checkpoint_no_held_lock_and_says_the_same_when_typed_again(scenario: Scenario) -> None:
    site = expected(scenario).site
    if all(entry.status in ("applied", "at-gate", "rolled-back") for entry in site.history.values()):
        assert site.kept("checkpoints") == []
    assert [record.body["released"] for record in site.kept("lock")] == [True]


@pytest.mark.parametrize("scenario", [*WAYS_BACK, *REWRITES_BACK], ids=str)
def test_a_way_back_leaves_items_indexes_and_settings_as_they_were_before_the_revision(scenario: Scenario) -> None:
    fresh = scenario.before()
    standing, before = expected(scenario).site.standing(), fresh.standing()
    assert standing["items"] == before["items"]
    assert standing["indexes"] == before["indexes"]
    assert standing["settings"] == before["settings"]
    assert expected(scenario).site.kept("journal") == []
    assert expected(scenario).site.kept("failures#") == []
