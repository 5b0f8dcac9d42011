"""Patterns over the revisions of a project."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from migrator import AddIndex, Backfill, DropIndex
from migrator.core.lint import lint
from migrator.core.patterns.course import Course
from migrator.core.patterns.pattern import AccessPattern, Condition
from migrator.core.plan import Operation
from migrator.core.rules import pattern_broken
from migrator.core.template import Template
from migrator.errors import UsageError
from migrator.runner.patterns import _courses, check
from tests.core.rules.files import TABLE, files, subject

OLD = AddIndex("Old", partition_key="k")
NEW = AddIndex("New", partition_key="k")
BACK = AddIndex("Old", partition_key="k", sort_key="s")


def asked(index: str = "Old", **more: str) -> AccessPattern:
    condition = Condition("k", "=", (Template.parse("{k}"),))
    return AccessPattern("AP1", index=index, holds=("k",), key=(condition,), **more)  # type: ignore[arg-type]


def course(pattern: AccessPattern, *operations: Sequence[Operation]) -> Course:
    (only,) = _courses(subject(files(*operations), patterns=(pattern,)))
    return only


def broken(pattern: AccessPattern, *operations: Sequence[Operation]) -> list[tuple[str, int]]:
    """(revision, line) of what lint says of the rule."""
    linted = lint(subject(files(*operations), patterns=(pattern,)))
    return [(one.revision, one.line) for one in linted.findings if one.rule == pattern_broken.RULE.id]


def test_a_pattern_is_served_from_the_revision_that_adds_its_index() -> None:
    found = course(asked(), [TABLE], [OLD], [NEW])
    assert (found.state, found.first, found.broken) == ("served", "002", ())


def test_one_that_nothing_serves_yet_is_not_broken_but_not_served() -> None:
    found = course(asked("New"), [TABLE], [OLD])
    assert (found.state, found.first, found.broken) == ("not-served", "", ())
    assert [finding.rule for finding in found.findings] == ["pattern-index-missing"]


def test_dropping_its_index_is_a_lint_error_at_the_line_of_the_drop() -> None:
    history = ([TABLE], [OLD], [NEW, DropIndex("Old")])
    assert broken(asked(), *history) == [("003", 11)]
    assert [one.revision for one in course(asked(), *history).broken] == ["003"]
    assert broken(asked("New"), *history) == []


def test_a_gap_is_told_even_if_a_later_revision_serves_it_again() -> None:
    history = ([TABLE], [OLD], [DropIndex("Old")], [BACK])
    found = course(asked(), *history)
    assert (found.state, [one.revision for one in found.broken]) == ("served", ["003"])
    # In one file: the index is gone until the new one is built.
    assert broken(asked(), [TABLE], [OLD], [DropIndex("Old"), BACK]) == [("003", 10)]


def test_until_retires_a_pattern_and_since_asks_nothing_of_what_came_before() -> None:
    history = ([TABLE], [OLD], [DropIndex("Old")], [BACK])
    assert broken(asked(until="003"), *history) == []
    assert course(asked(until="003"), *history).state == "retired"
    assert broken(asked(since="004"), *history) == []
    assert course(asked(since="004"), *history).broken == ()


def test_from_since_on_a_pattern_that_was_never_served_is_broken() -> None:
    found = course(asked("New", since="002"), [TABLE], [OLD], [NEW])
    assert [one.revision for one in found.broken] == ["002"]


def test_an_unknown_revision_in_since_is_refused_by_the_patterns_name() -> None:
    with pytest.raises(UsageError, match="AP1: since") as refused:
        course(asked(since="999"), [TABLE])
    assert refused.value.code == "bad-patterns"


def test_of_a_table_that_no_file_creates_an_old_index_is_unknown_and_its_drop_is_still_an_error() -> None:
    assert course(asked("Unseen"), [OLD]).state == "unknown"
    assert course(asked(), [OLD]).state == "served"
    assert broken(asked("Unseen"), [OLD], [DropIndex("Unseen")]) == [("002", 10)]


def test_operations_that_leave_the_shape_break_nothing() -> None:
    assert broken(asked(), [TABLE], [OLD], [Backfill(set={"n": 1})]) == []


def test_a_table_of_which_the_configuration_knows_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="AP1: no table 'other'") as refused:
        course(asked(table="other"), [TABLE])
    assert refused.value.code == "unknown-table"


def test_the_result_names_the_file_of_a_break_and_of_everything_else_the_pattern() -> None:
    result = check(subject(files([TABLE], [OLD], [DropIndex("Old")]), patterns=(asked(), asked("New"))), "ap.toml")
    assert (result.state, result.exit_code) == ("findings", 3)
    assert [(one.rule, one.path, one.revision) for one in result.findings] == [
        ("pattern-broken", "m/003.py", "003"),
        ("pattern-index-missing", "ap.toml", ""),
    ]
