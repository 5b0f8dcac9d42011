"""diff and what check says beyond indexes: live tables against files, and against another environment."""

from __future__ import annotations

from migrator.core.settings import DeletionProtection, PointInTimeRecovery, TimeToLive
from migrator.operations import AddIndex, CreateTable, SetDeletionProtection, SetTimeToLive
from migrator.operations.index_spec import Index
from tests.simulation.world import TABLE, Site, chain, migration, person

MADE = migration(
    "001",
    CreateTable(
        "app",
        partition_key="pk",
        sort_key="sk",
        indexes=[Index("by-team", partition_key="team")],
        point_in_time_recovery=True,
    ),
)
SET = migration("002", SetTimeToLive("expires"), SetDeletionProtection(True))
MORE = migration("003", AddIndex("by-name", partition_key="name"))


def applied(*migrations: object) -> Site:
    site = Site(chain(*migrations))
    site.runner().upgrade()
    return site


def rows(site: Site, of: str = "applied") -> list[tuple[str, str, str, str]]:
    result = site.runner().diff(of)  # type: ignore[arg-type]
    assert (result.state, result.exit_code) == (("different", 3) if result.differences else ("same", 0))
    return [(one.object, one.field, one.left, one.right) for one in result.differences]


def test_what_was_applied_is_what_stands() -> None:
    site = applied(MADE, SET)
    assert rows(site) == []
    assert rows(site, "files") == []


def test_pending_files_count_only_where_all_files_are_meant() -> None:
    site = applied(MADE)
    site.migrations = chain(MADE, MORE)
    assert rows(site) == []
    assert rows(site, "files") == [("index by-name", "", "(name), ALL", "absent")]


def test_every_field_that_somebody_else_changed_is_named() -> None:
    site = applied(MADE, SET)
    tables = site.world.tables.as_another()
    for setting in (TimeToLive("other"), DeletionProtection(False), PointInTimeRecovery(False)):
        while True:
            tables.change_setting(TABLE, setting)
            site.world.clock.advance(3_700)
            if tables.setting(TABLE, type(setting)) == setting:
                break
    tables.delete_index(TABLE, "by-team")
    site.world.clock.advance(60)
    assert rows(site) == [
        ("index by-team", "", "(team), ALL", "absent"),
        ("setting deletion-protection", "", "deletion protection on", "deletion protection off"),
        ("setting point-in-time-recovery", "", "point-in-time recovery on", "point-in-time recovery off"),
        ("setting time-to-live", "", "TTL on expires", "TTL on other"),
    ]
    result = site.runner().diff()
    assert result.next == "migrator repair --drift"
    found = {finding.message for finding in site.runner().check().findings}
    assert any("index by-team" in message and "revision 001 built it" in message for message in found)
    assert any("deletion protection off; the applied revisions have deletion protection on" in one for one in found)


def test_an_index_that_came_with_its_table_is_built_again() -> None:
    site = applied(MADE)
    site.world.tables.as_another().delete_index(TABLE, "by-team")
    site.world.clock.advance(60)
    assert site.runner().check().exit_code == 3
    assert site.runner().repair(drift=True).exit_code == 0
    assert site.indexes == {"by-team": "ACTIVE"}
    assert site.runner().check().exit_code == 0


def test_an_index_that_no_file_names_is_a_difference_and_no_drift() -> None:
    site = Site(chain(MORE)).with_table(person(1), indexes=[Index("mine", partition_key="nick")])
    site.runner().upgrade(from_base=True)
    assert rows(site) == [("index mine", "", "absent", "(nick), ALL")]
    assert site.runner().check().exit_code == 0


def test_two_environments_differ_by_what_stands_there() -> None:
    here, there = applied(MADE, SET), applied(MADE)
    result = here.runner().diff_with("staging", there.runner().declared("live"))
    assert result.exit_code == 3
    assert result.right == "live tables of staging"
    assert [(one.object, one.left, one.right) for one in result.differences] == [
        ("setting deletion-protection", "deletion protection on", "deletion protection off"),
        ("setting time-to-live", "TTL on expires", "TTL off"),
    ]
    assert here.runner().diff_with("staging", here.runner().declared("live")).exit_code == 0
