"""What a plan says of a rewrite, step by step: items with a twin, reads, and writes that count twice."""

from __future__ import annotations

from dataclasses import replace

from migrator import BeginsWith
from migrator.core.item import item_size
from migrator.operations import RewriteKeys, SplitItem
from migrator.runner.estimates.figures import StepEstimate
from tests.simulation.world import SHAPE, Site, chain, migration, person, wire

PEOPLE = tuple(person(number) for number in range(20))


def site(operation: RewriteKeys | SplitItem, *items: dict[str, object]) -> Site:
    tables = {"app": "test-app", "new": "test-new"}
    made = Site(chain(migration("001", operation)), tables=tables).with_table(*PEOPLE, *items)
    made.world.tables.add("test-new", SHAPE)
    return made


def steps(here: Site) -> dict[str, StepEstimate]:
    """By the step's way and place, such as `ready.1`."""
    result = here.runner().plan(from_base=True, full=True)
    found = [one for revision in result.revisions for one in revision.all_steps]
    return {one.id.partition(".")[2]: one.estimate for one in found if one.estimate is not None}


def units(estimate: StepEstimate, name: str) -> dict[str, float | None]:
    return {one.resource: one.units.value for one in getattr(estimate, name)}


def test_the_copy_writes_each_twin_twice_and_checks_its_item_and_the_look_before_writes_nothing() -> None:
    operation = RewriteKeys(key={"PK": "{team}#{n}", "SK": "{SK}"}, old={"PK": "P#{n}"}, to="new")
    here = site(operation, {"PK": "X#1", "SK": "other", "team": "t1"})
    found = steps(here)
    look, copy = found["apply.0"], found["ready.1"]
    assert look.items is not None
    assert copy.items is not None
    assert (look.items.scanned.value, look.items.matched and look.items.matched.value) == (21, 20)
    assert (copy.items.scanned.value, copy.items.changed.value) == (21, 20)
    assert units(look, "writes") == {}
    assert units(copy, "writes") == {"test-new": 40, "test-app": 40}
    assert units(copy, "reads")["test-new"] == 40
    assert "app" not in " ".join(look.unknown)
    assert units(found["complete.2"], "writes") == {"test-app": 40, "test-new": 40}


def test_items_that_could_not_be_rewritten_are_counted_before_anything_runs() -> None:
    operation = RewriteKeys(key={"PK": "{team}#{n}", "SK": "{SK}"}, old={"PK": "P#{n}"}, to="new")
    (failure,) = steps(site(operation, {"PK": "P#99", "SK": "person"}))["apply.0"].failures
    assert (failure.code, failure.key) == ("template-attribute-absent", 'PK="P#99" SK="person"')


def test_what_a_split_removes_is_written_twice_and_its_sibling_checked() -> None:
    operation = SplitItem("name", key={"SK": "{SK}#name"}, where={"PK": BeginsWith("P#"), "SK": "person"})
    found = steps(site(operation))["complete.1"]
    assert found.items is not None
    assert found.items.changed.value == 20
    assert units(found, "writes") == {"test-app": 80}
    assert all(item_size(wire(one)) < 1024 for one in PEOPLE)


def test_the_wait_until_every_instance_knows_of_a_phase_is_part_of_the_time() -> None:
    operation = RewriteKeys(key={"PK": "{team}#{n}", "SK": "{SK}"}, old={"PK": "P#{n}"}, to="new")
    here = site(operation)
    here.limits = replace(here.limits, reader_lease=60.0, attempt_time=30.0)
    found = steps(here)
    waits = [found[name].duration for name in ("ready.0", "cutover.1", "complete.1", "complete.3")]
    assert [one and one.seconds.value for one in waits] == [90.0] * 4
    whole = here.runner().plan(from_base=True, full=True).estimate
    assert whole is not None
    assert whole.duration.value is not None
    assert whole.duration.value >= 360.0
