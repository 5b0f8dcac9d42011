"""Rules over the index changes of several operations."""

from __future__ import annotations

import pytest

from migrator import AddIndex, Backfill, CreateTable, DropIndex, Index, RenameAttribute, SetBillingMode, UpdateIndex
from migrator.core.rules import (
    drop_not_retired,
    index_before_backfill,
    index_recreated,
    index_write_capacity,
    managed_elsewhere,
    projection_all,
    several_index_changes,
)
from tests.core.rules.files import TABLE, says, told


def by(name: str, key: str = "k") -> AddIndex:
    return AddIndex(name, partition_key=key)


# --- several-index-changes --------------------------------------------------------------------------------------------


def test_two_index_changes_of_a_table_in_one_file_are_told_at_the_second() -> None:
    (only,) = told(several_index_changes.RULE, [by("One")], [by("Two"), DropIndex("One"), by("Three")])
    assert only[:2] == ("002", 1)
    assert "add Two, drop One, add Three" in only[2]


def test_files_are_releases_of_their_own_unless_they_are_known_to_be_one() -> None:
    assert says(several_index_changes.RULE, [by("One")], [by("Two")]) == []
    assert says(several_index_changes.RULE, [by("One")], [by("Two")], is_one=True) == [("002", 0)]
    assert says(several_index_changes.RULE, [by("One")], [by("Two")], is_one=True, judged={"002"}) == []


def test_a_new_environment_goes_through_its_whole_history_without_a_word() -> None:
    assert says(several_index_changes.RULE, [TABLE], [by("One")], [by("Two")], is_one=True) == []


def test_indexes_that_come_with_the_table_and_throughput_are_no_index_changes() -> None:
    made = CreateTable(partition_key="PK", indexes=[Index("A", partition_key="a"), Index("B", partition_key="b")])
    assert says(several_index_changes.RULE, [made, by("One"), UpdateIndex("One", on_demand_maximum=(9, 9))]) == []


def test_index_changes_of_two_tables_do_not_wait_for_each_other() -> None:
    other = [CreateTable("other", partition_key="PK"), by("One"), AddIndex("One", partition_key="k", table="other")]
    assert says(several_index_changes.RULE, [TABLE, *other]) == []


# --- drop-not-retired -------------------------------------------------------------------------------------------------


def test_a_drop_in_the_file_of_its_replacement_leaves_readers_no_release_to_move_in() -> None:
    (only,) = told(drop_not_retired.RULE, [TABLE, by("Old")], [by("New"), DropIndex("Old")])
    assert only[:2] == ("002", 1)
    assert "in the file that adds New" in only[2]


def test_a_drop_after_a_file_that_added_the_replacement_is_fine() -> None:
    assert says(drop_not_retired.RULE, [TABLE, by("Old")], [by("New")], [DropIndex("Old")]) == []


def test_a_drop_that_nothing_replaces_is_told() -> None:
    assert says(drop_not_retired.RULE, [TABLE, by("Old")], [DropIndex("Old")]) == [("002", 0)]


def test_an_index_that_is_older_than_the_dropped_one_does_not_replace_it() -> None:
    assert says(drop_not_retired.RULE, [TABLE, by("Older")], [by("Old")], [DropIndex("Old")]) == [("003", 0)]


def test_an_index_that_was_added_with_the_dropped_one_does_not_replace_it() -> None:
    assert says(drop_not_retired.RULE, [TABLE, by("Old"), by("Sibling")], [DropIndex("Old")]) == [("002", 0)]


def test_an_index_that_is_gone_again_does_not_replace_one() -> None:
    files = ([TABLE, by("Old")], [by("New")], [DropIndex("New")], [DropIndex("Old")])
    assert ("004", 0) in says(drop_not_retired.RULE, *files)


def test_an_index_that_came_with_the_table_needs_a_replacement_too() -> None:
    made = CreateTable(partition_key="PK", indexes=[Index("Old", partition_key="a"), Index("Other", partition_key="b")])
    assert says(drop_not_retired.RULE, [made], [DropIndex("Old")]) == [("002", 0)]


def test_the_drop_of_an_index_that_is_not_there_is_left_to_its_own_finding() -> None:
    assert says(drop_not_retired.RULE, [TABLE], [DropIndex("Typo")]) == []


# --- index-recreated --------------------------------------------------------------------------------------------------


def test_an_index_dropped_and_added_again_in_one_file_is_a_change_in_place() -> None:
    (only,) = told(index_recreated.RULE, [TABLE, by("One", "a")], [DropIndex("One"), by("One", "b")])
    assert only[:2] == ("002", 1)
    assert "partition key: was [a], becomes [b]" in only[2]
    assert says(drop_not_retired.RULE, [TABLE, by("One", "a")], [DropIndex("One"), by("One", "b")]) == []


def test_an_index_added_again_in_a_later_file_is_not_changed_in_place() -> None:
    assert says(index_recreated.RULE, [TABLE, by("One", "a")], [DropIndex("One")], [by("One", "b")]) == []


# --- index-before-backfill --------------------------------------------------------------------------------------------

KEYS = Backfill(where={"entity": "Task"}, set={"k": "USER#{assignee}"})


def test_an_index_before_its_backfill_is_told_at_the_index() -> None:
    assert says(index_before_backfill.RULE, [by("One"), KEYS]) == [("001", 0)]
    assert says(index_before_backfill.RULE, [KEYS, by("One")]) == []


def test_a_backfill_in_a_later_file_is_told_at_the_backfill() -> None:
    assert says(index_before_backfill.RULE, [by("One")], [KEYS], judged={"002"}) == [("002", 0)]
    assert says(index_before_backfill.RULE, [by("One")], [KEYS], judged={"001"}) == []


def test_a_second_backfill_of_keys_that_were_set_before_the_index_is_fine() -> None:
    assert says(index_before_backfill.RULE, [KEYS], [by("One")], [KEYS]) == []


def test_a_rename_gives_keys_too() -> None:
    assert says(index_before_backfill.RULE, [by("One")], [RenameAttribute("old", "k")]) == [("002", 0)]


def test_keys_of_an_index_that_is_gone_again_are_no_matter() -> None:
    assert says(index_before_backfill.RULE, [by("One")], [DropIndex("One")], [KEYS]) == []


# --- index-write-capacity ---------------------------------------------------------------------------------------------

PROVISIONED = CreateTable(partition_key="PK", provisioned=(10, 10))


@pytest.mark.parametrize(("write", "found"), [(9, [("002", 0)]), (10, []), (11, [])])
def test_a_provisioned_index_below_its_tables_writes_is_told(write: int, found: list[tuple[str, int]]) -> None:
    added = AddIndex("One", partition_key="k", provisioned=(1, write))
    assert says(index_write_capacity.RULE, [PROVISIONED], [added]) == found


def test_what_was_below_before_is_told_once() -> None:
    low = AddIndex("Low", partition_key="k", provisioned=(1, 1))
    assert says(index_write_capacity.RULE, [PROVISIONED], [low], [by("x")]) == [("002", 0)]


def test_an_update_and_a_switch_of_the_billing_mode_are_seen_too() -> None:
    fits = AddIndex("One", partition_key="k", provisioned=(10, 10))
    assert says(index_write_capacity.RULE, [PROVISIONED, fits], [UpdateIndex("One", provisioned=(10, 2))]) == [
        ("002", 0)
    ]
    switch = SetBillingMode("PROVISIONED", provisioned=(5, 50), indexes={"One": (5, 5)})
    assert says(index_write_capacity.RULE, [TABLE, by("One")], [switch]) == [("002", 0)]


# --- projection-all ---------------------------------------------------------------------------------------------------


def test_a_fifth_index_that_projects_everything_is_noted() -> None:
    four = [by(f"By{number}") for number in range(4)]
    assert says(projection_all.RULE, [TABLE, *four]) == []
    assert says(projection_all.RULE, [TABLE, *four], [by("Fifth")]) == [("002", 0)]
    assert says(projection_all.RULE, [TABLE, *four], [AddIndex("Fifth", partition_key="k", projection=["title"])]) == []


# --- managed-elsewhere ------------------------------------------------------------------------------------------------


def test_the_first_index_change_of_a_table_that_terraform_manages_is_told() -> None:
    files = ([TABLE, by("One"), by("Two")], [DropIndex("One")])
    assert says(managed_elsewhere.RULE, *files, managers={"app": "terraform"}) == [("001", 1), ("002", 0)]
    assert says(managed_elsewhere.RULE, *files, managers={"app": "migrator"}) == []
