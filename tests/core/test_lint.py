"""Lint of files: what is known of tables, what is judged, what the project and its comments make of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from migrator import AddIndex, Backfill, CreateTable, DropIndex, PutItems, SetBillingMode, UpdateIndex
from migrator.core.findings import Severity
from migrator.core.lint import PlacedFinding, across, lint
from migrator.core.places import Allowance
from migrator.core.plan import Migration
from migrator.core.rules.policy import Policy
from migrator.core.schema import KeyAttribute, Schema, Table
from migrator.errors import UsageError
from tests.core.rules.files import TABLE, files, subject

ONE, TWO = AddIndex("One", partition_key="a"), AddIndex("Two", partition_key="b")
KEYS = Backfill(set={"a": "{x}"}, where={"entity": "T"})


def shown(findings: tuple[PlacedFinding, ...]) -> list[str]:
    """`001:10 error unknown-index` of each that no comment allows."""
    return [f"{one.revision}:{one.line} {one.severity} {one.rule}" for one in findings if not one.allowed_because]


def found(migrations: list[Migration], policy: Policy | None = None, **options: object) -> list[str]:
    return shown(lint(subject(migrations, policy=policy or Policy()), **options).findings)  # type: ignore[arg-type]


def allowing(migration: Migration, line: int, *rules: str, reason: str = "it is so") -> Migration:
    return replace(migration, allowances=(*migration.allowances, Allowance(line, line, rules, reason)))


# --- what is known of tables ------------------------------------------------------------------------------------------


def test_an_operations_own_findings_are_given_at_its_line() -> None:
    assert found(
        files([TABLE, UpdateIndex("Typo", on_demand_maximum=(5, 5)), Backfill(where={"e": 1}, set={"PK": "{x}"})])
    ) == [
        "001:11 error unknown-index",
        "001:12 error table-key",
    ]


def test_of_a_table_that_no_migration_creates_nothing_is_claimed_and_that_is_said_once() -> None:
    unknown = files(
        [
            UpdateIndex("Older", provisioned=(5, 5)),
            AddIndex("One", partition_key="a", provisioned=(5, 5)),
            PutItems([{"PK": "a", "SK": "b"}]),
            DropIndex("Older"),
        ],
        [SetBillingMode("PAY_PER_REQUEST")],
    )
    assert [one for one in found(unknown) if "drop" not in one and "several" not in one] == [
        "001:10 note unknown-shape"
    ]


def test_what_the_files_say_of_an_unknown_table_still_holds() -> None:
    other = AddIndex("One", partition_key="b")
    assert "002:10 error index-differs" in found(files([ONE], [other]))


def test_a_table_is_not_there_before_it_is_created() -> None:
    assert found(files([ONE], [TABLE])) == ["001:10 error unknown-table"]


def test_a_table_that_the_configuration_does_not_have_is_told() -> None:
    assert found(files([TABLE, CreateTable("other", partition_key="PK")])) == ["001:11 error unknown-table"]


# --- what is judged ---------------------------------------------------------------------------------------------------


def test_since_judges_what_came_after_as_one_release() -> None:
    line = files([TABLE, ONE, AddIndex("Other", partition_key="x")], [TWO], [AddIndex("Three", partition_key="c")])
    assert found(line) == ["001:12 warning several-index-changes"]
    assert found(line, since="001") == ["003:10 warning several-index-changes"]
    assert found(line, since="002") == []
    assert lint(subject(line), since="002").files == 1


def test_files_up_to_start_after_are_spared_unless_all_are_asked_for() -> None:
    line, policy = files([TABLE, ONE, TWO], [KEYS]), Policy(start_after="001")
    assert found(line, policy) == ["002:10 warning index-before-backfill"]
    assert found(line, policy, everything=True) == [
        "001:12 warning several-index-changes",
        "002:10 warning index-before-backfill",
    ]


def test_a_start_after_that_no_file_has_is_refused() -> None:
    with pytest.raises(UsageError) as refused:
        found(files([TABLE]), Policy(start_after="9"))
    assert refused.value.code == "unknown-revision"


def test_a_rule_that_is_off_is_silent_and_a_grade_is_the_projects() -> None:
    line = files([TABLE, ONE, TWO], [KEYS])
    policy = Policy(disabled=frozenset({"index-before-backfill"}), severities={"several-index-changes": Severity.ERROR})
    assert found(line, policy) == ["001:12 error several-index-changes"]


# --- what comments allow ----------------------------------------------------------------------------------------------


def test_a_comment_with_a_reason_allows_a_rule_at_its_operation_alone() -> None:
    first, second = files([TABLE, ONE], [KEYS, DropIndex("One")])
    assert found([first, allowing(second, 10, "index-before-backfill")]) == ["002:11 warning drop-not-retired"]
    (allowed,) = [
        one for one in lint(subject([first, allowing(second, 11, "drop-not-retired")])).findings if one.allowed_because
    ]
    assert (allowed.rule, allowed.allowed_because, allowed.line) == ("drop-not-retired", "it is so", 11)


def test_without_a_reason_nothing_is_allowed() -> None:
    (only,) = files([TABLE, ONE, TWO])
    assert found([allowing(only, 12, "several-index-changes", reason="")]) == [
        "001:12 error allowance-without-reason",
        "001:12 warning several-index-changes",
    ]


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("drop-not-retired", "finds nothing"),
        ("projection-al", "did you mean projection-all?"),
        ("projection-all", "off anyway"),
    ],
)
def test_a_comment_that_allows_nothing_is_a_finding(rule: str, words: str) -> None:
    (only,) = files([TABLE, ONE])
    policy = Policy(disabled=frozenset({"projection-all"}))
    (told,) = lint(subject([allowing(only, 11, rule)], policy=policy)).findings
    assert (told.rule, told.line) == ("unused-allowance", 11)
    assert words in told.message


def test_of_two_rules_in_a_comment_each_must_be_of_use() -> None:
    first, second = files([TABLE, ONE], [DropIndex("One")])
    told = lint(subject([first, allowing(second, 10, "drop-not-retired", "local-time", "several-index-changes")]))
    (only,) = (one for one in told.findings if not one.allowed_because)
    assert (only.rule, "local-time" in only.message) == ("unused-allowance", True)


def test_a_comment_that_only_a_release_needs_is_not_called_unused_in_its_file_alone() -> None:
    first, second, third = files([TABLE], [ONE], [TWO])
    line = [first, second, allowing(third, 10, "several-index-changes")]
    assert found(line) == []
    assert found(line, since="001") == []
    assert found(line, since="002") == ["003:10 warning unused-allowance"]


# --- for plan ---------------------------------------------------------------------------------------------------------


def test_across_gives_what_the_rules_say_of_the_pending_set_on_the_live_schema() -> None:
    live = Schema({"app": Table("app", KeyAttribute("PK"), KeyAttribute("SK"))}, "app")
    first, second, third = files([ONE], [TWO], [KEYS])
    pending = across(subject([first, second, third]), live, [first, second, third], {"002", "003"})
    assert {revision: [one.rule for one in told] for revision, told in pending.items()} == {
        "003": ["index-before-backfill"]
    }
    quiet = allowing(third, 10, "index-before-backfill")
    assert across(subject([first, second, quiet]), live, [first, second, quiet], {"002", "003"}) == {}
    off = Policy(disabled=frozenset({"index-before-backfill"}))
    assert across(subject([first, second, third], policy=off), live, [first, second, third], {"003"}) == {}
