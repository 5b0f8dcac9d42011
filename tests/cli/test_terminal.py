"""The whole program on a real (pseudo) terminal."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo terminals are POSIX")

PROGRAM = """
import sys, time
from migrator.cli.main import main
from tests.cli import samples
from tests.cli.house import FakeHouse
from tests.cli.test_progress import EVERY_EVENT, STARTED, STEP, scanned

def work(runner):
    for event in (STARTED, STEP, scanned(410)):
        runner.report(event)
    time.sleep(0.6)  # two turns of the display
    for event in EVERY_EVENT:
        runner.report(event)
    return samples.RUN

sys.exit(main(["upgrade"], FakeHouse(upgrade=work)))
"""


def seen() -> tuple[int, str]:
    """The exit code and everything that was written to a terminal of 100 columns."""
    import pty

    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", "LINES": "40"},
    ) as process:
        os.close(theirs)
        written = b""
        try:
            while chunk := os.read(ours, 65536):
                written += chunk
        except OSError:  # how Linux says that the other side has closed
            pass
        finally:
            os.close(ours)
        return process.wait(60), written.decode()


def test_a_terminal_sees_bars_then_lines_of_what_is_done_then_the_result_and_what_to_do_next() -> None:
    code, written = seen()
    assert code == 0
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", written).replace("\r", "")
    places = [
        plain.index(words)
        for words in (
            "upgrade r1 Assignee keys (2 of 3)",
            "410 of about 1,000 items, 3 of 8 segments",
            "done 0.apply.0: 835 scanned, 9 written",
            "r1 applied in 8 m 40 s",
            "applied: prod (account 222222222222, eu-west-1)",
        )
    ]
    assert places == sorted(places)
    assert plain.rstrip().splitlines()[-1] == "next: nothing to do"
    assert '{"' not in plain
    assert "\x1b[?25h" in written, "the cursor is shown again"
