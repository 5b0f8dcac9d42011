"""access_patterns.toml: what it says, and what it may not."""

from __future__ import annotations

from pathlib import Path

import pytest

from migrator.config import load_config, parse_patterns, read_patterns
from migrator.core.patterns.pattern import Cardinality
from migrator.errors import UsageError

FILE = Path("access_patterns.toml")
ROOT = Path(__file__).parents[2]
P = '[[pattern]]\nname = "P"\n'


def test_the_model_of_this_repository_has_its_ten_patterns_with_their_lines() -> None:
    patterns = read_patterns(ROOT / FILE)
    assert [one.name for one in patterns] == [f"AP{number}" for number in range(1, 11)]
    lines = (ROOT / FILE).read_text().splitlines()
    assert all(lines[one.line].endswith(f'"{one.name}"') for one in patterns)
    assert [len(one.examples) for one in patterns] == [1] * 10
    board = patterns[7]
    assert [str(condition) for condition in board.key] == [
        'tenantId = "{tenant}"', 'projectId = "{project}"', 'status = "{status}"', 'begins_with(createdAt, "{month}")',
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("written", "means"),
    [
        ("1", (1, 1)), ('"1"', (1, 1)), ('"0..1"', (0, 1)), ('"2.."', (2, None)), ('"many"', (0, None)), ("0", (0, 0)),
    ],
)  # fmt: skip
def test_expect_is_a_number_or_a_range(written: str, means: tuple[int, int | None]) -> None:
    (pattern,) = parse_patterns(FILE, f"{P}expect = {written}")
    assert pattern.expect == Cardinality(*means)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("= 1", "not TOML"),
        ("pattern = 1", "pattern: expected tables"),
        ("[[pattern]]\nindex = 'X'", "name: missing"),
        (P + P, "two patterns are called 'P'"),
        (P + "indx = 'X'", "did you mean index"),
        (P + "key = { PK = { starts_with = 'x' } }", "starts_with"),
        (P + "key = { PK = { between = ['a'] } }", "two values"),
        (P + "key = { PK = { '>' = 1, '<' = 2 } }", "one comparison"),
        (P + "key = { PK = '{' }", "no attribute name"),
        (P + "key = { PK = 2026-10-01 }", "no value that an item can hold"),
        (P + "key = { PK = { base64 = '!' } }", "no value that an item can hold"),
        (P + "expect = 'some'", "no number of items"),
        (P + "expect = '5..1'", "ends below its beginning"),
        (P + "order = 'up'", "none of ascending, descending"),
        (P + "[[pattern.example]]\ngiven = { k = 'x' }", "does not hold k"),
        (P + "holds = ['k']\n[[pattern.example]]\ngiven = { }", "k of holds is not given"),
        (P + "[[pattern.example]]\nanswer = ['Task:1']", "No show ="),
        (P + "[[pattern.example]]\nanswer = [1]", "neither a text nor a table"),
        ("show = '{'\n" + P, "no attribute name"),
    ],
)
def test_what_means_nothing_is_refused_with_its_place(text: str, words: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_patterns(FILE, text)
    assert refused.value.code == "bad-patterns"
    assert words in f"{refused.value.message} {refused.value.hint}"


def test_a_header_inside_a_text_makes_no_wrong_lines() -> None:
    text = f'{P}question = """\n[[pattern]]\n"""\n'
    assert [one.line for one in parse_patterns(FILE, text)] == [1]


def test_the_file_beside_the_configuration_is_found_and_another_one_can_be_named(tmp_path: Path) -> None:
    config = tmp_path / "migrator.toml"
    config.write_text('[tables.app]\nname = "app"\n[env.test]\n')
    assert load_config(config, tmp_path).patterns_file is None
    (tmp_path / FILE).write_text(P)
    assert load_config(config, tmp_path).settings("test", {}).access_patterns == tmp_path / FILE
    config.write_text('access_patterns = "docs/asks.toml"\n[tables.app]\nname = "app"\n')
    assert load_config(config, tmp_path).patterns_file == tmp_path / "docs" / "asks.toml"


def test_a_file_that_is_not_there_or_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as absent:
        read_patterns(tmp_path / FILE)
    assert absent.value.code == "no-patterns"
    (tmp_path / FILE).write_bytes(b"\xff")
    with pytest.raises(UsageError) as binary:
        read_patterns(tmp_path / FILE)
    assert binary.value.code == "bad-patterns"
