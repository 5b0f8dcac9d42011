"""What a plan tells of a live table: its settings, and a page of its items. An upgrade is not held up by it."""

from __future__ import annotations

from migrator.config import ControlConfig
from migrator.core.settings import PointInTimeRecovery, Stream
from migrator.operations import AddIndex, Backfill, RenameAttribute, SetTimeToLive
from migrator.runner.release_findings import SAMPLED
from migrator.runner.runner import Runner
from migrator.testing.memory import Call
from tests.simulation.world import TABLE, Site, chain, migration, person

INDEX = migration("001", AddIndex("ByState", partition_key="state"))
RENAME = migration("001", RenameAttribute("name", "title"))


def rules(runner: Runner, *, samples: int = 3) -> list[str]:
    (only,) = runner.plan(from_base=True, samples=samples).revisions
    return [finding.rule for finding in only.findings]


def people(**more: object) -> list[dict[str, object]]:
    return [person(number, state="open", **more) for number in range(150)]


def test_few_values_of_a_page_of_items_are_told_and_stop_nothing() -> None:
    site = Site(chain(INDEX)).with_table(*people())
    site.world.items.page_bytes = 1_048_576
    assert "low-cardinality-partition-key" in rules(site.runner())
    assert rules(site.runner(), samples=0) == []
    assert site.runner().upgrade(from_base=True).state == "applied"


def test_rules_look_at_the_items_that_the_estimate_has_read_and_at_no_page_of_their_own() -> None:
    site = Site(chain(migration("001", AddIndex("by-kind", partition_key="kind"))))
    site.with_table(*people(kind="few"))
    scans: list[Call] = []
    result = site.runner(lambda call: scans.append(call) if call.operation == "items.scan" else None).plan(
        from_base=True, full=True
    )
    assert "low-cardinality-partition-key" in [one.rule for one in result.revisions[0].findings]
    assert scans
    assert all(call.arguments["limit"] != SAMPLED for call in scans)


def test_times_in_milliseconds_are_told_before_ttl_is_switched_on() -> None:
    site = Site(chain(migration("001", SetTimeToLive("until")))).with_table(*people(until=1_790_000_000_000))
    assert "ttl-milliseconds" in rules(site.runner())


def test_recovery_is_asked_for_only_where_something_may_go_for_good_and_only_by_a_plan() -> None:
    asked: list[Call] = []

    def asking(call: Call) -> None:
        if (call.operation, call.moment) == ("tables.setting", "before"):
            asked.append(call)

    site = Site(chain(INDEX)).with_table(*people())
    rules(site.runner(asking))
    assert asked == []
    site = Site(chain(RENAME)).with_table(person(1))
    assert rules(site.runner(asking)) == ["recovery-off-before-destructive"]
    assert len(asked) == 1
    site.runner(asking).upgrade(from_base=True)
    assert len(asked) == 1
    safe = Site(chain(RENAME)).with_table(person(1), settings=(PointInTimeRecovery(enabled=True),))
    assert rules(safe.runner()) == []


def test_a_stream_of_the_live_table_has_consumers() -> None:
    work = migration("001", Backfill(set={"club": "C#{team}"}))
    site = Site(chain(work)).with_table(person(1), settings=(Stream("KEYS_ONLY"),))
    site.control = ControlConfig(allow_stream=True)
    assert rules(site.runner()) == ["stream-consumers"]
    assert site.world.tables.describe(TABLE) is not None
