"""Stamp, adoption, drift and repair: commands that put the records right."""

from __future__ import annotations

import pytest

from migrator.errors import MigratorError
from migrator.operations import AddIndex, Backfill, DropIndex
from migrator.operations.index_spec import Index
from migrator.testing.memory import Crash, CrashAt
from tests.simulation.world import TABLE, Effects, Site, chain, migration, person

PEOPLE = tuple(person(number) for number in range(4))
INDEX = migration("001", AddIndex("by-team", partition_key="team"))
FILL = migration("002", Backfill(set={"label": "L#{name}"}))


def built() -> Site:
    site = Site(chain(INDEX)).with_table(*PEOPLE)
    site.runner().upgrade(from_base=True)
    return site


def test_a_stamp_records_what_stands_there_and_runs_nothing() -> None:
    site = Site(chain(INDEX, FILL)).with_table(*PEOPLE, indexes=[Index("by-team", partition_key="team")])
    effects = Effects(site)
    result = site.runner(effects).stamp("001")
    assert result.state == "stamped"
    assert (effects.changed, effects.accepted) == ({}, {})
    entry = site.history["001"]
    assert (entry.status, entry.notes) == ("applied", ("stamped",))
    assert entry.objects["index:by-team@app"]["fate"] == "adopted"
    assert site.runner().upgrade().state == "applied", "what comes after needs no --from-base any more"
    assert site.runner().check().exit_code == 0


def test_a_downgrade_of_a_stamped_revision_leaves_the_index_that_it_adopted() -> None:
    site = Site(chain(INDEX)).with_table(*PEOPLE, indexes=[Index("by-team", partition_key="team")])
    site.runner().stamp("head")
    assert site.runner().downgrade("base").exit_code == 0
    assert site.indexes == {"by-team": "ACTIVE"}


def test_a_stamp_below_what_is_applied_asks_for_purge() -> None:
    site = Site(chain(INDEX, FILL)).with_table(*PEOPLE)
    site.runner().upgrade(from_base=True)
    with pytest.raises(MigratorError) as caught:
        site.runner().stamp("001")
    assert caught.value.code == "later-revisions"
    assert site.runner().stamp("001", purge=True).exit_code == 0
    assert set(site.history) == {"001"}
    assert site.runner().stamp("base", purge=True).exit_code == 0
    assert site.history == {}


def test_a_stamp_over_an_unfinished_revision_is_refused() -> None:
    site = Site(chain(migration("001", Backfill(set={"x": "{nick}"})))).with_table(*PEOPLE)
    site.runner().upgrade(from_base=True)
    with pytest.raises(MigratorError) as caught:
        site.runner().stamp("head")
    assert caught.value.code == "unfinished-revision"


def test_an_index_that_drifted_away_is_named_and_built_again() -> None:
    site = built()
    site.world.tables.as_another().delete_index(TABLE, "by-team")
    site.world.clock.advance(60)
    found = site.runner().check()
    assert (found.exit_code, found.findings[0].rule) == (3, "drift")
    assert "by-team" in found.findings[0].message
    assert "001" in found.findings[0].message
    result = site.runner().repair(drift=True)
    assert (result.state, result.exit_code) == ("repaired", 0)
    assert site.indexes == {"by-team": "ACTIVE"}
    assert site.history["001"].status == "applied"
    assert site.runner().check().exit_code == 0


def test_a_repair_that_died_while_the_index_was_building_is_finished_by_the_next() -> None:
    site = built()
    site.world.tables.as_another().delete_index(TABLE, "by-team")
    site.world.clock.advance(60)
    effects = Effects(site)

    def command() -> None:
        site.runner(effects, CrashAt(1, "tables.create_index")).repair(drift=True)

    with pytest.raises(Crash):
        command()
    assert site.runner(effects).repair(drift=True).exit_code == 0
    assert site.indexes == {"by-team": "ACTIVE"}
    assert effects.accepted == {"tables.create_index by-team": 1}


def test_an_index_that_became_another_is_reported_and_left() -> None:
    site = built()
    other = site.world.tables.as_another()
    other.delete_index(TABLE, "by-team")
    site.world.clock.advance(60)
    other.create_index(TABLE, Index("by-team", partition_key="name"))
    site.world.clock.advance(600)
    result = site.runner().repair(drift=True)
    assert (result.state, result.exit_code) == ("findings", 3)
    assert any(line.startswith("left:") for line in result.lines)


def test_an_index_that_was_dropped_and_made_again_belongs_to_the_revision_that_made_it_again() -> None:
    drop, again = migration("002", DropIndex("by-team")), migration("003", AddIndex("by-team", partition_key="team"))
    site = Site(chain(INDEX, drop, again)).with_table(*PEOPLE)
    site.runner().upgrade(from_base=True, yes=True)
    assert [index.managed_by for index in site.runner().status().indexes] == ["003"]
    site.world.tables.as_another().delete_index(TABLE, "by-team")
    site.world.clock.advance(600)
    (finding,) = site.runner().check().findings
    assert "revision 003 built it" in finding.message


def test_an_index_that_no_migration_names_is_no_drift_and_is_never_touched() -> None:
    site = built()
    site.world.tables.as_another().create_index(TABLE, Index("by-hand", partition_key="name"))
    site.world.clock.advance(600)
    assert site.runner().check().exit_code == 0
    site.runner().downgrade("base")
    assert site.indexes == {"by-hand": "ACTIVE"}
    assert {index.name: index.managed_by for index in site.runner().status().indexes} == {"by-hand": ""}


def test_a_repair_says_what_it_was_asked_for_or_is_a_usage_error() -> None:
    site = built()
    for options in ({}, {"checksum": "001", "restored": True}):
        with pytest.raises(MigratorError) as caught:
            site.runner().repair(**options)  # type: ignore[arg-type]
        assert (caught.value.code, caught.value.exit_code) == ("what-to-repair", 2)


def test_a_repair_of_a_file_that_is_as_it_was_changes_nothing() -> None:
    site = built()
    before = site.records
    assert site.runner().repair(checksum="001").state == "unchanged"
    assert site.records == before


def test_only_the_named_owner_is_released() -> None:
    site = Site(chain(FILL.__class__("001", (), FILL.operations, "", "f", "c", "h"))).with_table(*PEOPLE)
    with pytest.raises(Crash):
        site.runner(CrashAt(100), name="dead").upgrade(from_base=True)
    with pytest.raises(MigratorError) as caught:
        site.runner().lock_release("somebody")
    assert caught.value.code == "lock-owner-differs"
    assert site.runner().lock_show().state == "held"
    assert site.runner().lock_release(site.runner().lock_show().lock.owner).released
    assert site.runner().lock_show().state == "free"
    with pytest.raises(MigratorError) as caught:
        site.runner().lock_release("somebody")
    assert caught.value.code == "lock-not-held"
