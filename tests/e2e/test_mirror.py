"""The installed command, plain writers that know nothing, and a mirror: forth, back, forth again, and to the end."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import ClientError

from tests.e2e.project import Item, Project, Running

OLD, NEW, CONTROL = "mirrored-old", "mirrored-new", "mirrored-control"
OPERATION = (
    'RewriteKeys(key={"PK": "{PK}", "SK": "{state}#{date}"}, old={"SK": "{date}"}, to="new", application="mirror")'
)
COUNT = 30


@dataclass
class Ledger:
    """An application of one table: two threads write, and note what the service acknowledged."""

    project: Project
    truth: dict[str, tuple[str, int] | None] = field(default_factory=dict)
    """Name -> state and version, None for an item that was deleted."""
    failures: list[BaseException] = field(default_factory=list)

    def form(self, table: str, name: str) -> Item:
        known = self.truth[name]
        assert known is not None
        state, version = known
        date = f"day{name}"
        key = {"PK": {"S": name}, "SK": {"S": date if table == OLD else f"{state}#{date}"}}
        return {**key, "state": {"S": state}, "version": {"N": str(version)}}

    def standing(self, table: str) -> list[Item]:
        return _sorted([self.form(table, name) for name, known in self.truth.items() if known is not None])

    def write(self, table: str, chance: random.Random, name: str) -> None:
        client, before = self.project.client, self.truth.get(name)
        choice = chance.random()
        if before is not None and (choice < 0.2 or table == NEW):
            old_key = {part: self.form(table, name)[part] for part in ("PK", "SK")}
            _patiently(lambda: client.delete_item(TableName=table, Key=old_key))
            self.truth[name] = None
            if choice < 0.2:
                return
        # Every fourth write changes what the new key is made of.
        state = before[0] if before is not None and choice < 0.75 else chance.choice("abc")
        self.truth[name] = (state, (before[1] if before else 0) + 1)
        _patiently(lambda: client.put_item(TableName=table, Item=self.form(table, name)))

    @contextmanager
    def writing(self, table: str) -> Iterator[None]:
        stop = threading.Event()

        def work(number: int) -> None:
            chance = random.Random(number)
            try:
                while not stop.is_set():
                    self.write(table, chance, f"item-{chance.randrange(COUNT // 2) * 2 + number}")
                    time.sleep(0.25)
            except BaseException as exc:  # noqa: BLE001 - told to the test
                self.failures.append(exc)

        threads = [threading.Thread(target=work, args=(number,)) for number in (0, 1)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        assert not self.failures


def _patiently(write: Callable[[], object]) -> None:
    """As every application does whose items are part of transactions: a conflict is tried again."""
    while True:
        try:
            write()
        except ClientError as exc:
            if exc.response["Error"]["Code"] != "TransactionConflictException":
                raise
            time.sleep(0.01)
        else:
            return


def _sorted(items: list[Item]) -> list[Item]:
    return sorted(items, key=lambda item: (item["PK"]["S"], item["SK"]["S"]))


def _until_heard(project: Project, running: Running) -> None:
    end = time.monotonic() + 30
    while not any("mirror#" in item["PK"]["S"] and item["SK"]["S"] == "state" for item in _control(project)):
        assert running.is_alive, running.err
        assert time.monotonic() < end
        time.sleep(0.1)


def _control(project: Project) -> list[Item]:
    return project.control_records(CONTROL)


def _prepare(empty: Project) -> Ledger:
    empty.table = OLD
    empty.configure(
        tables=f'tables.app.name = "{OLD}"\ntables.new.name = "{NEW}"',
        control=f'control.name = "{CONTROL}"',
        lease="8s",
    )
    stream: dict[str, Any] = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    for table in (OLD, NEW):
        empty.make_table(table, StreamSpecification=stream)
    empty.migration("001", OPERATION)
    ledger = Ledger(empty)
    for number in range(COUNT):
        ledger.truth[f"item-{number}"] = ("a", 0)
    empty.put([ledger.form(OLD, name) for name in ledger.truth])
    return ledger


def test_plain_writers_lose_nothing_through_cutover_and_back_and_cutover_and_contract(empty: Project) -> None:
    project, ledger = empty, _prepare(empty)
    project.ok("upgrade", "--from-base", code=9)
    first = project.start("mirror", "run")
    _until_heard(project, first)
    with ledger.writing(OLD):
        project.ok("upgrade", "--app-ready", code=9)
        project.sandbox.faults.add("shard-split", table=OLD)
        first.kill()
        first.wait()
        # All that was read before is delivered again.
        for record in _control(project):
            if "#shard#" in f"#{record['SK']['S']}":
                key = {name: record[name] for name in ("PK", "SK")}
                project.client.delete_item(TableName=CONTROL, Key=key)
        second = project.start("mirror", "run")
        time.sleep(0.5)
    # The writers of the old side are stopped.
    project.ok("cutover", "--yes", code=9)
    assert _sorted(project.items(OLD)) == ledger.standing(OLD)
    assert _sorted(project.items(NEW)) == ledger.standing(NEW)

    with ledger.writing(NEW):
        project.sandbox.faults.add("shard-split", table=NEW)
        time.sleep(1.5)
    assert project.ok("mirror", "status", "-o", "json").document["state"] == "following"
    project.ok("rollback")
    assert _sorted(project.items(OLD)) == ledger.standing(OLD)
    assert project.items(NEW) == []
    assert second.wait().code == 0

    project.ok("upgrade", code=9)
    third = project.start("mirror", "run")
    with ledger.writing(OLD):
        project.ok("upgrade", "--app-ready", code=9)
    project.ok("cutover", "--yes", code=9)
    with ledger.writing(NEW):
        time.sleep(0.5)
    project.ok("contract", "--yes")
    assert project.items(OLD) == []
    assert _sorted(project.items(NEW)) == ledger.standing(NEW)
    assert third.wait().code == 0
