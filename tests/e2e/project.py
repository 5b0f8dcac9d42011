"""A project in a folder of its own, and the command run in it as a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import migrator
from migrator.sandbox import Sandbox
from tests.e2e.wire import CONTROL, Sent, Wire

ROOT = Path(migrator.__file__).resolve().parents[1]
REGION = "eu-west-1"
Item = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Done:
    """A process that ended: its exit code, what it wrote, and how many seconds it took."""

    code: int
    out: str
    err: str
    seconds: float = 0.0

    @property
    def document(self) -> dict[str, Any]:
        found = json.loads(self.out)
        assert isinstance(found, dict)
        return found

    @property
    def last_line(self) -> str:
        return self.out.rstrip().rsplit("\n", 1)[-1]

    def __str__(self) -> str:
        return f"exit {self.code} after {self.seconds:.1f} s\n--- stdout\n{self.out}\n--- stderr\n{self.err}"


class Running:
    """The command under way. What it writes goes to files, so that nothing waits for a reader."""

    def __init__(self, words: Sequence[str], folder: Path, environ: Mapping[str, str], logs: Path):
        self.began = time.monotonic()
        self._logs = logs
        with open(logs.with_suffix(".out"), "wb") as out, open(logs.with_suffix(".err"), "wb") as err:
            self.process = subprocess.Popen(words, cwd=folder, env=dict(environ), stdout=out, stderr=err)
        self.app = environ.get("AWS_SDK_UA_APP_ID", "")

    def kill(self, number: int = signal.SIGKILL) -> None:
        self.process.send_signal(number)

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    @property
    def err(self) -> str:
        return self._logs.with_suffix(".err").read_text()

    def wait(self, timeout: float = 90.0) -> Done:
        try:
            code = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"it still ran after {timeout} s:\n{self.err}") from None
        seconds = time.monotonic() - self.began
        return Done(code, self._logs.with_suffix(".out").read_text(), self.err, seconds)


@dataclass
class Project:
    """A folder with migrator.toml and migrations, on an account of the sandbox that nobody else uses."""

    folder: Path
    logs: Path
    sandbox: Sandbox
    wire: Wire
    account: str
    table: str = "local-app"
    transport: str = "boto3"
    environ: dict[str, str] = field(default_factory=dict)
    _started: list[Running] = field(default_factory=list)

    # --- the command --------------------------------------------------------------------------------------------------

    def environment(self, app: str = "") -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR", "LANG", "LC_ALL") if name in os.environ}
        nowhere = str(self.logs / "no-aws-files")
        made = {
            "PYTHONPATH": str(ROOT),
            "PYTHONWARNINGS": "error::ResourceWarning",
            "AWS_ACCESS_KEY_ID": self.account,
            "AWS_SECRET_ACCESS_KEY": "sandbox",
            "AWS_CONFIG_FILE": nowhere,
            "AWS_SHARED_CREDENTIALS_FILE": nowhere,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_SDK_UA_APP_ID": app or f"run-{len(self._started)}",
            "USER": "tester",
        }
        return {name: text for name, text in (kept | made | self.environ).items() if text}

    def start(self, *words: str, app: str = "") -> Running:
        logs = self.logs / f"{len(self._started)}"
        running = Running([sys.executable, "-m", "migrator", *words], self.folder, self.environment(app), logs)
        self._started.append(running)
        return running

    def run(self, *words: str, timeout: float = 90.0) -> Done:
        """Run it to its end. No outcome, good or bad, may be a traceback."""
        done = self.start(*words).wait(timeout)
        assert "Traceback" not in done.err + done.out, done
        return done

    def run_all(self, *lines: str, json: bool = False) -> list[Done]:
        """Run commands side by side, which only those may be that change nothing."""
        started = [self.start(*line.split(), *(("-o", "json") if json else ())) for line in lines]
        found = [one.wait() for one in started]
        assert not [done for done in found if "Traceback" in done.err + done.out]
        return found

    def ok(self, *words: str, code: int = 0, timeout: float = 90.0) -> Done:
        done = self.run(*words, timeout=timeout)
        assert done.code == code, done
        return done

    def refused(self, code: str, *words: str, exit_code: int) -> Done:
        """Run what must be refused: with this error code, a hint of what to do, and without any change."""
        with self.changing_nothing():
            done = self.run(*words)
        assert (done.code, f"error[{code}]" in done.err) == (exit_code, True), done
        assert "hint:" in done.err, done
        return done

    def end_all(self) -> None:
        for running in self._started:
            if running.is_alive:
                running.process.kill()
            running.process.wait()

    # --- files --------------------------------------------------------------------------------------------------------

    def configure(self, *, control: str = "", env: str = "", tables: str = "", **limits: object) -> None:
        """Write migrator.toml; limits such as lease="2s"."""
        given = {"poll_interval": "100ms", "lease": "30s", **limits}
        shown = ", ".join(f"{name} = {json.dumps(value)}" for name, value in given.items())
        (self.folder / "migrations").mkdir(exist_ok=True)
        (self.folder / "migrator.toml").write_text(
            f"""
default_env = "local"
default_table = "app"
{tables or f'tables.app.name = "{self.table}"'}
{control}
[env.local]
endpoint_url = "{self.sandbox.endpoint_url}"
region = "{REGION}"
transport = "{self.transport}"
limits = {{ {shown} }}
{env}
"""
        )

    def migration(self, revision: str, operations: str, down: str | None = None, code: str = "") -> Path:
        """Write a migration file; `operations` is the inside of the list, `code` what stands before it."""
        path = self.folder / "migrations" / f"{revision}.py"
        path.write_text(
            f'"""Revision {revision}."""\n\nfrom migrator import *\n\nrevision = "{revision}"\n'
            f"down_revision = {json.dumps(down) if down else None}\n\n{code}\n\noperations = [\n{operations}\n]\n"
        )
        return path

    # --- the table ----------------------------------------------------------------------------------------------------

    @property
    def client(self) -> Any:
        """The application: neither logged nor intercepted."""
        if not hasattr(self, "_client"):
            self._client = self.sandbox.client(account=self.account, unseen=True)
        return self._client

    def make_table(self, name: str = "", **options: Any) -> None:
        given = {
            "AttributeDefinitions": [{"AttributeName": key, "AttributeType": "S"} for key in ("PK", "SK")],
            "KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}, {"AttributeName": "SK", "KeyType": "RANGE"}],
            "BillingMode": "PAY_PER_REQUEST",
        }
        self.client.create_table(**{"TableName": name or self.table, **given, **options})

    def put(self, items: Iterable[Item], table: str = "") -> None:
        name = table or self.table

        def write(batch: list[Item]) -> None:
            self.client.batch_write_item(RequestItems={name: [{"PutRequest": {"Item": item}} for item in batch]})

        with ThreadPoolExecutor(4) as pool:
            given = list(items)
            list(pool.map(write, [given[start : start + 25] for start in range(0, len(given), 25)]))

    def items(self, table: str = "", index: str | None = None) -> list[Item]:
        """All items but control records."""
        return [item for item in self._scan(table, index) if not _is_control(item)]

    def control_records(self, table: str = "") -> list[Item]:
        return [item for item in self._scan(table, None) if _is_control(item)]

    def _scan(self, table: str, index: str | None) -> Iterator[Item]:
        options = {"IndexName": index} if index else {"ConsistentRead": True}
        for page in self.client.get_paginator("scan").paginate(TableName=table or self.table, **options):
            yield from page["Items"]

    def index(self, name: str, table: str = "") -> dict[str, Any] | None:
        live = self.client.describe_table(TableName=table or self.table)["Table"]
        return next((one for one in live.get("GlobalSecondaryIndexes", ()) if one["IndexName"] == name), None)

    # --- the wire -----------------------------------------------------------------------------------------------------

    def sent(self, holds: Callable[[Sent], bool] = lambda one: True) -> list[Sent]:
        return self.wire.by(self.account, holds)

    def written(self) -> int:
        """How often an item of the application was written so far, alone or among others."""
        return sum(len(one.keys) for one in self.sent(lambda one: one.writes_items))

    @contextmanager
    def recording(self) -> Iterator[list[Sent]]:
        """What is sent during the block; filled when it ends."""
        found: list[Sent] = []
        before = len(self.sent())
        yield found
        found += self.sent()[before:]

    @contextmanager
    def changing_nothing(self) -> Iterator[None]:
        with self.recording() as sent:
            yield
        changes = [(one.operation, one.body) for one in sent if one.changes]
        assert not changes, changes

    def until(self, holds: Callable[[], bool], seconds: float = 30.0, why: str = "it") -> None:
        """Wait for something to come about."""
        end = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > end:
                raise AssertionError(f"{why} did not come about in {seconds} s")
            time.sleep(0.05)

    def record(self, partition: str, sort: str) -> Item:
        """The body of a control record that is read by its key, so that looking often costs the engine little."""
        key = {"PK": {"S": CONTROL + partition}, "SK": {"S": sort}}
        found = self.client.get_item(TableName=self.table, Key=key, ConsistentRead=True).get("Item", {})
        body: Item = found.get(CONTROL, {}).get("M", {}).get("body", {}).get("M", {})
        return body

    def holds_lock(self) -> bool:
        """Whether the lock record says that somebody holds it."""
        return self.record("lock", "lock").get("released", {}).get("BOOL") is False


def _is_control(item: Item) -> bool:
    return any(str(value.get("S", "")).startswith(CONTROL) for value in (item.get("PK", {}), item.get("id", {})))


def tasks(count: int, **more: Any) -> Iterator[Item]:
    """`count` items of one kind, spread over partitions."""
    for number in range(count):
        yield {
            "PK": {"S": f"TENANT#{number % 97:02}"},
            "SK": {"S": f"TASK#{number:06}"},
            "entity": {"S": "Task"},
            "name": {"S": f"task {number}"},
            "owner": {"S": f"user-{number % 7}"},
            "amount": {"N": "1.50"},
            **more,
        }
