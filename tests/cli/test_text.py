"""Results as text, piped and on a terminal of 100 columns."""

from __future__ import annotations

import dataclasses
import io
from typing import Any

import pytest
from rich.console import Console

from migrator.cli.render import words
from migrator.cli.render.text import show
from migrator.core.events import Counts
from migrator.runner.results import LockState, PlannedStep
from tests.cli import samples
from tests.cli.house import OPERATIONS

LONG = "TENANT#" + "x" * 300


def piped(result: Any, width: int = 100) -> str:
    stream = io.StringIO()
    show(result, Console(file=stream, width=width, markup=False, highlight=False, emoji=False))
    return stream.getvalue()


def on_terminal(result: Any) -> str:
    stream = io.StringIO()
    show(result, Console(file=stream, width=100, force_terminal=True, color_system="standard", markup=False))
    return stream.getvalue()


def flat(text: str) -> str:
    return "".join(text.split())


EVERY = pytest.mark.parametrize("result", samples.ALL, ids=lambda result: f"{type(result).__name__}-{result.state}")


@EVERY
def test_the_last_line_says_what_to_do_next(result: Any) -> None:
    assert piped(result).splitlines()[-1] == f"next: {result.next or 'nothing to do'}"


@EVERY
def test_what_is_piped_has_no_colours_no_boxes_and_no_filling_spaces(result: Any) -> None:
    text = piped(result)
    assert "\x1b" not in text
    assert not set(text) & set("│┃─━┏┓└┘╭╮╰╯…")
    assert all(line == line.rstrip() for line in text.splitlines())


@EVERY
def test_a_terminal_shows_the_same_words(result: Any) -> None:
    import re

    plain = re.sub(r"\x1b\[[0-9;]*m", "", on_terminal(result))
    assert flat(plain) == flat(piped(result))


def test_a_terminal_shows_states_in_colour() -> None:
    assert "\x1b[" in on_terminal(samples.RUN)


@EVERY
def test_no_line_is_wider_than_the_window_but_the_one_for_scripts(result: Any) -> None:
    for line in piped(result).splitlines():
        assert len(line) <= 100 or line.startswith(("next: ", "blocked by: "))


def test_what_blocks_stands_before_what_to_do_next() -> None:
    assert piped(samples.INCOMPLETE).splitlines()[-2:] == [
        "blocked by: 2 failed items",
        "next: migrator failed list 20261115090000 -e prod",
    ]


def test_a_long_key_wraps_and_loses_nothing() -> None:
    item = dataclasses.replace(samples.FAILED.items[0], key={"PK": {"S": LONG}, "SK": {"S": "a [b] c"}})
    text = piped(dataclasses.replace(samples.FAILED, items=(item,)))
    assert LONG in flat(text)
    assert '"a [b] c"' in text


def test_a_long_value_of_a_sample_wraps_and_loses_nothing() -> None:
    sample = {"key": samples.KEY, "before": {"GSI2PK": {"S": LONG}}, "after": {"GSI2PK": {"S": "new"}}}
    revision = samples.PLAN.revisions[0]
    step = PlannedStep("0.apply.0", "backfill", "prod-saas", samples=(sample,))
    text = piped(dataclasses.replace(samples.PLAN, revisions=(dataclasses.replace(revision, steps=(step,)),)))
    assert text.count("x") >= 300
    assert '"new"' in text


def test_a_plan_names_whom_it_talks_to_and_what_is_approximate() -> None:
    text = piped(samples.PLAN)
    for expected in (
        "222222222222",
        "eu-west-1",
        "https://dynamodb.eu-west-1.amazonaws.com",
        "arn:aws:iam::222222222222:role/migrator",
        "app = prod-saas",
        "about 1,204,331 items, 1.4 GB in prod-saas (approximate: up to six hours old)",
        "way back: downgrade deletes the index",
        "warning[writers-must-set-keys]",
        "what writers do meanwhile",
        "835,000 ± 48,000 changed",
        "longer than --job-limit of 50 m",
        "fingerprint: sha256:5f0c9b1e",
    ):
        assert expected in text


def test_a_plan_shows_before_and_after_side_by_side_and_marks_each_change() -> None:
    lines = [line.split() for line in piped(samples.PLAN).splitlines()]
    assert ["~", "status", '"open"', '"OPEN"'] in lines
    assert ["+", "GSI2PK", "(absent)", '"TENANT#t1#USER#ana"'] in lines


def test_a_removed_attribute_is_marked_and_an_unchanged_one_is_left_out() -> None:
    sample = {
        "key": samples.KEY,
        "before": {"old": {"N": "1"}, "same": {"S": "s"}},
        "after": {"same": {"S": "s"}},
    }
    step = PlannedStep("0.apply.0", "remove old", "prod-saas", samples=(sample,), destructive=True)
    revision = dataclasses.replace(samples.PLAN.revisions[0], steps=(step,), destructive=True)
    text = piped(dataclasses.replace(samples.PLAN, revisions=(revision,)))
    assert ["-", "old", "1", "(absent)"] in [line.split() for line in text.splitlines()]
    assert "same" not in text
    assert "destructive: needs --yes" in text


def test_each_gate_stands_before_the_steps_that_it_holds_back_with_the_command_that_answers_it() -> None:
    lines = [line.strip() for line in piped(samples.REWRITE_PLAN).splitlines()]
    begin = lines.index("1. look for what could not be rewritten in app; phase expand")
    end = next(at for at, line in enumerate(lines) if line.startswith("way back: `migrator rollback"))
    assert lines[begin:end] == [
        "1. look for what could not be rewritten in app; phase expand",
        "gate: Does every writer take part?",
        "if so: migrator upgrade --app-ready",
        "2. copy items of app to their new keys in app",
        "gate: May the readers move?",
        "if so: migrator cutover 20261130172204",
        "3. enter phase cutover and wait until every instance knows",
        "gate: Does nothing need the old items?",
        "if so: migrator contract 20261130172204 --yes",
        "no way back from here on: the old items of app are deleted",
        "4. delete the old items of app",
    ]
    assert "serves: access pattern AP3, AP4" in lines
    assert "breaks: access pattern AP1" in lines


def test_a_plan_with_nothing_to_do_says_so() -> None:
    nothing = dataclasses.replace(samples.PLAN, state="nothing-pending", revisions=(), next="")
    assert piped(nothing).startswith("plan to head: nothing pending; nothing was changed\n")


def test_counts_that_are_nowhere_have_no_column() -> None:
    heading = next(line for line in piped(samples.RUN).splitlines() if line.startswith("revision"))
    assert heading.split() == ["revision", "message", "status", "time", "scanned", "written", "unchanged", "skipped"]


def test_a_status_explains_what_asks_for_attention_and_unknown_progress_is_not_zero() -> None:
    unknown = dataclasses.replace(samples.STATUS.indexes[0], progress=None)
    text = piped(dataclasses.replace(samples.STATUS, indexes=(unknown,)))
    assert "index:ByAssignee created" in text
    assert "unknown" in text
    assert "0 %" not in text


def test_a_held_lock_says_who_holds_it_and_how_long_it_has_been_silent() -> None:
    assert flat("held by ci-7 (run 41, host runner-3) since 2026-11-30T12:04:10Z; no beat for 12 s of 60 s") in flat(
        piped(samples.LOCK)
    )


def test_a_free_lock_is_free() -> None:
    assert "lock: free\n" in piped(dataclasses.replace(samples.LOCK, lock=LockState(held=False)))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0, "0 s"), (0.44, "0.4 s"), (9.0, "9 s"), (59.6, "1 m"), (60, "1 m"), (520.4, "8 m 40 s"), (7500, "2 h 05 m")],
)
def test_durations_read_well(seconds: float, text: str) -> None:
    assert words.duration(seconds) == text


@pytest.mark.parametrize(("octets", "text"), [(0, "0 B"), (999, "999 B"), (1410, "1.4 kB"), (2**41, "2.2 TB")])
def test_sizes_read_well(octets: int, text: str) -> None:
    assert words.size(octets) == text


def test_an_operation_is_shown_as_it_was_written() -> None:
    backfill, index = OPERATIONS
    assert words.brief(backfill) == (
        "Backfill(transform=Transform(where={'entity': 'Task'}, set={'GSI2PK': 'TENANT#{tenantId}#USER#{assignee}', "
        "'GSI2SK': '{createdAt}#{taskId}'}, missing='skip'))"
    )
    assert words.brief(index).startswith("AddIndex(index=Index(name='ByAssignee', partition_key=[GSI2PK], ")
    assert words.brief(key_of).endswith("test_text.key_of")


def key_of() -> None:
    """Stands for a function of an application's key module."""


def test_a_checksum_is_shown_by_its_first_digits() -> None:
    assert words.digest("v1:7c5313a9465655fb7635d453") == "v1:7c5313a94656"


@pytest.mark.parametrize(
    ("wire", "text"),
    [
        (None, "(absent)"),
        ({"S": 'a"b\n\x1b[31m'}, '"a\\"b\\n\\u001b[31m"'),
        ({"N": "1.50"}, "1.50"),
        ({"BOOL": True}, "true"),
        ({"BOOL": False}, "false"),
        ({"NULL": True}, "NULL"),
        ({"B": "aGk="}, "B aGk="),
        ({"SS": ["a", "ü"]}, 'SS ["a", "ü"]'),
        ({"M": {"a": {"L": [{"N": "1"}]}}}, 'M {"a": {"L": [{"N": "1"}]}}'),
    ],
)
def test_values_show_their_type_and_no_control_characters(wire: Any, text: str) -> None:
    assert words.value(wire) == text


def test_the_id_of_a_revision_stays_whole_however_much_stands_beside_it() -> None:
    busy = Counts(scanned=1_204_331, written=835_002, unchanged=12, skipped=369_317, failed=2)
    status = dataclasses.replace(
        samples.STATUS,
        revisions=tuple(
            dataclasses.replace(one, counts=busy, finished_at="2026-10-01T08:03:00Z")
            for one in samples.STATUS.revisions
        ),
    )
    lines = piped(status).splitlines()
    assert any(line.startswith(f"{samples.BASE} ") for line in lines)
    assert all(len(line) <= 100 for line in lines)
