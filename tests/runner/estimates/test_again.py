"""upgrade --plan looks at the items again: a worse result refuses, and nothing was changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from migrator.errors import MigratorError
from migrator.operations import AddIndex, Backfill
from migrator.runner.estimates.again import worsened
from migrator.testing.memory import Crash, Once, raising
from tests.runner.test_plan_file import as_file
from tests.simulation.world import Site, chain, migration, person

FIRST = migration("001", Backfill(set={"first": "x"}))


def label(item: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"label": "L#" + item["team"]}


def site() -> Site:
    second = migration(
        "002", Backfill(transform=label), AddIndex("by-owner", partition_key="owner", unindexable="allow")
    )
    here = Site(chain(FIRST, second)).with_table(*(person(n, owner=None if n == 1 else "o") for n in range(6)))
    assert here.runner().upgrade("001", from_base=True).exit_code == 0
    return here


def refused(here: Site, plan: dict[str, Any]) -> MigratorError:
    before = here.standing()
    with pytest.raises(MigratorError) as caught:
        here.runner().upgrade(plan=plan)
    assert here.standing() == before
    assert (caught.value.code, caught.value.exit_code) == ("plan-worse", 3)
    return caught.value


@pytest.mark.parametrize("full", [True, False])
def test_an_unchanged_world_is_no_worse(full: bool) -> None:
    here = site()
    plan = as_file(here.runner().plan(full=full))
    assert plan["data_findings"] == {"002 1.apply.0": {"unindexable:index-key-null:owner": 1}}
    assert here.runner().upgrade(plan=plan).state == "applied"


@pytest.mark.parametrize("full", [True, False])
def test_an_item_that_would_fail_for_a_reason_that_the_plan_did_not_show_refuses(full: bool) -> None:
    here = site()
    plan = as_file(here.runner().plan(full=full))
    here.put({"PK": "P#9", "SK": "person", "name": "no team"})
    assert "002 0.apply.0: 1 item would fail (transform-error), 0 in the plan" in refused(here, plan).message


def test_more_of_the_same_refuses_a_plan_that_counted_and_not_one_that_sampled() -> None:
    here = site()
    counted, sampled = (as_file(here.runner().plan(full=full)) for full in (True, False))
    here.put(person(9, owner=None))
    assert "2 items could not be indexed (index-key-null in owner), 1 in the plan" in refused(here, counted).message
    assert here.runner().upgrade(plan=sampled).state == "applied"


def test_fewer_in_the_way_is_no_reason_to_refuse() -> None:
    here = site()
    plan = as_file(here.runner().plan(full=True))
    here.update(1, owner="repaired")
    assert here.runner().upgrade(plan=plan).state == "applied"


def test_a_revision_that_has_begun_is_not_judged_again() -> None:
    here = site()
    plan = as_file(here.runner().plan(full=True))
    with pytest.raises(Crash):
        here.runner(Once("items.transact", raising(Crash("killed")), "after", nth=1)).upgrade(plan=plan)
    here.put(person(9, owner=None))
    assert here.runner().upgrade(plan=plan).state == "applied"


def test_a_plan_that_looked_at_no_item_is_held_to_none() -> None:
    here = site()
    plan = as_file(here.runner().plan(samples=0))
    here.put(person(9, owner=""))
    assert here.runner().upgrade(plan=plan).state == "applied"


@pytest.mark.parametrize("broken", [{"002": 3}, {"002": {"a": "b"}}, [], None])
def test_findings_of_another_form_are_no_plan_file(broken: Any) -> None:
    here = site()
    plan = as_file(here.runner().plan(full=True)) | {"data_findings": broken}
    with pytest.raises(MigratorError) as caught:
        here.runner().upgrade(plan=plan)
    assert caught.value.code == "bad-plan-file"


def test_worse_is_a_new_reason_or_where_both_counted_a_larger_number() -> None:
    now = {"1 s": {"failed:a:": 3, "failed:b:": 1}}
    assert worsened({"1 s": {"failed:a:": 3, "failed:b:": 1}}, now, by_count=True) == []
    assert len(worsened({"1 s": {"failed:a:": 2, "failed:b:": 1}}, now, by_count=True)) == 1
    assert worsened({"1 s": {"failed:a:": 2, "failed:b:": 1}}, now, by_count=False) == []
    assert worsened({}, now, by_count=False) == [
        "1 s: 3 items would fail (a), 0 in the plan",
        "1 s: 1 item would fail (b), 0 in the plan",
    ]
