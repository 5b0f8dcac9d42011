"""`upgrade --engine spark`: segments as tasks of a local master; skipped where PySpark or Java are not there."""

from __future__ import annotations

import os
import shutil
import signal
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.e2e.project import Project, tasks

pytestmark = [
    pytest.mark.deep,
    pytest.mark.timeout(900),
    pytest.mark.skipif(
        find_spec("pyspark") is None or shutil.which("java") is None, reason="PySpark and Java are needed"
    ),
]

OWNERS = 'Backfill(where={"entity": "Task"}, set={"GSI1PK": "OWNER#{owner}"}),'
FUNCTION = 'Backfill(transform=label, once=True, undo="journal"),'
CODE = """
def label(item):
    return {"name": item["name"] + "!"}
"""
SPARK = ("upgrade", "--from-base", "--engine", "spark", "--master", "local[2,4]", "-o", "json")


@pytest.fixture
def spark(project: Project) -> Project:
    made = {name: os.environ[name] for name in ("JAVA_HOME",) if name in os.environ}
    # PySpark leaves its own streams open.
    project.environ |= {"PYTHONWARNINGS": "", **made}
    return project


def executors(pid: int) -> list[int]:
    """The Python workers below a driver."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
            parents[int(stat.parent.name)] = int(fields[1])
        except OSError:
            continue
    below, found = {pid}, []
    for child in sorted(parents):
        if parents[child] in below:
            below.add(child)
            try:
                command = Path(f"/proc/{child}/cmdline").read_text()
            except OSError:
                continue
            if "pyspark.daemon" in command and "pyspark.daemon" in Path(f"/proc/{parents[child]}/cmdline").read_text():
                found.append(child)
    return found


def test_spark_brings_about_what_one_process_does_with_the_same_counts(spark: Project) -> None:
    spark.configure(segments=6)
    spark.migration("0001", OWNERS)
    spark.migration("0002", FUNCTION, down="0001", code=CODE)
    spark.put(tasks(300))
    done = spark.ok(*SPARK, timeout=240)
    counts = [one["counts"] for one in done.document["outcomes"]]
    assert [(one["scanned"], one["written"], one["failed"]) for one in counts] == [(300, 300, 0), (300, 300, 0)]
    items = spark.items()
    assert all(item["GSI1PK"]["S"] == f"OWNER#{item['owner']['S']}" for item in items)
    assert all(item["name"]["S"].count("!") == 1 for item in items), "each exactly once"


def test_an_executor_that_is_killed_is_made_up_for(spark: Project) -> None:
    spark.configure(segments=6, write_units=50)
    spark.migration("0001", FUNCTION, code=CODE)
    spark.put(tasks(400))
    running = spark.start(*SPARK)
    spark.until(lambda: spark.written() > 40, 180)
    os.kill(executors(running.process.pid)[0], signal.SIGKILL)
    done = running.wait(240)
    assert (done.code, done.document["state"]) == (0, "applied"), done
    (outcome,) = done.document["outcomes"]
    counts = outcome["counts"]
    # What a killed attempt wrote after its last checkpoint is found done by the next one.
    assert (counts["scanned"], counts["written"] + counts["unchanged"], counts["failed"]) == (400, 400, 0)
    items = spark.items()
    assert len(items) == 400
    assert all(item["name"]["S"].count("!") == 1 for item in items), "each exactly once"


def test_a_signal_to_the_driver_stops_the_tasks_at_a_checkpoint(spark: Project) -> None:
    spark.configure(segments=6, write_units=50)
    spark.migration("0001", OWNERS)
    spark.put(tasks(900))
    running = spark.start(*SPARK)
    spark.until(lambda: spark.written() > 40, 180)
    running.kill(signal.SIGTERM)
    done = running.wait(60)
    assert done.code == 143, done
    assert not spark.holds_lock()
    spark.configure(segments=6)
    spark.ok("upgrade", "--from-base")
    assert all("GSI1PK" in item for item in spark.items())
