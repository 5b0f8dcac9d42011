"""Rules that look at what stands: settings and items of a live table, or what the files tell of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from migrator import (
    AddIndex,
    Backfill,
    CreateTable,
    DeleteItems,
    Index,
    N,
    PutItems,
    RemoveAttributes,
    RenameAttribute,
    RewriteKeys,
    RunPython,
    SetPointInTimeRecovery,
    SetStream,
    SetTimeToLive,
)
from migrator.core.item import from_python
from migrator.core.plan import Operation
from migrator.core.rules import (
    control_records_in_stream,
    item_near_limit,
    low_cardinality_partition_key,
    recovery_off_before_destructive,
    stream_consumers,
    template_ambiguity,
    ttl_milliseconds,
    unconditional_transform,
    wide_projection,
)
from migrator.core.rules.release import Release, Sample, fold
from migrator.core.rules.rule import Rule
from migrator.core.schema import KeyAttribute, Schema, Table
from migrator.core.settings import PointInTimeRecovery, Setting, Stream
from tests.core.rules import functions
from tests.core.rules.files import TABLE, files

BACKFILL = Backfill(where={"entity": "Task"}, set={"k": "{a}"})
RENAME = RenameAttribute("old", "new")


def said(
    rule: Rule,
    *operations: Sequence[Operation],
    live: tuple[Setting, ...] | None = None,
    items: Sequence[dict[str, Any]] | None = None,
    average: float = 100.0,
    judged: set[str] | None = None,
    control: str = "",
) -> list[tuple[str, int, str]]:
    """(revision, position, message) of what the rule says, with this much known of the live table."""
    migrations = files(*operations)
    creates = any(isinstance(one, CreateTable) for one in operations[0])
    start = {} if creates else {"app": Table("app", KeyAttribute("PK"), KeyAttribute("SK"))}
    wired = tuple({name: from_python(value) for name, value in item.items()} for item in items or ())
    release = Release(
        fold(migrations, Schema(start, "app")),
        frozenset(judged if judged is not None else {one.revision for one in migrations}),
        control=control,
        settings={} if live is None else {"app": live},
        samples={} if items is None else {"app": Sample(wired, average)},
    )
    return [(at.migration.revision, at.position, finding.message) for at, finding in rule.findings(release)]


def places(*args: Any, **options: Any) -> list[tuple[str, int]]:
    return [(revision, position) for revision, position, _ in said(*args, **options)]


# --- settings ---------------------------------------------------------------------------------------------------------

RECOVERY = recovery_off_before_destructive.RULE
ON, OFF = (PointInTimeRecovery(enabled=True),), (PointInTimeRecovery(enabled=False),)


def test_what_goes_past_a_gate_or_without_a_journal_needs_recovery() -> None:
    for operation in (RENAME, RemoveAttributes("a", undo="none")):
        assert places(RECOVERY, [operation], live=OFF) == [("001", 0)]
        assert places(RECOVERY, [operation], live=ON) == []


@pytest.mark.parametrize(
    "operation", [RemoveAttributes("a"), DeleteItems({"a": 1}), BACKFILL, AddIndex("I", partition_key="k")]
)
def test_what_a_journal_keeps_or_nothing_removes_needs_none(operation: Operation) -> None:
    assert places(RECOVERY, [operation], live=OFF) == []


def test_without_a_table_the_files_tell_from_its_creation_on() -> None:
    assert places(RECOVERY, [RENAME]) == []
    assert places(RECOVERY, [TABLE], [RENAME]) == [("002", 0)]
    assert places(RECOVERY, [TABLE, SetPointInTimeRecovery(True)], [RENAME]) == []
    kept = CreateTable(partition_key="PK", point_in_time_recovery=True)
    assert places(RECOVERY, [kept], [RENAME]) == []
    assert places(RECOVERY, [kept, SetPointInTimeRecovery(False)], [RENAME]) == [("002", 0)]


def test_the_live_setting_overrules_what_applied_files_say_and_pending_ones_change_it() -> None:
    applied = [TABLE, SetPointInTimeRecovery(True)]
    assert places(RECOVERY, applied, [RENAME], live=OFF, judged={"002"}) == [("002", 0)]
    assert places(RECOVERY, [TABLE], [SetPointInTimeRecovery(True)], [RENAME], live=OFF, judged={"002", "003"}) == []


def test_writes_of_items_meet_the_consumers_of_a_stream_once_a_file() -> None:
    rule = stream_consumers.RULE
    assert places(rule, [BACKFILL, PutItems([{"PK": "a", "SK": "b"}])], live=(Stream("NEW_IMAGE"),)) == [("001", 0)]
    assert places(rule, [AddIndex("I", partition_key="k")], live=(Stream("NEW_IMAGE"),)) == []
    assert places(rule, [BACKFILL], live=(Stream(None),)) == []
    assert places(rule, [TABLE, SetStream("KEYS_ONLY")], [BACKFILL], [RunPython(functions.touch)]) == [
        ("002", 0),
        ("003", 0),
    ]


def test_a_stream_on_the_table_of_control_records_is_told() -> None:
    rule = control_records_in_stream.RULE
    assert places(rule, [SetStream("KEYS_ONLY")], control="app") == [("001", 0)]
    assert places(rule, [CreateTable(partition_key="PK", stream="NEW_IMAGE")], control="app") == [("001", 0)]
    assert places(rule, [SetStream(None)], control="app") == []
    assert places(rule, [SetStream("KEYS_ONLY")], control="") == []


# --- samples ----------------------------------------------------------------------------------------------------------


def test_an_item_that_is_nearly_full_is_told_where_it_is_put_or_made_larger() -> None:
    rule = item_near_limit.RULE
    large = {"PK": "a", "SK": "b", "text": "x" * 380_000}
    (only,) = said(rule, [PutItems([large, {"PK": "a", "SK": "c"}])])
    assert 'such as PK="a" SK="b"' in only[2]
    assert places(rule, [BACKFILL], items=[large]) == [("001", 0)]
    assert places(rule, [RemoveAttributes("text")], items=[large]) == []
    assert places(rule, [BACKFILL], items=[{**large, "text": "x" * 300_000}]) == []


def test_an_index_by_a_few_values_is_told_by_the_sample_and_by_constants_of_the_files() -> None:
    rule = low_cardinality_partition_key.RULE
    index = [AddIndex("ByStatus", partition_key="status", sort_key="at")]
    few = [{"PK": str(n), "SK": "a", "status": f"S{n % 4}", "at": str(n)} for n in range(200)]
    (only,) = said(rule, index, items=few)
    assert "200 sampled items have 4 values of status" in only[2]
    many = [{**item, "status": str(n)} for n, item in enumerate(few)]
    assert places(rule, index, items=many) == []
    assert places(rule, index, items=few[:99]) == []
    sparse = [{name: value for name, value in item.items() if name != "at"} for item in few]
    assert places(rule, index, items=sparse) == []
    assert places(rule, [Backfill(where={"e": 1}, set={"status": "ALL"})], index) == [("002", 0)]
    both = [Backfill(where={"e": 1}, set={"status": "ALL"}), Backfill(where={"e": 2}, set={"status": "T#{id}"})]
    assert places(rule, both, index) == []


def test_a_whole_copy_of_large_items_is_told() -> None:
    rule = wide_projection.RULE
    (only,) = said(rule, [AddIndex("I", partition_key="k")], items=[], average=9_000)
    assert "9 write units" in only[2]
    assert places(rule, [AddIndex("I", partition_key="k", projection=["a"])], items=[], average=9_000) == []
    assert places(rule, [AddIndex("I", partition_key="k")], items=[], average=900) == []
    assert places(rule, [AddIndex("I", partition_key="k")]) == []


def test_sampled_milliseconds_are_told_where_ttl_is_switched_on() -> None:
    items = [{"PK": "a", "SK": str(n), "expires": 1_790_000_000_000 + n} for n in range(3)]
    (only,) = said(ttl_milliseconds.RULE, [SetTimeToLive("expires")], items=[*items, {"PK": "b", "SK": "c"}])
    assert "3 of 3 sampled items" in only[2]
    assert places(ttl_milliseconds.RULE, [SetTimeToLive("other")], items=items) == []
    assert places(ttl_milliseconds.RULE, [SetTimeToLive(None)], items=items) == []


# --- keys -------------------------------------------------------------------------------------------------------------

BY_K = AddIndex("ByK", partition_key="k", sort_key="s")


@pytest.mark.parametrize(
    ("assigned", "words"),
    [
        ({"k": "{a}{b}"}, "stand side by side"),
        ({"s": "{a}{b}"}, "stand side by side"),
        ({"k": "{a}#{b}"}, "may hold '#'"),
        ({"k": "T#{a}|{b}"}, "may hold '|'"),
    ],
)
def test_a_key_that_two_items_can_have_is_told(assigned: dict[str, str], words: str) -> None:
    (only,) = said(template_ambiguity.RULE, [Backfill(where={"e": 1}, set=assigned)], [BY_K])
    assert words in only[2]


@pytest.mark.parametrize(
    "assigned", [{"k": "T#{a}"}, {"k": "T#{a}#USER#{b}"}, {"s": "{a}#{b}"}, {"other": "{a}{b}"}, {"k": "{n}#{m}"}]
)
def test_one_that_is_inverted_or_only_orders_or_is_no_key_is_left_alone(assigned: dict[str, str]) -> None:
    numbers = AddIndex("ByN", partition_key=N("n"), sort_key=N("m"))
    assert places(template_ambiguity.RULE, [Backfill(where={"e": 1}, set=assigned)], [BY_K], [numbers]) == []


def test_a_sampled_value_with_the_delimiter_is_told_whatever_its_length() -> None:
    work = [Backfill(where={"e": 1}, set={"k": "T#{a}#USER#{b}"})]
    item = {"PK": "p", "SK": "s", "a": "x#USER#y", "b": "z"}
    (only,) = said(template_ambiguity.RULE, work, [BY_K], items=[item, {**item, "a": "x"}])
    assert "in 1 of 2 sampled items a holds" in only[2]
    assert places(template_ambiguity.RULE, work, [BY_K], items=[{**item, "a": "x"}]) == []


def test_a_function_that_folds_into_a_key_is_told() -> None:
    assert places(template_ambiguity.RULE, [Backfill(where={"e": 1}, transform=functions.folded)], [BY_K]) == [
        ("001", 0)
    ]
    other = AddIndex("Other", partition_key="z")
    assert places(template_ambiguity.RULE, [Backfill(where={"e": 1}, transform=functions.folded)], [other]) == []


def test_a_rewrite_whose_new_key_two_items_can_have_is_told() -> None:
    def rewrite(**key: str) -> list[Operation]:
        return [TABLE, RewriteKeys(where={"entity": "User"}, key=key, readers="runtime")]

    (only,) = said(template_ambiguity.RULE, rewrite(PK="U#{first}{last}"))
    assert "stand side by side" in only[2]
    assert places(template_ambiguity.RULE, rewrite(PK="U#{tenant}#{name}")) == [("001", 1)]
    assert places(template_ambiguity.RULE, rewrite(PK="U#{name}")) == []
    by_function = RewriteKeys(where={"entity": "User"}, key=functions.folded_key, readers="runtime")
    assert places(template_ambiguity.RULE, [TABLE, by_function]) == [("001", 1)]


# --- unconditional ----------------------------------------------------------------------------------------------------


def test_a_backfill_of_every_kind_of_item_is_told() -> None:
    rule = unconditional_transform.RULE
    for loud in (Backfill(set={"k": "{a}"}), Backfill(transform=functions.folded)):
        assert places(rule, [BACKFILL], [loud]) == [("002", 0)]
        # Nothing says that the table holds several kinds of items.
        assert places(rule, [loud]) == []
    for quiet in (BACKFILL, Backfill(set={"k": "{a}"}, missing="skip"), Backfill(set={"k": 1}), RemoveAttributes("a")):
        assert places(rule, [BACKFILL], [quiet]) == []


def test_an_index_that_comes_with_its_table_has_no_items_to_look_at() -> None:
    made = CreateTable(partition_key="PK", indexes=[Index("I", partition_key="k")])
    assert places(low_cardinality_partition_key.RULE, [made], items=[]) == []
