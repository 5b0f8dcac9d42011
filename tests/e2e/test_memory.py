"""The peak of memory does not grow with the table."""

from __future__ import annotations

import re
import sys

import pytest

from tests.e2e.conftest import NewProject
from tests.e2e.project import Project, Running, tasks

WRITTEN = "Backfill(where={'rare': 'yes'}, set={'GSI1PK': 'OWNER#{owner}'}),"
EVERY = "Backfill(where={'entity': 'Task'}, set={'GSI1PK': 'OWNER#{owner}'}),"

# Not ru_maxrss, which a child of vfork inherits from its parent: the test with its engine is larger than the tool.
MEASURED = """
import re, sys
from migrator.cli.main import main
code = main(sys.argv[1:])
print(re.search(r"VmHWM:.*", open("/proc/self/status").read())[0], file=sys.stderr)
sys.exit(code)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak of a process from /proc")
@pytest.mark.parametrize(
    ("small", "large", "operations", "every"),
    [
        pytest.param(2_000, 20_000, WRITTEN, 10, id="20000 items of which every tenth is written"),
        pytest.param(20_000, 200_000, EVERY, 1, id="200000 items", marks=[pytest.mark.deep, pytest.mark.timeout(7200)]),
    ],
)
def test_a_table_of_many_times_the_size_takes_no_more_memory(
    new_project: NewProject, small: int, large: int, operations: str, every: int
) -> None:
    peaks = [_peak(new_project(), count, operations, every) for count in (small, large)]
    assert peaks[1] < peaks[0] * 1.15, peaks


def _peak(project: Project, count: int, operations: str, every: int) -> int:
    """KiB at most, of an upgrade over `count` items."""
    project.configure(segments=4)
    project.make_table()
    # Large enough for the service's pages of 1 MB to be full in the small table too: they are what memory holds.
    note = {"note": {"S": "x" * 5_000}}
    rare = {**note, "rare": {"S": "yes"}}
    project.put({**item, **(note if number % every else rare)} for number, item in enumerate(tasks(count)))
    project.migration("0001", operations)
    words = [sys.executable, "-c", MEASURED, "upgrade", "--from-base"]
    done = Running(words, project.folder, project.environment(), project.logs / "measured").wait(3600)
    assert done.code == 0, done
    assert project.written() == count // every
    found = re.search(r"VmHWM:\s+(\d+) kB", done.err)
    assert found is not None
    return int(found[1])


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak of a process from /proc")
def test_a_list_of_many_times_as_many_violators_takes_no_more_memory(new_project: NewProject) -> None:
    peaks = [_peak_of_a_look(new_project(), count) for count in (8_000, 32_000)]
    assert peaks[1] < peaks[0] * 1.15, peaks


def _peak_of_a_look(project: Project, count: int) -> int:
    """KiB at most, of listing `count` violators; the fewer ones fill the service's pages of 1 MB too."""
    project.configure(segments=4)
    project.make_table()
    project.put({**item, "score": {"S": "high"}, "note": {"S": "x" * 2_200}} for item in tasks(count))
    project.migration("0001", 'AddIndex("by-score", partition_key=N("score")),')
    words = [sys.executable, "-c", MEASURED, "violations", "by-score", "--out", "all.csv"]
    done = Running(words, project.folder, project.environment(), project.logs / "measured").wait(600)
    assert done.code == 3, done
    assert len((project.folder / "all.csv").read_text().splitlines()) == count + 1
    found = re.search(r"VmHWM:\s+(\d+) kB", done.err)
    assert found is not None
    return int(found[1])
