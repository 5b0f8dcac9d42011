"""One measurement, in a process of its own: `python -m tests.benchmarks.client VARIANT URL`; prints JSON."""

from __future__ import annotations

import cProfile
import json
import os
import pstats
import re
import resource as usage
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from migrator.config import ControlConfig, Limits, Settings, TableConfig
from migrator.core.events import Event, Report, RevisionFinished
from migrator.core.graph import Graph
from migrator.core.plan import Migration
from migrator.core.schema import KeyAttribute, Table
from migrator.dynamo.client import connect
from migrator.dynamo.credentials import Connection
from migrator.dynamo.items import DynamoItems
from migrator.dynamo.layout import Layout
from migrator.dynamo.retry import Retry
from migrator.machine import SystemClock, SystemEntropy
from migrator.operations import Backfill
from migrator.runner.runner import Runner
from migrator.runner.session import Caller, Ports, Session
from migrator.testing.memory import World
from migrator.wire.items import FastItems
from migrator.wiring import spare_the_collector
from tests.benchmarks import scripts
from tests.benchmarks.canned import TABLE

_LAYOUT = Layout(TABLE, "PK", "SK")


def upper(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """A transform written as a function."""
    return {"GSI1PK": f"TENANT#{item['tenantId']}#PROJECT#{item['projectId']}", "upper": item["name"].upper()}


TEMPLATE = Backfill(set={"GSI1PK": "TENANT#{tenantId}#PROJECT#{projectId}"}, check="none", undo="none")
FUNCTION = Backfill(transform=upper, check="none", undo="none")


def runner(operation: Backfill, items: DynamoItems | FastItems, report: Report) -> Runner:
    """A whole run, with lock, guards, checkpoints and pace; the control records are kept in memory."""
    world = World()
    world.tables.add(TABLE, Table("app", KeyAttribute("PK"), KeyAttribute("SK")))
    migration = Migration("001", (), (operation,), "bench", "001.py", "checksum", "content")
    settings = Settings(
        env="bench",
        project_root=Path("/bench"),
        script_location=Path("/bench/migrations"),
        file_template="{rev}_{slug}",
        default_table="app",
        tables={"app": TableConfig(TABLE)},
        control=ControlConfig(),
        # A profile sees one thread.
        limits=Limits(workers=1) if os.environ.get("ONE") or os.environ.get("PROFILE") else Limits(),
    )
    clock, entropy = SystemClock(), SystemEntropy()
    ports = Ports(world.tables, world.metrics, lambda _: items, lambda _: world.records, clock, entropy, world.queries)
    caller = Caller("000000000000", "arn:bench", "eu-west-1", "", "bench", "host", "", "0")
    return Runner(Session(settings, Graph((migration,)), ports, caller, report))


def upgrade(operation: Backfill, items: DynamoItems | FastItems) -> int:
    finished: list[RevisionFinished] = []

    def report(event: Event) -> None:
        if isinstance(event, RevisionFinished):
            finished.append(event)

    result = runner(operation, items, report).upgrade(from_base=True)
    assert result.state == "applied", result
    counts = finished[0].counts
    assert counts.failed == counts.conflicts == 0
    return counts.scanned


def variant(name: str, url: str, stack: ExitStack) -> Callable[[], int]:
    """What is measured; connecting is not."""
    if name == "a":
        return lambda: scripts.resource(url)
    if name == "a-read":
        return lambda: scripts.resource_reading(url)
    if name == "b":
        return lambda: scripts.batches(url)
    clock, entropy = SystemClock(), SystemEntropy()
    clients = stack.enter_context(connect(Connection("eu-west-1", url), os.environ))
    retry = Retry(clock, entropy)
    if name.startswith("c"):
        boto = stack.enter_context(DynamoItems(clients, retry, entropy, _LAYOUT))
        return lambda: upgrade(TEMPLATE, boto)
    fast = stack.enter_context(FastItems(clients, retry, clock, entropy, _LAYOUT))
    fast.try_out(TABLE)
    if name == "e":
        return lambda: scripts.bare(fast)
    return lambda: upgrade(FUNCTION if "function" in name else TEMPLATE, fast)


def main(name: str, url: str) -> None:
    spare_the_collector()
    with ExitStack() as stack:
        run = variant(name, url, stack)
        profile = cProfile.Profile() if os.environ.get("PROFILE") else None
        before = usage.getrusage(usage.RUSAGE_SELF)
        began = time.perf_counter()
        count = run() if profile is None else profile.runcall(run)
        seconds = time.perf_counter() - began
        after = usage.getrusage(usage.RUSAGE_SELF)
        if profile is not None:
            pstats.Stats(profile, stream=sys.stderr).sort_stats("tottime").print_stats(45)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(
        json.dumps(
            {"items": count, "cpu": cpu, "seconds": seconds, "system": after.ru_stime - before.ru_stime, "peak": peak()}
        )
    )


def peak() -> int:
    """KiB at most, of this process alone: ru_maxrss is inherited by a child of vfork."""
    try:
        found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    except OSError:
        found = None
    return int(found[1]) if found else usage.getrusage(usage.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    main(*sys.argv[1:])
