"""Progress: lines where nobody watches, bars on a terminal; the same events to both."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from rich.console import Console

from migrator.cli.bars import Bars
from migrator.cli.lines import Lines
from migrator.cli.log import configure_log
from migrator.cli.pace import Pace
from migrator.cli.progress import open_progress
from migrator.core.events import (
    Counts,
    Event,
    IndexPolled,
    Remark,
    RevisionFinished,
    RevisionStarted,
    SegmentProgress,
    StepFinished,
    StepStarted,
    Waiting,
)
from migrator.core.ports import BuildMetrics
from tests.cli.conftest import Call
from tests.cli.house import FakeHouse
from tests.cli.samples import RUN

STARTED = RevisionStarted("r1", "Assignee keys", 2, 3)
STEP = StepStarted("r1", "0.apply.0", "backfill app: set GSI2PK")


def scanned(number: int, **more: Any) -> SegmentProgress:
    known: dict[str, Any] = {
        "revision": "r1",
        "step": "0.apply.0",
        "stage": "pass",
        "counts": Counts(scanned=number, written=number // 2, failed=1),
        "segments_done": 3,
        "segments_total": 8,
        "approximate_items": 1000,
        "write_units_per_second": 480.0,
        "read_units_per_second": 900.0,
    }
    return SegmentProgress(**{**known, **more})


def polled(**more: Any) -> IndexPolled:
    known: dict[str, Any] = {
        "table": "prod-saas",
        "index": "ByAssignee",
        "table_status": "UPDATING",
        "index_status": "CREATING",
        "backfilling": True,
        "metrics": BuildMetrics(progress=34.0, consumed_write=512.0, throttled=0.0),
        "seconds": 252.0,
    }
    return IndexPolled(**{**known, **more})


EVERY_EVENT: tuple[Event, ...] = (
    STARTED,
    STEP,
    scanned(10),
    Waiting("budget of 500 write units/s", 12.0),
    Waiting("another index is being built"),
    polled(),
    Remark("the mirror is 3 s behind", details={"event": "x", "level": "y"}),
    Remark("an old writer may be live", level="warning"),
    StepFinished("r1", "0.apply.0", "835 scanned, 9 written"),
    RevisionFinished("r1", "applied", 520.4, Counts(scanned=835)),
)


class Ticking:
    """Seconds that pass when told."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Log:
    """Lines to a pipe, read back."""

    def __init__(self) -> None:
        self.stream = io.StringIO()
        self.clock = Ticking()
        self.lines = Lines(configure_log(Console(file=self.stream)), self.clock)

    @property
    def said(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.stream.getvalue().splitlines()]


# --- lines ------------------------------------------------------------------------------------------------------------


def test_every_event_is_one_json_line_with_a_level_and_a_time() -> None:
    log = Log()
    for event in EVERY_EVENT:
        log.lines(event)
    assert len(log.said) == len(EVERY_EVENT)
    for line in log.said:
        assert {"event", "level", "timestamp"} <= set(line)
    assert [line["level"] for line in log.said].count("warning") == 1


def test_a_remarks_details_cannot_pass_for_the_logs_own_fields() -> None:
    log = Log()
    log.lines(Remark("behind", details={"event": "x", "level": "y"}))
    (line,) = log.said
    assert (line["event"], line["level"], line["details"]) == ("behind", "info", {"event": "x", "level": "y"})


def test_a_step_says_its_progress_once_in_a_few_seconds() -> None:
    log = Log()
    for number in range(100):
        log.lines(scanned(number))
        log.clock.now += 0.2
    assert [line["scanned"] for line in log.said] == [0, 25, 50, 75]


def test_two_steps_do_not_silence_each_other() -> None:
    log = Log()
    log.lines(scanned(1))
    log.lines(scanned(2, step="1.apply.0"))
    log.lines(scanned(3, stage="check"))
    assert [line["scanned"] for line in log.said] == [1, 2, 3]


def test_a_change_of_an_index_is_said_at_once() -> None:
    log = Log()
    log.lines(polled())
    log.lines(polled(seconds=253.0))
    log.lines(polled(index_status="ACTIVE", backfilling=False))
    assert [line["index_status"] for line in log.said] == ["CREATING", "ACTIVE"]


def test_a_start_and_a_finish_are_never_left_out() -> None:
    log = Log()
    for _ in range(3):
        log.lines(STEP)
        log.lines(StepFinished("r1", "0.apply.0", "done"))
    assert len(log.said) == 6


def test_what_cloudwatch_does_not_say_is_unknown_never_zero() -> None:
    log = Log()
    log.lines(polled(metrics=BuildMetrics(), backfilling=None))
    (line,) = log.said
    assert line["progress"] is None
    for word in ("progress unknown", "units unknown", "throttles unknown", "backfilling: not said"):
        assert word in line["about"]
    assert "0 %" not in line["about"]


def test_an_index_that_is_not_being_built_has_no_progress_to_tell() -> None:
    log = Log()
    log.lines(polled(index_status=None, backfilling=None, table_status="ACTIVE", metrics=BuildMetrics()))
    (line,) = log.said
    assert line["about"] == "not listed, 4 m 12 s"


def test_numbers_in_the_log_have_at_most_three_decimals() -> None:
    log = Log()
    log.lines(polled(seconds=0.0952861490000032))
    log.lines(Waiting("throttled", 0.4372888988129556))
    assert [line["seconds"] for line in log.said] == [0.095, 0.437]


# --- bars -------------------------------------------------------------------------------------------------------------


class Screen:
    """A terminal of 100 columns; `drawn` is what is live on it now."""

    def __init__(self) -> None:
        self.stream = io.StringIO()
        self.clock = Ticking()
        self.console = Console(
            file=self.stream,
            width=100,
            height=50,
            force_terminal=True,
            color_system=None,
            markup=False,
            highlight=False,
        )
        self.bars = Bars(self.console, configure_log(self.console), self.clock)

    @property
    def drawn(self) -> str:
        with self.console.capture() as captured:
            self.console.print(self.bars.drawn())
        return captured.get()

    @property
    def printed(self) -> str:
        return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", self.stream.getvalue())


def test_the_bars_show_items_segments_units_and_the_reason_for_a_wait() -> None:
    screen = Screen()
    for event in (STARTED, STEP, scanned(410), Waiting("budget of 500 write units/s", 12.0)):
        screen.bars(event)
    drawn = screen.drawn
    for words in (
        "0.apply.0 backfill app: set GSI2PK",
        "41 %",
        "410 of about 1,000 items, 3 of 8 segments, 205 written, 1 failed, 480 WU/s, 900 RU/s",
        "waiting: budget of 500 write units/s (12 s)",
    ):
        assert words in drawn
    assert all(len(line.rstrip()) <= 100 for line in drawn.splitlines())


def test_a_wait_counts_down_and_goes_when_it_is_over_or_units_flow_again() -> None:
    screen = Screen()
    screen.bars(Waiting("throttled", 12.0))
    screen.clock.now += 5
    assert "waiting: throttled (7 s)" in screen.drawn
    screen.clock.now += 8
    assert "waiting" not in screen.drawn
    screen.bars(Waiting("lock held by ci-7"))
    screen.clock.now += 500
    assert "waiting: lock held by ci-7" in screen.drawn
    screen.bars(scanned(1))
    assert "waiting" not in screen.drawn


def test_the_bars_show_an_index_build_with_what_is_known_of_it() -> None:
    screen = Screen()
    screen.bars(polled())
    drawn = screen.drawn
    assert "index ByAssignee of prod-saas" in drawn
    assert "CREATING, table UPDATING, backfilling, 34 %, 512 WU/s, no throttles, 4 m 12 s" in drawn
    screen.bars(polled(metrics=BuildMetrics()))
    assert "? %" in screen.drawn
    assert "0 %" not in screen.drawn


def test_a_scan_past_the_approximate_count_is_measured_by_segments() -> None:
    screen = Screen()
    screen.bars(STEP)
    screen.bars(scanned(1200))
    assert "38 %" in screen.drawn
    screen.bars(scanned(1200, approximate_items=None))
    assert "38 %" in screen.drawn


def test_the_time_left_is_said_only_once_it_means_something() -> None:
    screen = Screen()
    screen.bars(STEP)
    screen.bars(scanned(100))
    assert "left" not in screen.drawn
    screen.clock.now += 20
    screen.bars(scanned(300))
    assert "about 1 m 10 s left" in screen.drawn


def test_what_is_done_stays_on_the_screen_and_leaves_the_bars() -> None:
    screen = Screen()
    with screen.bars:
        for event in EVERY_EVENT:
            screen.bars(event)
    assert screen.drawn.strip() == ""
    for words in (
        "upgrade r1 Assignee keys (2 of 3)",
        "done 0.apply.0: 835 scanned, 9 written",
        "r1 applied in 8 m 40 s",
        "an old writer may be live",
    ):
        assert words in screen.printed


def test_a_title_with_brackets_is_shown_as_it_is() -> None:
    screen = Screen()
    screen.bars(StepStarted("r1", "0.apply.0", "run [red]f[/red]() on app"))
    assert "run [red]f[/red]() on app" in screen.drawn


@pytest.mark.parametrize("shown", ["lines", "bars"])
def test_events_may_arrive_from_several_threads(shown: str) -> None:
    log, screen = Log(), Screen()
    report: Callable[[Event], None] = log.lines if shown == "lines" else screen.bars

    def work(number: int) -> None:
        for turn in range(50):
            report(StepStarted(f"r{number}", "0", "step"))
            report(scanned(turn, revision=f"r{number}", step="0"))
            report(Remark("x"))
            report(StepFinished(f"r{number}", "0", "done"))

    with screen.bars, ThreadPoolExecutor(4) as threads:
        for ended in [threads.submit(work, number) for number in range(4)]:
            ended.result(60)
    if shown == "lines":
        assert sum(line["event"] == "step finished" for line in log.said) == 200
    else:
        assert screen.printed.count("done 0: done") == 200


# --- which of them ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("terminal", "kind"), [(True, Bars), (False, Lines)])
def test_a_terminal_gets_bars_and_everything_else_gets_lines(
    monkeypatch: pytest.MonkeyPatch, terminal: bool, kind: type
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    console = Console(file=io.StringIO(), force_terminal=terminal, width=100)
    with open_progress(console, configure_log(console), Ticking()) as report:
        assert isinstance(report, kind)


def test_a_piped_run_logs_json_lines_on_stderr_and_only_the_result_on_stdout(call: Call) -> None:
    said = call("upgrade -o json", FakeHouse(upgrade=RUN, events=EVERY_EVENT))
    assert said.document["state"] == "applied"
    assert [line["event"] for line in said.log][:2] == ["revision started", "step started"]


# --- pace -------------------------------------------------------------------------------------------------------------


def test_the_pace_is_silent_without_a_count_early_and_past_the_count() -> None:
    pace = Pace()
    assert pace.left(1000) is None
    pace.saw(0, 0)
    pace.saw(20, 100)
    assert pace.left(None) is None
    assert pace.left(100_000) is None
    assert pace.left(100) is None
    assert pace.left(1000) == pytest.approx(180)


def test_the_pace_is_that_of_the_last_minute() -> None:
    pace = Pace()
    for second in range(100):
        pace.saw(second, second * 100)
    for second in range(100, 200):
        pace.saw(second, 10_000 + (second - 100))
    assert pace.left(20_000) == pytest.approx(20_000 - 10_099, rel=0.05)


def test_a_second_pass_is_timed_anew() -> None:
    pace = Pace()
    pace.saw(0, 0)
    pace.saw(100, 900)
    pace.saw(101, 10)
    assert pace.left(1000) is None
