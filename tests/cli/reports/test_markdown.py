"""A plan as a comment on a pull request: the figures are there, and content of items is never markup."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import pytest

from migrator.cli.reports.markdown import MARKER, MOST, code, in_cell, markdown, plain
from migrator.runner.results import PlanResult
from tests.cli import samples
from tests.cli.conftest import Call

HOSTILE = "<img src=x onerror=alert(1)> @team | `` ` ``` ](http://evil) **bold** #1 <!-- \n\n# heading"


def with_sample(value: str, samples_of: int = 1) -> PlanResult:
    revision = samples.PLAN.revisions[0]
    item: Any = {"key": {"PK": {"S": value}}, "before": {}, "after": {value: {"S": value}}}
    step = dataclasses.replace(revision.steps[0], samples=(item,) * samples_of)
    return dataclasses.replace(samples.PLAN, revisions=(dataclasses.replace(revision, steps=(step,)),))


def test_a_comment_begins_with_its_marker_and_has_the_figures_and_the_findings() -> None:
    text = markdown(samples.PLAN)
    assert text.startswith(MARKER + "\n## Plan for prod")
    for said in (
        "835,000 ± 48,000",
        "USD 1.69 ± 0.10",
        "hot at 4,000 write units/s",
        "`writers-must-set-keys`",
        "293.0 read",
    ):
        assert said in text
    assert text.count("<details>") == text.count("</details>")


def test_the_command_prints_it_alone_on_stdout(call: Call) -> None:
    said = call("plan -o markdown", plan=samples.PLAN)
    assert (said.code, said.out) == (0, markdown(samples.PLAN))


def test_a_comment_has_every_gate_before_its_steps_and_the_access_patterns_that_change() -> None:
    text = markdown(samples.REWRITE_PLAN)
    said = (
        "1. `look for what could not be rewritten in app; phase expand`",
        "**Gate:** Does every writer take part?<br>\nIf so: `migrator upgrade --app-ready`",
        "2. `copy items of app to their new keys in app`",
        "**Gate:** May the readers move?<br>\nIf so: `migrator cutover 20261130172204`",
        "3. `enter phase cutover and wait until every instance knows`",
        "If so: `migrator contract 20261130172204 --yes`",
        "**No way back from here on:** the old items of app are deleted",
        "4. `delete the old items of app`",
        "**Way back:**",
        "**Serves** access pattern `AP3`, `AP4`",
        "**Breaks** access pattern `AP1`",
    )
    places = [text.find(one) for one in said]
    assert -1 not in places
    assert places == sorted(places)


@pytest.mark.parametrize("form", ["markdown", "html"])
def test_no_other_command_has_that_form(call: Call, form: str) -> None:
    said = call(f"status -o {form}")
    assert said.code == 2
    assert "`plan` alone" in said.err


def test_content_of_items_stays_in_its_code_span_and_in_its_cell() -> None:
    text = markdown(with_sample(HOSTILE))
    (row,) = [line for line in text.splitlines() if line.startswith("   | ") and "onerror" in line]
    cells = re.split(r"(?<!\\)\|", row)
    assert len(cells) == 6
    for cell in (cells[1], cells[2], cells[4]):
        fence = re.match(r" (`+)", cell)
        assert fence is not None
        inside = cell.strip()[len(fence[1]) : -len(fence[1])]
        assert fence[1] not in re.findall(r"`+", inside)


@pytest.mark.parametrize("text", ["a`b", "``", "`", "a | b", "", "line\nline", "```x```"])
def test_a_code_span_is_one_line_that_ends_where_it_should(text: str) -> None:
    span = code(text)
    assert "\n" not in span
    run = re.match(r"`+", span)
    assert run is not None
    assert span.endswith(run[0])
    assert run[0] not in re.findall(r"`+", span[len(run[0]) : -len(run[0])])
    assert "|" not in in_cell(text).replace("\\|", "")


def test_plain_text_is_no_markup_no_mention_and_no_link() -> None:
    assert plain("<b>*x*</b> [a](b)") == r"\<b\>\*x\*\</b\> \[a\]\(b\)"
    assert "@team" not in plain("@team")
    assert "http://" not in plain("http://evil.example")


def test_what_does_not_fit_into_a_comment_is_said_to_be_left_out() -> None:
    text = markdown(with_sample("x" * 500, samples_of=200))
    assert len(text) <= MOST + 200
    assert text.rstrip().endswith("the rest is in the text, JSON and HTML of this plan.")
    assert text.count("<details>") == text.count("</details>")


def test_a_plan_with_nothing_to_do_is_a_short_comment() -> None:
    nothing = dataclasses.replace(
        samples.PLAN, state="nothing-pending", revisions=(), estimate=None, unknown=(), next=""
    )
    assert "nothing pending" in markdown(nothing)
    assert "Next: `nothing to do`" in markdown(nothing)
