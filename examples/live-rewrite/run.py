"""The help desk changes its keys under load: forward, back, forward again, and to the end.

`python examples/live-rewrite/run.py` prints what happened, and exits 1 where anything was lost, undone or refused.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config
from load import TEAMS, Load
from service import HelpDesk, HelpDeskByStatus, Item, content

from migrator.runtime import PhaseReader, RewritingClient

HERE = Path(__file__).resolve().parent
TABLE, REVISION = "local-help-desk", "20260915090000"
RELEASE = "the second release, one instance after the other"
COMMANDS = (
    ("upgrade", 9, {"old"}),
    ("upgrade --app-ready", 9, {"old", "new"}),
    ("cutover", 9, {"old", "new"}),
    ("rollback", 0, {"old"}),
    ("upgrade", 9, {"old"}),
    ("upgrade --app-ready", 9, {"old", "new"}),
    ("cutover", 9, {"old", "new"}),
    (RELEASE, 0, {"old", "new"}),
    ("contract --yes", 0, {"new"}),
)
"""What is typed, its exit code, and on which sides every ticket stands afterwards."""


@dataclass
class Demonstration:
    folder: Path
    lease: float
    attempt: float
    endpoint: str = ""
    faults: list[str] = field(default_factory=list)

    def migrator(self, line: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "migrator", *line.split()],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "XDG_RUNTIME_DIR": str(self.folder)},
        )

    def client(self) -> Any:
        """As a service opens one: an attempt ends within the time that the rewrite allows for it."""
        return boto3.client(
            "dynamodb",
            endpoint_url=self.endpoint,
            region_name="eu-west-1",
            aws_access_key_id="sandbox",
            aws_secret_access_key="sandbox",
            config=Config(
                connect_timeout=self.attempt / 3,
                read_timeout=self.attempt * 2 / 3,
                max_pool_connections=20,
                retries={"mode": "standard"},
            ),
        )

    def begin(self) -> None:
        """The project on a sandbox of its own, with the table as the first revision makes it."""
        shutil.copytree(HERE / "project", self.folder, dirs_exist_ok=True)
        started = json.loads(self.migrator("sandbox start --detach --port 0 -o json").stdout)
        self.endpoint = started["endpoint"]
        config = self.folder / "migrator.toml"
        text = config.read_text(encoding="utf-8").replace("http://127.0.0.1:4566", self.endpoint)
        for name, seconds in (("reader_lease", self.lease), ("attempt_time", self.attempt)):
            text = re.sub(rf'{name} = "[^"]+"', f'{name} = "{seconds:g}s"', text)
        config.write_text(text, encoding="utf-8")
        self.command("upgrade +1", 0)

    def command(self, line: str, code: int) -> float:
        began = time.monotonic()
        done = self.migrator(line)
        if done.returncode != code:
            self.faults.append(f"migrator {line}: exit {done.returncode}, not {code}\n{done.stdout}{done.stderr}")
            raise SystemExit("\n".join(self.faults))
        return time.monotonic() - began

    # --- the ledger against the table

    def compare(self, load: Load, client: Any, sides: set[str], after: str) -> int:
        """Every ticket that is acknowledged stands on these sides as the ledger has it, and no other does."""
        with load.still():
            pages = client.get_paginator("scan").paginate(TableName=TABLE, ConsistentRead=True)
            items = [item for page in pages for item in page["Items"]]
            wanted = load.ledger.expected()
        teams = {item["PK"]["S"]: item for item in items if item["SK"]["S"] == "TEAM"}
        found: dict[str, dict[tuple[str, int], Item]] = {"old": {}, "new": {}}
        for item in items:
            kind, _, rest = item["SK"]["S"].partition("#")
            if kind not in ("TICKET", "STATUS"):
                continue
            number = rest.rpartition("#")[2]
            if kind == "STATUS" and item["SK"]["S"] != f"STATUS#{item['status']['S']}#{number}":
                self.faults.append(f"after {after}: {item['SK']['S']} of status {item['status']['S']}")
            place = item["PK"]["S"].partition("#")[2], int(number)
            if place in found["old" if kind == "TICKET" else "new"]:
                self.faults.append(f"after {after}: {place} stands twice")
            found["old" if kind == "TICKET" else "new"][place] = content(item)
        for side, there in found.items():
            known = wanted if side in sides else {}
            lost = [f"lost: {place}" for place in known.keys() - there.keys()]
            undone = [f"undone: {place}" for place in there.keys() - known.keys()]
            differs = [
                f"differs: {place} is {there[place]}, not {known[place]}"
                for place in known.keys() & there.keys()
                if there[place] != known[place]
            ]
            self.faults += [f"after {after}, {side} side, {text}" for text in (*lost, *undone, *differs)]
        for team in TEAMS:
            count = int(teams[f"TEAM#{team}"]["tickets"]["N"])
            if count != sum(place[0] == team for place in wanted):
                self.faults.append(f"after {after}: team {team} counts {count} tickets")
        return len(wanted)


def main(*, lease: float, attempt: float, users: int, pause: float, quiet: float) -> int:
    with ExitStack() as stack:
        here = Demonstration(Path(stack.enter_context(tempfile.TemporaryDirectory())), lease, attempt)
        stack.callback(here.migrator, "sandbox stop")
        here.begin()
        plain = here.client()
        stack.callback(plain.close)
        # Two instances of the service: they hear of a phase each at its own time.
        clients = []
        for name in ("desk-1", "desk-2"):
            client = here.client()
            stack.callback(client.close)
            reader = stack.enter_context(
                PhaseReader(client, table=TABLE, revision=REVISION, name=name, lease_seconds=lease)
            )
            clients.append((client, reader))
        desks = [HelpDesk(RewritingClient(*one, form="old"), TABLE) for one in clients]
        load = Load(desks, users, pause)
        load.start()
        began = time.monotonic()
        compared = 0
        try:
            time.sleep(quiet)
            for line, code, sides in COMMANDS:
                load.stages.append(type(load.stage)(line))
                took = release(load, clients, quiet) if line == RELEASE else here.command(line, code)
                load.stages.append(type(load.stage)(f"  after {line}, {took:.0f} s"))
                compared += here.compare(load, plain, sides, line)
                time.sleep(quiet)
        finally:
            load.end()
        here.compare(load, plain, {"new"}, "the end")
        return report(here, load, compared, time.monotonic() - began)


def release(load: Load, clients: list[tuple[Any, PhaseReader]], seconds: float) -> float:
    """What is rolled out between cutover and contract: code that knows the new keys alone."""
    for number, one in enumerate(clients):
        load.desks[number] = HelpDeskByStatus(RewritingClient(*one, form="new"), TABLE)
        time.sleep(seconds)
    return seconds * len(clients)


def report(here: Demonstration, load: Load, compared: int, seconds: float) -> int:
    print(f"{'while':42}{'requests':>10}{'p50':>9}{'p99':>9}{'longest':>9}{'again':>7}{'failed':>8}{'wrong':>7}")
    for stage in load.stages:
        if not stage.seconds:
            continue
        times = sorted(stage.seconds)
        figures = (statistics.median(times), times[int(len(times) * 0.99)], times[-1])
        shown = "".join(f"{1000 * one:6.0f} ms" for one in figures)
        print(f"{stage.name:42}{len(times):10}{shown}{stage.conflicts:7}{len(stage.failed):8}{len(stage.wrong):7}")
    failed = [text for stage in load.stages for text in stage.failed]
    wrong = [text for stage in load.stages for text in stage.wrong]
    lost = sum(", lost: " in text for text in here.faults)
    undone = sum(", undone: " in text for text in here.faults)
    requests = sum(len(stage.seconds) for stage in load.stages)
    print(
        f"\n{requests} requests in {seconds:.0f} s; {len(load.ledger.tickets)} tickets in the ledger at the end, "
        f"{sum(load.ledger.watched.values())} watchers counted; {compared} tickets compared after the commands"
    )
    print(
        f"{lost} lost, {undone} undone, {len(here.faults) - lost - undone} different, "
        f"{len(failed)} requests failed, {len(wrong)} reads wrong"
    )
    for text in (*here.faults, *failed, *wrong)[:20]:
        print(text, file=sys.stderr)
    return 1 if here.faults or failed or wrong else 0


if __name__ == "__main__":
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--lease", type=float, default=3.0, help="seconds an instance may rely on a phase it read")
    given.add_argument("--attempt", type=float, default=3.0, help="seconds one attempt of a request may last")
    given.add_argument("--pause", type=float, default=0.02, help="seconds a user thinks, on average")
    given.add_argument("--users", type=int, default=8, help="threads")
    given.add_argument("--quiet", type=float, default=2.0, help="seconds between commands")
    sys.exit(main(**vars(given.parse_args())))
