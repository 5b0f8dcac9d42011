"""Where operations stand in a file, and which comments speak of them."""

from __future__ import annotations

import pytest

from migrator.core.places import Allowance, Place
from tests.loader.conftest import HEAD, Project

START = HEAD.count("\n") + 1
"""The first line after the head of a migration."""


def places(project: Project, body: str) -> list[tuple[int, int]]:
    """The lines of each operation, from 1 at the first line of the body."""
    project.migration(body)
    return [(place.first - START + 1, place.last - START + 1) for place in project.only().places]


def test_each_operation_has_the_lines_of_its_element(project: Project) -> None:
    body = """\
operations = [
    Sign("a"),
    Sign(
        "b",
    ), Sign("c"),
]
"""
    assert places(project, body) == [(2, 2), (3, 5), (5, 5)]


def test_operations_assigned_beside_others_or_with_a_type_are_found_too(project: Project) -> None:
    assert places(project, 'x, operations = 1, (\n    Sign("a"),\n)\n') == [(2, 2)]
    assert places(project, 'operations: list = [\n    Sign("a"),\n]\n') == [(2, 2)]


@pytest.mark.parametrize(
    "body",
    [
        'operations = [Sign(x) for x in\n    "ab"]\n',
        'operations = [\n    *[Sign("a"), Sign("b")]]\n',
        'operations = [Sign("a")] + [\n    Sign("b")]\n',
    ],
)
def test_operations_made_otherwise_stand_where_the_list_is_assigned(project: Project, body: str) -> None:
    assert places(project, body) == [(1, 2), (1, 2)]


def allowances(project: Project, body: str) -> list[Allowance]:
    project.migration(body)
    return [
        Allowance(one.line - START + 1, one.covers - START + 1, one.rules, one.reason)
        for one in project.only().allowances
    ]


def test_a_comment_speaks_of_its_line_or_of_the_first_below(project: Project) -> None:
    body = """\
operations = [
    Sign("a"),  # migrator: allow one-rule because of that
    # migrator: allow two, three because it is measured
    # and here is more
    Sign("b"),
    # migrator:allow four
]
"""
    assert allowances(project, body) == [
        Allowance(2, 2, ("one-rule",), "of that"),
        Allowance(3, 5, ("two", "three"), "it is measured"),
        Allowance(6, 7, ("four",), ""),
    ]
    assert allowances(project, body)[1].reaches(Place(5, 5))
    assert not allowances(project, body)[0].reaches(Place(5, 5))


def test_what_only_looks_like_such_a_comment_allows_nothing(project: Project) -> None:
    assert allowances(project, 'x = "# migrator: allow a because b"\n# migrator allows this\noperations = []\n') == []


def test_lines_and_comments_are_no_part_of_what_makes_two_migrations_equal(project: Project) -> None:
    project.migration('operations = [Sign("a")]\n')
    before = project.only()
    project.migration('\n\noperations = [\n    Sign("a"),  # migrator: allow x because y\n]\n')
    after = project.only()
    assert (before, before.checksum) == (after, after.checksum)
    assert before.places != after.places
