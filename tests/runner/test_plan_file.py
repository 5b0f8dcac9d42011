"""A reviewed plan is applied exactly, or refused with what moved."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any

import pytest

from migrator.config import ControlConfig
from migrator.errors import MigratorError
from migrator.operations import AddIndex, Backfill, CreateTable, DeleteItems, DropIndex, RemoveAttributes
from migrator.operations.index_spec import Index
from migrator.runner.results import PlanResult
from migrator.testing.memory import Crash, Once, raising
from tests.simulation.world import TABLE, Site, chain, migration, person

PEOPLE = tuple(person(number) for number in range(4))
FIRST = migration("001", Backfill(set={"first": "x"}))
SECOND = migration("002", AddIndex("by-team", partition_key="team"), Backfill(set={"label": "L#{name}"}))


def broken(item: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"label": item["absent"]}


def as_file(plan: PlanResult) -> dict[str, Any]:
    """The plan as a pipeline hands it on."""
    written: dict[str, Any] = json.loads(json.dumps(asdict(plan), default=str))
    return written


def site_at_first() -> Site:
    site = Site(chain(FIRST, SECOND)).with_table(*PEOPLE)
    assert site.runner().upgrade("001", from_base=True).exit_code == 0
    return site


def refused(site: Site, plan: dict[str, Any]) -> MigratorError:
    before = site.standing()
    with pytest.raises(MigratorError) as caught:
        site.runner().upgrade(plan=plan)
    assert site.standing() == before
    return caught.value


def test_a_reviewed_plan_is_applied() -> None:
    site = site_at_first()
    plan = as_file(site.runner().plan())
    assert site.runner().upgrade(plan=plan).state == "applied"
    assert site.runner().upgrade(plan=plan).state == "up-to-date"


def _new_table(site: Site) -> None:
    site.world.tables.alter(TABLE, table_id="another")


def _edited_file(site: Site) -> None:
    site.migrations = chain(FIRST, replace(SECOND, content_hash="other"))


def _more_files(site: Site) -> None:
    site.migrations = chain(FIRST, SECOND, migration("003", Backfill(set={"more": "x"})))


def _other_index(site: Site) -> None:
    site.world.tables.as_another().create_index(TABLE, Index("by-hand", partition_key="name"))
    site.world.clock.advance(600)


def _other_control(site: Site) -> None:
    site.control = ControlConfig(key_prefix="__other__")


def _history(site: Site) -> None:
    site.runner().downgrade("base")


@pytest.mark.parametrize("move", [_edited_file, _more_files, _other_index, _other_control, _history, _new_table])
def test_a_world_that_moved_since_is_refused_and_nothing_is_written(move: Callable[[Site], None]) -> None:
    site = site_at_first()
    plan = as_file(site.runner().plan())
    move(site)
    error = refused(site, plan)
    assert error.code in ("plan-moved", "restored-table")
    assert error.exit_code in (1, 3)


def test_what_the_table_holds_and_how_its_capacity_moves_is_no_move_of_the_plan() -> None:
    site = site_at_first()
    plan = as_file(site.runner().plan())
    site.world.tables.alter(TABLE, item_count=12345, size_bytes=10**9)
    site.put(person(77))
    assert site.runner().upgrade(plan=plan).state == "applied"


def test_its_own_resume_has_not_moved_the_plan() -> None:
    site = site_at_first()
    plan = as_file(site.runner().plan())
    with pytest.raises(Crash):
        site.runner(Once("items.write", raising(Crash("killed")), "after", nth=1)).upgrade(plan=plan)
    assert site.indexes == {"by-team": "ACTIVE"}
    assert site.runner().upgrade(plan=plan).state == "applied"


def test_a_plan_that_creates_its_table_is_resumed_after_a_crash() -> None:
    site = Site(chain(migration("001", CreateTable("app", partition_key="PK", sort_key="SK"))))
    plan = as_file(site.runner().plan())
    with pytest.raises(Crash):
        site.runner(Once("tables.create", raising(Crash("killed")), "after")).upgrade(plan=plan)
    assert site.runner().upgrade(plan=plan).state == "applied"


def test_a_plan_file_edited_by_hand_is_refused() -> None:
    site = site_at_first()
    plan = as_file(site.runner().plan())
    plan["fingerprint_parts"]["revisions"] = plan["fingerprint_parts"]["revisions"][:0]
    assert refused(site, plan).code == "bad-plan-file"
    assert refused(site, {"target": "head"}).code == "bad-plan-file"


def test_a_protected_environment_is_upgraded_by_a_reviewed_plan_only() -> None:
    site = site_at_first()
    site.protected = True
    with pytest.raises(MigratorError) as caught:
        site.runner().upgrade(yes=True)
    assert (caught.value.code, caught.value.exit_code) == ("protected-environment", 2)
    assert site.runner().upgrade(plan=as_file(site.runner().plan())).state == "applied"


def test_a_destructive_step_needs_yes_or_a_plan_that_marks_it() -> None:
    site = Site(chain(migration("001", RemoveAttributes("team")))).with_table(*PEOPLE)
    with pytest.raises(MigratorError) as caught:
        site.runner().upgrade(from_base=True)
    assert (caught.value.code, caught.value.exit_code) == ("needs-yes", 2)
    assert "remove team" in caught.value.message
    assert site.records == []
    plan = as_file(site.runner().plan())
    assert plan["revisions"][0]["destructive"] is True
    assert site.runner().upgrade(plan=plan, from_base=True).state == "applied"


def test_a_plan_shows_no_sample_of_an_item_that_the_upgrade_would_refuse() -> None:
    fill = Backfill(where={"SK": "person"}, set={"team": "{nick}"})
    site = Site(chain(migration("001", fill, DropIndex("by-team"))))
    site.with_table(person(1, nick=""), person(2, nick="x"), indexes=[Index("by-team", partition_key="team")])
    shown = site.runner().plan(from_base=True).revisions[0].steps[0].samples
    assert [sample["key"]["PK"]["S"] for sample in shown] == ["P#2"]
    result = site.runner().upgrade(from_base=True, yes=True)
    assert [one.key["PK"]["S"] for one in site.runner().failed_list("001").items] == ["P#1"]
    assert result.state == "incomplete"


def test_a_plan_shows_the_items_that_a_deletion_would_take_whole() -> None:
    site = Site(chain(migration("001", DeleteItems(where={"name": "n1"})))).with_table(*PEOPLE)
    (sample,) = site.runner().plan(from_base=True).revisions[0].steps[0].samples
    assert sample["key"]["PK"] == {"S": "P#1"}
    assert (sample["before"], sample["after"]) == ({"name": {"S": "n1"}, "team": {"S": "t1"}}, {})


def test_a_plan_shows_real_samples_and_changes_nothing() -> None:
    site = site_at_first()
    before = site.standing()
    plan = site.runner().plan()
    assert plan.state == "pending"
    index, backfill = plan.revisions[0].steps
    assert index.samples == ()
    assert len(backfill.samples) == 3
    shown = backfill.samples[0]
    assert shown["before"] == {}
    assert shown["after"]["label"]["S"].startswith("L#")
    assert site.standing() == before


def test_a_plan_of_a_destructive_step_says_to_type_yes() -> None:
    site = Site(chain(FIRST, migration("002", RemoveAttributes("team")))).with_table(*PEOPLE)
    site.runner().upgrade("001", from_base=True)
    assert site.runner().plan().next == "migrator upgrade --yes"
    assert site.runner().upgrade(yes=True).state == "applied"


def test_a_plan_says_of_the_items_that_it_read_that_they_would_fail() -> None:
    site = Site(chain(FIRST, migration("002", Backfill(transform=broken)))).with_table(*PEOPLE)
    site.runner().upgrade("001", from_base=True)
    plan = site.runner().plan()
    assert plan.state == "pending"
    (finding,) = plan.revisions[0].findings
    assert (finding.rule, finding.severity) == ("items-would-fail", "warning")
    assert f"{len(PEOPLE)} items" in finding.message
    assert "KeyError: 'absent' in broken(), line " in finding.message
    assert not site.runner().plan(samples=0).revisions[0].findings, "nothing was read"


def test_nothing_is_said_of_items_that_an_earlier_step_may_mend() -> None:
    later = migration("002", Backfill(set={"label": "L#{name}"}), Backfill(set={"double": "{label}#{label}"}))
    site = Site(chain(FIRST, later)).with_table(*PEOPLE)
    site.runner().upgrade("001", from_base=True)
    assert site.runner().plan().revisions[0].findings == ()
    assert site.runner().upgrade().state == "applied"


@pytest.mark.parametrize("target", ["-1", "base", " -2"])
def test_an_upgrade_does_not_go_down(target: str) -> None:
    site = site_at_first()
    for call in (site.runner().upgrade, site.runner().plan):
        with pytest.raises(MigratorError) as caught:
            call(target)
        assert (caught.value.code, caught.value.exit_code) == ("no-such-target", 2)
        assert f"migrator downgrade {target.strip()}" in (caught.value.hint or "")
