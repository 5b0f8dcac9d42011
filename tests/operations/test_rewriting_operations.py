from __future__ import annotations

import pytest

from migrator import ClaimUnique, CopyTable, ReplaceIndex, RewriteKeys
from migrator.core import steps
from migrator.core.rewrite.rewrite import Rewrite
from migrator.core.rewrite.route import MARK, Image
from migrator.core.rewrite.steps import CopyTwins, DropOldSide, EnterPhase, PrepareRewrite, VerifyTwins
from migrator.core.schema import KeyAttribute, Schema, Table
from migrator.errors import UsageError
from tests.operations.schemas import SCHEMA, rules

LOG = Schema({"log": Table("log", KeyAttribute("DeviceID"), KeyAttribute("Date"))}, "log")


def rewrite_of(operation: RewriteKeys | CopyTable | ClaimUnique, schema: Schema = SCHEMA) -> Rewrite:
    found = next(step for step in operation.plan(schema).apply if isinstance(step, PrepareRewrite))
    return found.rewrite


def test_items_that_move_go_through_four_commands_and_three_gates() -> None:
    plan = RewriteKeys(key={"SK": "T#{id}"}, old={"SK": "TASK#{id}"}, readers="runtime").plan(SCHEMA)
    assert [stage.name for stage in plan.stages] == ["ready", "cutover", "complete"]
    assert all(stage.gate.endswith(("?", "runtime", "backup")) for stage in plan.stages)
    phases = [step.phase for step in plan.steps if isinstance(step, EnterPhase)]
    assert phases == ["dual-write", "cutover", "contract", "done"]
    back = [step.phase for step in plan.rollback if isinstance(step, EnterPhase)]
    assert back == ["dual-write", "expand"]
    assert all(step.undoes for step in plan.rollback if isinstance(step, EnterPhase))


def test_nothing_is_copied_before_the_application_writes_both_and_nothing_deleted_before_a_comparison() -> None:
    steps_up = RewriteKeys(key={"SK": "T#{id}"}, old={"SK": "TASK#{id}"}, readers="runtime").plan(SCHEMA).steps
    kinds = [type(step) for step in steps_up]
    assert kinds.index(EnterPhase) < kinds.index(CopyTwins)
    assert kinds.index(DropOldSide) > max(n for n, kind in enumerate(kinds) if kind is VerifyTwins)


def test_within_one_table_duplicates_are_refused_unless_readers_know_of_them() -> None:
    def given(**options: object) -> list[str]:
        return rules(RewriteKeys(key={"SK": "T#{id}"}, old={"SK": "TASK#{id}"}, **options))  # type: ignore[arg-type]

    assert given() == ["twins-in-one-table"]
    assert given(readers="runtime") == []
    assert given(application="stopped") == []
    assert given(accept_duplicates_in="table") == []
    assert given(accept_duplicates_in="table", table="indexed") == ["twins-in-one-table"]
    assert given(accept_duplicates_in=["table", "ByOwner"], table="indexed") == []
    assert given(accept_duplicates_in="ByNobody") == ["unknown-index"]
    assert given(to="indexed") == []


def test_a_twin_carries_a_mark_only_where_its_key_does_not_tell_its_source() -> None:
    assert rewrite_of(RewriteKeys(key={"SK": "T#{id}"}, old={"SK": "TASK#{id}"})).routes[0].mark is None
    assert rewrite_of(RewriteKeys(key={"SK": "T#{id}"})).routes[0].mark == MARK
    assert rewrite_of(CopyTable("app", "other", key={"PK": "NEW#{PK}"})).routes[0].mark is None


def test_what_is_born_without_an_old_key_makes_the_cutover_ask() -> None:
    cutover = RewriteKeys(key={"SK": "T#{id}"}).plan(SCHEMA).stage("cutover")
    assert cutover is not None
    assert cutover.irreversible is not None
    assert "old=" in cutover.irreversible
    known = RewriteKeys(key={"SK": "T#{id}"}, old={"SK": "TASK#{id}"}).plan(SCHEMA).stage("cutover")
    assert known is not None
    assert known.irreversible is None


def test_a_copied_table_has_the_new_key_and_the_old_key_as_plain_attributes() -> None:
    operation = CopyTable(
        "log", "log_v3", partition_key="DeviceID", sort_key="State#Date", key={"State#Date": "{State}#{Date}"}
    )
    plan = operation.plan(LOG)
    assert isinstance(plan.apply[0], steps.CreateTable)
    assert plan.apply[0].shape.key_names == ("DeviceID", "State#Date")
    assert plan.after.table("log_v3").key_names == ("DeviceID", "State#Date")
    (route,) = rewrite_of(operation, LOG).routes
    old = {"DeviceID": {"S": "d#1"}, "Date": {"S": "2020"}, "State": {"S": "OK"}}
    twin = route.twin_of(old)
    assert isinstance(twin, Image)
    assert twin.item == {**old, "State#Date": {"S": "OK#2020"}}
    back = route.source_of(twin.item)
    assert isinstance(back, Image)
    assert back.item == old
    assert not route.is_static


def test_several_tables_share_one_target() -> None:
    rewrite = rewrite_of(CopyTable(["app", "indexed"], "merged"))
    assert rewrite.sources == ("app", "indexed")
    assert rewrite.targets == ("merged",)


def test_copy_table_lint() -> None:
    assert rules(CopyTable("nope", "merged")) == ["unknown-table"]
    assert rules(CopyTable("log", "v3", partition_key="DeviceID", sort_key="New"), LOG) == ["no-key-attribute"]
    assert rules(CopyTable("app", "indexed", partition_key="other")) == ["table-differs"]
    for arguments in ((("app",), "app"), ((), "x"), (("app",), "")):
        with pytest.raises(UsageError):
            CopyTable(*arguments)


def test_keys_that_the_target_has_not_or_that_nothing_gives_are_refused() -> None:
    assert rules(RewriteKeys(key={"Nope": "x#{id}"}, readers="runtime")) == ["no-key-attribute"]
    typed = Schema({"app": SCHEMA.tables["app"], "n": Table("n", KeyAttribute("PK"), KeyAttribute("SK", "N"))}, "app")
    assert rules(RewriteKeys(key={"SK": "a#{b}"}, to="n"), typed) == ["no-key-attribute"]
    assert rules(RewriteKeys(key={"SK": "{b}"}, to="n"), typed) == ["note:key-may-collide", "warning:no-way-back"]


def test_a_replaced_index_is_dropped_only_behind_the_gate() -> None:
    plan = ReplaceIndex("ByOwner", "ByOwner2", partition_key="owner", table="indexed").plan(SCHEMA)
    assert [type(step) for step in plan.apply] == [steps.CreateIndex]
    (stage,) = plan.stages
    assert stage.name == "complete"
    assert stage.steps == (steps.DeleteIndex("indexed", "ByOwner"),)
    assert set(plan.after.table("indexed").indexes) == {"ByOwner2"}


def test_replace_index_lint() -> None:
    assert rules(ReplaceIndex("Nope", "New", partition_key="owner")) == ["unknown-index"]
    with pytest.raises(UsageError, match="name of its own"):
        ReplaceIndex("ByOwner", "ByOwner", partition_key="owner")


def test_a_claim_holds_its_key_and_its_owner_alone_and_never_moves_readers() -> None:
    operation = ClaimUnique(where={"entity": "User"}, key={"PK": "EMAIL#{email}", "SK": "EMAIL"})
    plan = operation.plan(SCHEMA)
    assert [stage.name for stage in plan.stages] == ["ready", "complete"]
    (route,) = rewrite_of(operation).routes
    user = {"PK": {"S": "U#1"}, "SK": {"S": "U#1"}, "entity": {"S": "User"}, "email": {"S": "a@b"}, "x": {"N": "1"}}
    twin = route.twin_of(user)
    assert isinstance(twin, Image)
    key = {"M": {"PK": {"S": "U#1"}, "SK": {"S": "U#1"}}}
    assert twin.item == {
        "PK": {"S": "EMAIL#a@b"},
        "SK": {"S": "EMAIL"},
        "claimedBy": {"M": {"table": {"S": "app"}, "key": key}},
    }


def test_a_claim_needs_its_whole_key_and_a_value() -> None:
    assert rules(ClaimUnique(key={"PK": "EMAIL#{email}"})) == ["no-key-attribute"]
    with pytest.raises(UsageError, match="no attribute"):
        ClaimUnique(key={"PK": "EMAIL", "SK": "EMAIL"})
