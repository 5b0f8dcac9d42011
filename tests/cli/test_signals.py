"""SIGINT and SIGTERM against the real program, with a runner that checkpoints when it is asked to stop."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")

PROGRAM = """
import dataclasses, sys, time
from migrator.cli.main import main
from migrator.errors import Interrupted
from tests.cli import samples
from tests.cli.house import FakeHouse

def until_stopped(runner):
    sys.stderr.write("running\\n"); sys.stderr.flush()
    assert runner.stopping.wait(30)
    time.sleep({checkpoint})
    {ending}

def slowly():
    sys.stderr.write("running\\n"); sys.stderr.flush()
    time.sleep(30)

class SlowToOpen(FakeHouse):
    def open_project(self, *words):
        slowly()

house = {house}
sys.exit(main({words!r}, house))
"""
STOPPED = "return dataclasses.replace(samples.RUN, state='stopped', exit_code=128 + runner.stopped[0])"
INTERRUPTED = "raise Interrupted('interrupted', 'stopped at a checkpoint', hint='migrator upgrade')"
FINISHED = "return samples.RUN"
RUNS = "FakeHouse(upgrade=until_stopped)"


def run(
    numbers: list[int], ending: str = STOPPED, *, house: str = RUNS, checkpoint: float = 0.0, gap: float = 0.0
) -> tuple[int, str, str]:
    """The exit code, stdout and stderr of a program that gets these signals while it runs."""
    import time

    program = PROGRAM.format(ending=ending, house=house, checkpoint=checkpoint, words=["upgrade", "-o", "json"])
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "running\n"
        for number in numbers:
            process.send_signal(number)
            time.sleep(gap)
        out, err = process.communicate(timeout=60)
        return process.returncode, out, err


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("ending", [STOPPED, INTERRUPTED])
def test_a_signal_stops_the_run_at_a_checkpoint_and_is_its_exit_code(number: int, code: int, ending: str) -> None:
    returned, out, err = run([number], ending)
    assert returned == code, err
    assert json.loads(out)["exit_code"] == code
    assert "Traceback" not in err
    first = json.loads(err.splitlines()[0])
    assert (first["event"], first["signal"]) == ("stopping at the next checkpoint", signal.Signals(number).name)


def test_a_second_signal_does_not_abort_the_checkpoint() -> None:
    returned, out, err = run([signal.SIGTERM, signal.SIGINT, signal.SIGINT], checkpoint=0.8, gap=0.1)
    assert returned == 143
    assert json.loads(out)["state"] == "stopped"
    assert [json.loads(line)["event"] for line in err.splitlines()] == [
        "stopping at the next checkpoint",
        "already stopping: the checkpoint is being saved",
        "already stopping: the checkpoint is being saved",
    ]


def test_a_run_that_was_done_before_the_signal_reached_it_keeps_its_result() -> None:
    returned, out, _ = run([signal.SIGINT], FINISHED)
    assert returned == 0
    assert json.loads(out)["state"] == "applied"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_before_anything_was_begun_ends_at_once(number: int, code: int) -> None:
    returned, out, err = run([number], house="SlowToOpen()")
    assert returned == code, err
    assert json.loads(out)["error"]["code"] == "interrupted"
    assert "Traceback" not in err
