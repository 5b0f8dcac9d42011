"""From one table to another: what is written, in which order, and what is left alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from migrator import Index
from migrator.core.declared import DeclaredTable
from migrator.core.evolution import AddOne, Change, DropOne, MakeTable, Rewrite, Set, SetUnits, evolve
from migrator.core.schema import KeyAttribute, Table, Throughput
from migrator.core.settings import BillingMode, PointInTimeRecovery, Stream, TimeToLive


def table(*indexes: Index, **more: object) -> DeclaredTable:
    shape = Table("app", KeyAttribute("PK"), KeyAttribute("SK"), {index.name: index for index in indexes})
    return replace(DeclaredTable("app", "prod-app", shape), **more)


def provisioned(*indexes: Index, read: int = 5, write: int = 5) -> DeclaredTable:
    found = table(*indexes)
    return replace(found, shape=replace(found.shape, billing_mode="PROVISIONED", provisioned=Throughput(read, write)))


def changes(current: DeclaredTable | None, wanted: DeclaredTable) -> list[list[Change]]:
    return [list(stage.changes) for stage in evolve("app", current, wanted).stages]


A, B, C = (Index(name, partition_key=f"{name}PK") for name in ("A_index", "B_index", "C_index"))


def test_a_table_as_it_is_needs_nothing() -> None:
    assert changes(table(A), table(A)) == []


def test_each_index_change_is_a_revision_of_its_own_and_additions_come_first() -> None:
    found = changes(table(A), table(B, C))
    assert found == [
        [AddOne("app", B, B.partition_key)],
        [AddOne("app", C, C.partition_key)],
        [DropOne("app", "A_index")],
    ]


def test_an_index_that_became_another_is_added_under_a_new_name_before_the_old_one_goes() -> None:
    other = Index("A_index", partition_key="A_indexPK", sort_key="SK")
    found = evolve("app", table(A), table(other))
    (added,), (dropped,) = (stage.changes for stage in found.stages)
    assert added == AddOne("app", replace(other, name="A_index_v2"), (), "A_index")
    assert dropped == DropOne("app", "A_index", "A_index_v2")
    assert "cannot be changed in place" in found.notes[0]


def test_the_new_name_is_one_that_nobody_has() -> None:
    one, two = Index("I_v2", partition_key="a"), Index("I_v3", partition_key="b")
    (added,), _ = changes(table(one, two), table(Index("I_v2", partition_key="c"), two))
    assert isinstance(added, AddOne)
    assert added.index.name == "I_v4"


def test_with_twenty_indexes_one_goes_before_the_next_comes() -> None:
    standing = [Index(f"I{number:02}", partition_key=f"k{number}") for number in range(20)]
    found = changes(table(*standing), table(*standing[1:], A))
    assert [type(stage[0]) for stage in found] == [DropOne, AddOne]


def test_what_could_not_be_read_is_not_dropped() -> None:
    assert changes(table(A), table(vague_indexes=frozenset({"A_index"}))) == []
    found = evolve("app", table(A), table(is_vague=True))
    assert found.stages == ()
    assert "A_index may be one of those that could not be read" in found.notes[0]


def test_another_key_is_a_rewrite_and_nothing_else_happens_to_that_table() -> None:
    wanted = table(A)
    wanted = replace(wanted, shape=replace(wanted.shape, sort_key=KeyAttribute("SK2")))
    assert changes(table(B), wanted) == [[Rewrite("app", table(B).shape, wanted)]]


def test_nothing_is_switched_off_for_a_source_that_does_not_speak_of_it() -> None:
    current = table().with_setting(PointInTimeRecovery(True)).with_setting(TimeToLive("expiresAt"))
    found = evolve("app", current, table())
    assert found.stages == ()
    assert [note for note in found.notes if "does not speak of point-in-time-recovery" in note]


@pytest.mark.parametrize("setting", [PointInTimeRecovery(False), TimeToLive(None), Stream(None)])
def test_a_setting_that_is_declared_off_is_switched_off_where_it_was_on_and_not_mentioned_where_nobody_knew(
    setting: TimeToLive | Stream | PointInTimeRecovery,
) -> None:
    assert changes(table(), table().with_setting(setting)) == []
    on = {"time-to-live": TimeToLive("t"), "stream": Stream("KEYS_ONLY")}.get(setting.name, PointInTimeRecovery(True))
    assert changes(table().with_setting(on), table().with_setting(setting)) == [[Set("app", setting)]]


def test_settings_go_before_indexes_and_a_switch_to_provisioned_names_every_index() -> None:
    units = Index("A_index", partition_key="A_indexPK", provisioned=(3, 4))
    wanted = provisioned(units, B).with_setting(PointInTimeRecovery(True))
    first, second = changes(table(A), wanted)
    assert first == [
        Set("app", PointInTimeRecovery(True)),
        Set("app", BillingMode("PROVISIONED", Throughput(5, 5), (("A_index", Throughput(3, 4)),))),
    ]
    (added,) = second
    assert isinstance(added, AddOne)
    assert added.index.provisioned == Throughput(5, 5)


def test_units_of_an_index_alone_are_an_update_of_that_index() -> None:
    was, now = (Index("A_index", partition_key="a", provisioned=units) for units in ((1, 1), (9, 9)))
    ((only,),) = changes(provisioned(was), provisioned(now))
    assert only == SetUnits("app", now)


def test_a_billing_mode_that_cannot_be_told_is_left_and_a_new_index_fits_the_one_there_is() -> None:
    ((added,),) = changes(provisioned(), table(A, has_vague_billing=True))
    assert isinstance(added, AddOne)
    assert added.index.provisioned == Throughput(5, 5)


def test_replicas_are_named_and_not_made() -> None:
    found = evolve("app", table(), table(replicas=("us-east-1",)))
    assert found.stages == ()
    assert found.notes == ("app: replicas in us-east-1 are declared: Regions are added by whoever owns the table",)


def test_a_table_that_is_not_there_is_made_whole() -> None:
    wanted = table(A, B)
    assert changes(None, wanted) == [[MakeTable("app", wanted)]]
