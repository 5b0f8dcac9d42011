"""Items that cannot be changed: recorded, bounded, tried again alone, skipped for a reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from migrator.core.change import Refused
from migrator.core.events import SegmentProgress
from migrator.errors import MigratorError
from migrator.operations import Backfill, DeleteItems
from migrator.testing.memory import Answer, Call
from tests.simulation.world import Site, chain, migration, person, quick_world


def needs_nick(item: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"label": item["nick"].upper()}


def _site(bad: int, good: int, *, max_failures: int = 100, page_bytes: int = 400) -> Site:
    people = [person(n) for n in range(bad)] + [person(100 + n, nick="k") for n in range(good)]
    site = Site(chain(migration("001", Backfill(transform=needs_nick))), world=quick_world(page_bytes=page_bytes))
    site.limits = replace(site.limits, max_failures=max_failures, segments=1)
    return site.with_table(*people)


def test_one_items_error_does_not_stop_the_others_and_keeps_the_revision_incomplete() -> None:
    site = _site(2, 6)
    result = site.runner().upgrade(from_base=True)
    assert (result.state, result.exit_code) == ("incomplete", 6)
    assert sum("label" in item for item in site.items) == 6
    listed = site.runner().failed_list("001")
    assert listed.exit_code == 6
    assert {(one.code, one.key["PK"]["S"]) for one in listed.items} == {
        ("transform-error", "P#0"),
        ("transform-error", "P#1"),
    }
    assert site.runner().status().revisions[0].failed_items == 2


def is_old(item: Mapping[str, Any]) -> bool:
    return bool(item["nick"] == "old")


def test_a_where_that_fails_on_one_item_does_not_stop_the_deletion_of_others() -> None:
    site = Site(chain(migration("001", DeleteItems(where=is_old))))
    site.with_table(person(0), person(1, nick="old"), person(2, nick="new"))
    result = site.runner().upgrade(from_base=True, yes=True)
    assert (result.state, result.exit_code) == ("incomplete", 6)
    assert [item["PK"] for item in site.items] == ["P#0", "P#2"]
    (failed,) = site.runner().failed_list("001").items
    assert (failed.code, failed.key["PK"]["S"]) == ("transform-error", "P#0")
    site.update(0, nick="new")
    assert site.runner().upgrade(yes=True).state == "applied"


@pytest.mark.parametrize("operation", [Backfill(set={"label": "x"}), DeleteItems(where={"name": "n0"})])
def test_failed_items_are_read_as_often_with_many_segments_as_with_one(operation: Any) -> None:
    def reads(segments: int) -> int:
        site = Site(chain(migration("001", operation))).with_table(*(person(n) for n in range(8)))
        site.limits = replace(site.limits, segments=segments)
        asked: list[str] = []

        def note(call: Call) -> None:
            if call.operation == "records.query" and call.moment == "before":
                asked.append(call.arguments["partition"])

        assert site.runner(note).upgrade(from_base=True, yes=True).state == "applied"
        return sum(partition.startswith("failures") for partition in asked)

    # Nothing failed: that is known from one read a pass, whatever the number of segments.
    assert reads(1) == reads(6) == 0


def test_the_most_failures_allowed_stop_the_step_at_a_checkpoint() -> None:
    site = _site(40, 40, max_failures=5)
    result = site.runner().upgrade(from_base=True)
    assert result.exit_code == 6
    assert "[too-many-failures]" in result.outcomes[-1].error
    scanned = [event.counts.scanned for event in site.events if isinstance(event, SegmentProgress)]
    assert max(scanned) < 80
    assert len(site.kept("failures#")) >= 5
    (segment,) = [one for one in site.kept("checkpoints") if one.address.sort.startswith("segment") and one.items]
    assert not segment.body["done"]


def test_after_the_cause_is_mended_the_same_command_goes_past_the_stop_and_ends() -> None:
    site = _site(40, 40, max_failures=5)
    assert site.runner().upgrade(from_base=True).exit_code == 6
    for number in range(40):
        site.update(number, nick="late")
    assert site.runner().upgrade().state == "applied"
    assert all("label" in item for item in site.items)
    assert site.kept("failures#") == []


def test_skipped_items_do_not_stop_the_step_again() -> None:
    site = _site(12, 6, max_failures=20)
    assert site.runner().upgrade(from_base=True).exit_code == 6
    site.limits = replace(site.limits, max_failures=3)
    site.runner().failed_skip("001", [], "archived")
    assert site.runner().upgrade().state == "applied"


def test_a_second_run_tries_only_what_is_left() -> None:
    site = _site(3, 20)
    site.runner().upgrade(from_base=True)
    site.update(0, nick="late")
    read: list[str] = []

    def note(call: Call) -> None:
        if call.moment == "before" and call.operation.startswith("items."):
            read.append(call.operation)

    assert site.runner(note).failed_retry().exit_code == 6
    assert read.count("items.get") == 3
    assert read.count("items.write") + read.count("items.transact") == 1
    assert "items.scan" not in read
    assert len(site.kept("failures#")) == 2
    assert {one.attempts for one in site.runner().failed_list().items} == {2}


def test_a_failed_item_that_the_application_deleted_is_no_failure_any_more() -> None:
    site = _site(1, 3)
    site.runner().upgrade(from_base=True)
    site.remove(0)
    assert site.runner().failed_retry().state == "applied"


def test_a_skip_needs_a_reason_and_a_key_that_failed() -> None:
    site = _site(2, 2)
    site.runner().upgrade(from_base=True)
    with pytest.raises(MigratorError) as caught:
        site.runner().failed_skip("001", [], "  ")
    assert caught.value.code == "no-reason"
    with pytest.raises(MigratorError) as caught:
        site.runner().failed_skip("001", ['PK="P#77" SK="person"'], "archived")
    assert caught.value.code == "no-such-item"


def test_one_item_can_be_skipped_by_its_key_and_keeps_its_reason() -> None:
    site = _site(2, 2)
    site.runner().upgrade(from_base=True)
    result = site.runner().failed_skip("001", ['PK="P#1" SK="person"'], "archived tenant")
    assert (result.changed, result.exit_code) == (1, 6)
    assert {one.skipped_because for one in result.items} == {"", "archived tenant"}
    assert site.runner().upgrade().exit_code == 6
    site.runner().failed_skip("001", [], "the other too")
    assert site.runner().upgrade().state == "applied"
    assert len(site.kept("failures#")) == 2, "the decision stays on record"


def test_what_the_service_will_never_take_is_a_failed_item_with_its_code() -> None:
    site = _site(0, 4)

    def refuse(call: Call) -> None:
        is_write = call.operation == "items.transact" and call.moment == "before"
        if is_write and call.arguments["write"].key["PK"] == {"S": "P#101"}:
            raise Answer(Refused("ValidationException", "Item size has exceeded the maximum allowed size"))

    assert site.runner(refuse).upgrade(from_base=True).exit_code == 6
    (failed,) = site.runner().failed_list().items
    assert failed.code == "ValidationException"


def test_a_check_that_found_failures_is_made_again_by_the_next_run() -> None:
    site = _site(0, 4)
    late = iter([person(7)])

    def old_writer(call: Call) -> None:
        # After the write pass: the check meets an item that cannot be changed.
        for action in call.arguments.get("actions", ()):
            record = getattr(action, "record", None)
            if call.moment == "after" and record is not None and record.address.partition.endswith(":check"):
                for item in late:
                    site.put(item)

    assert site.runner(old_writer).upgrade(from_base=True).exit_code == 6
    site.remove(7)
    site.put(person(8, nick="unseen"))
    result = site.runner().upgrade()
    assert result.exit_code == 6, "the item that an old writer added meanwhile is found"
    assert site.runner().upgrade().state == "applied"
    assert all("label" in item for item in site.items)
