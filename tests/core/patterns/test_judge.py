"""What keeps a shape of a table from serving an access pattern."""

from __future__ import annotations

from pathlib import Path

import pytest

from migrator.config import parse_patterns
from migrator.core.patterns.judge import RULES, is_get, judge, serves
from migrator.core.patterns.pattern import AccessPattern
from migrator.core.schema import B, Index, KeyAttribute, N, Table, key_attributes, projection

BOARD = Index("Board", key_attributes(["tenant", "project"]), key_attributes(["status", N("due"), "id"]))
TABLE = Table(
    "app",
    KeyAttribute("PK"),
    KeyAttribute("SK"),
    {
        "Board": BOARD,
        "Keys": Index("Keys", key_attributes("owner"), (), projection("KEYS_ONLY")),
        "Some": Index("Some", key_attributes("owner"), key_attributes(B("mark")), projection(["name"])),
    },
)
ALL = 'holds = ["t"]\n'
BOTH = 'tenant = "T", project = "P"'


def pattern(lines: str) -> AccessPattern:
    (only,) = parse_patterns(Path("access_patterns.toml"), f'[[pattern]]\nname = "P"\n{lines}')
    return only


def rules(lines: str, table: Table | None = TABLE) -> list[str]:
    return [finding.rule for finding in judge(pattern(lines), table)]


@pytest.mark.parametrize(
    "lines",
    [
        'key = { PK = "a", SK = "b" }',
        'key = { PK = "a" }',
        'key = { PK = "a", SK = { begins_with = "x" } }\norder = "descending"',
        'key = { PK = "a", SK = { between = ["a", "b"] } }',
        ALL + 'key = { PK = "T#{t}" }\nconsistent = true',
        f'index = "Board"\nkey = {{ {BOTH} }}',
        f'index = "Board"\nkey = {{ {BOTH}, status = "OPEN" }}',
        f'index = "Board"\nkey = {{ {BOTH}, status = {{ begins_with = "O" }} }}',
        f'index = "Board"\nkey = {{ id = {{ ">=" = "a" }}, due = 5, status = "OPEN", {BOTH} }}',
        f'index = "Board"\nkey = {{ {BOTH}, status = "OPEN", due = {{ between = [1, 9.5] }} }}',
        'index = "Some"\nkey = { owner = "o", mark = { base64 = "AAE=" } }\nreturns = ["name", "PK", "owner"]',
    ],
)
def test_a_get_or_a_query_on_a_key_is_served(lines: str) -> None:
    assert rules(lines) == []
    assert serves(pattern(lines), TABLE)


@pytest.mark.parametrize(
    ("lines", "rule"),
    [
        ("", "pattern-scan"),
        ('operation = "scan"\nkey = { PK = "a" }', "pattern-scan"),
        ('filter = { status = "OPEN" }', "pattern-scan"),
        ('key = { SK = "a" }', "pattern-partition-key"),
        ('key = { PK = { begins_with = "a" } }', "pattern-partition-key"),
        ('index = "Board"\nkey = { tenant = "T" }', "pattern-partition-key"),
        ('index = "Board"\nkey = { tenant = "T", project = { ">" = "a" } }', "pattern-partition-key"),
        ('key = { PK = "a", status = "OPEN" }', "pattern-not-a-key"),
        (f'index = "Board"\nkey = {{ {BOTH}, due = 5 }}', "pattern-sort-key"),
        (f'index = "Board"\nkey = {{ {BOTH}, status = {{ begins_with = "O" }}, due = 5 }}', "pattern-sort-key"),
        (f'index = "Board"\nkey = {{ {BOTH}, status = "O", due = {{ ">" = 1 }}, id = "z" }}', "pattern-sort-key"),
        (f'index = "Board"\nkey = {{ {BOTH}, status = "O", due = "5" }}', "pattern-key-type"),
        (f'index = "Board"\nkey = {{ {BOTH}, status = "O", due = {{ begins_with = 5 }} }}', "pattern-key-type"),
        (ALL + 'key = { PK = "{t}" }\n[[pattern.example]]\ngiven = { t = 1 }', "pattern-key-type"),
        ('operation = "get"\nkey = { PK = "a" }', "pattern-not-a-get"),
        ('operation = "get"\nkey = { PK = "a", SK = { ">" = "b" } }', "pattern-not-a-get"),
        ('operation = "get"\nindex = "Keys"\nkey = { owner = "o" }', "pattern-not-a-get"),
        ('key = { PK = "a" }\nfilter = { SK = "b" }', "pattern-filter-on-key"),
        ('index = "Keys"\nkey = { owner = "o" }\nreturns = ["name"]', "pattern-not-projected"),
        ('index = "Some"\nkey = { owner = "o" }\nfilter = { status = "OPEN" }', "pattern-not-projected"),
        ('index = "Keys"\nkey = { owner = "o" }\nconsistent = true', "pattern-consistent-index"),
        ('key = { PK = "T#{t}" }', "pattern-not-held"),
        ('index = "None"\nkey = { owner = "o" }', "pattern-index-missing"),
        ('key = { PK = "a", SK = "b" }\nexpect = "2..5"', "pattern-cardinality"),
        ('key = { PK = "a" }\nexpect = "2..5"\nlimit = 1', "pattern-cardinality"),
    ],
)  # fmt: skip
def test_what_no_get_and_no_query_on_a_key_can_answer_is_an_error(lines: str, rule: str) -> None:
    assert rule in rules(lines)
    assert not serves(pattern(lines), TABLE)


@pytest.mark.parametrize(
    ("lines", "rule"),
    [
        ('key = { PK = "a" }\nfilter = { status = "OPEN" }', "pattern-filter-selects"),
        ('index = "Keys"\nkey = { owner = "o" }\norder = "ascending"', "pattern-order"),
    ],
)
def test_what_works_and_costs_is_a_warning(lines: str, rule: str) -> None:
    assert rules(lines) == [rule]
    assert serves(pattern(lines), TABLE)


def test_without_its_table_nothing_is_served() -> None:
    assert rules('key = { PK = "a" }', None) == ["pattern-table-missing"]


def test_the_whole_key_of_the_table_makes_a_get_and_less_a_query() -> None:
    assert is_get(pattern('key = { PK = "a", SK = "b" }'), TABLE)
    assert not is_get(pattern('key = { PK = "a", SK = "b" }\noperation = "query"'), TABLE)
    assert not is_get(pattern('key = { PK = "a" }'), TABLE)
    assert not is_get(pattern('index = "Keys"\nkey = { owner = "a" }'), TABLE)


def test_every_rule_that_is_given_is_listed() -> None:
    text = Path("migrator/core/patterns/judge.py").read_text().partition("def judge(")[2]
    assert all(f'"{rule}"' in text for rule in RULES)
