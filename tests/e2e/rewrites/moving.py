"""A project whose keys are rewritten on the sandbox, and the application beside it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from migrator.config import Limits
from migrator.runner.results import RunResult
from migrator.runner.runner import Runner
from migrator.runtime import PhaseReader, RewritingClient
from migrator.testing import SandboxProject
from migrator.testing.kit.project import read_project
from migrator.testing.kit.sandboxes import Account

PHASES = ("expand", "dual-write", "cutover", "contract", "done")
DATA = Path(__file__).parents[2] / "data"
LIMITS = Limits(workers=2, segments=2, poll_interval=0.05, settle_time=0.0, reader_lease=0.4, attempt_time=0.1)
Item = dict[str, Any]
FILE = '"""{name}."""\nfrom migrator import *\nfrom migrator.core.where import BeginsWith\n\n{code}\n'


class Moving(SandboxProject):
    """The commands of a rewrite as functions, and the application's client in either form."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.settings = replace(self.settings, limits=LIMITS)

    def advance(self, *commands: str) -> RunResult:
        """Run commands one after the other; each must end as it should. Gives what the last one says."""
        for command in commands:
            with self.runner() as runner:
                done = _COMMANDS[command](runner)
            assert done.exit_code == (0 if command in ("contract", "verify", "rollback") else 9), (command, done)
        return done

    @contextmanager
    def app(self, form: Any, revision: str, *, table: str = "", keys: tuple[str, str] = ("PK", "SK")) -> Iterator[App]:
        """An instance of the application, which speaks one form in all phases."""
        client = self.account.client()
        reader = PhaseReader(
            client,
            table=table or self.table_name(),
            revision=revision,
            key_names=keys,
            background=False,
        )
        try:
            with reader:
                yield App(RewritingClient(_Quick(client), reader, form=form), reader)
        finally:
            client.close()

    @property
    def reached(self) -> list[str]:
        """The aliases of tables that exist."""
        names = self.client.list_tables()["TableNames"]
        return [alias for alias in self.settings.tables if self.table_name(alias) in names]

    def scan(self, alias: str = "", index: str | None = None) -> list[Item]:
        """What stands there, without control records."""
        more = {"IndexName": index} if index else {"ConsistentRead": True}
        pages = self.client.get_paginator("scan").paginate(TableName=self.table_name(alias), **more)
        items = [item for page in pages for item in page["Items"]]
        return ordered(item for item in items if "__migrator__" not in item)

    def put(self, alias: str, items: Iterable[Item]) -> None:
        table, given = self.table_name(alias), list(items)
        for start in range(0, len(given), 25):
            batch = [{"PutRequest": {"Item": item}} for item in given[start : start + 25]]
            self.client.batch_write_item(RequestItems={table: batch})


class _Quick:
    """A client that says nothing of how long an attempt may last: the one instance here makes none meanwhile."""

    def __init__(self, client: Any):
        self._client = client

    def __getattr__(self, name: str) -> Any:
        if name == "meta":
            raise AttributeError(name)
        return getattr(self._client, name)


class App:
    """An application on the runtime."""

    def __init__(self, client: RewritingClient, reader: PhaseReader):
        self.client = client
        self.reader = reader

    @property
    def phase(self) -> str:
        self.reader.refresh()
        return self.reader.stance().phase

    def query(self, **request: Any) -> list[Item]:
        """Every item of a query, page after page."""
        pages = self.client.get_paginator("query").paginate(**request)
        return [item for page in pages for item in page["Items"]]


_COMMANDS: Mapping[str, Callable[[Runner], RunResult]] = {
    "upgrade": lambda runner: runner.upgrade(from_base=True),
    "ready": lambda runner: runner.upgrade(app_ready=True),
    "cutover": lambda runner: runner.cutover(None),
    "contract": lambda runner: runner.contract(None, yes=True),
    "rollback": lambda runner: runner.rollback(None),
    "verify": lambda runner: runner.verify(None),
}


def ordered(items: Iterable[Item]) -> list[Item]:
    return sorted(items, key=lambda item: json.dumps(item, sort_keys=True))


def by_key(items: Iterable[Item], *names: str) -> dict[tuple[str, ...], Item]:
    return {tuple(item[name]["S"] for name in names): item for item in items}


def rows(file: str, table: str) -> list[Item]:
    """The items of a table of a published model."""
    models = json.loads((DATA / file).read_text())["DataModel"]
    (found,) = [one["TableData"] for one in models if one["TableName"] == table]
    return list(found)


def write_files(folder: Path, tables: Mapping[str, str], revisions: Mapping[str, str], control: str = "") -> None:
    """A project on tables, alias -> name; the first is the default. Revisions follow one another."""
    (folder / "migrations").mkdir()
    named = "\n".join(f'[tables.{alias}]\nname = "{name}"' for alias, name in tables.items())
    placed = f'[control]\nname = "{control}"\n' if control else ""
    (folder / "migrator.toml").write_text(
        f'default_table = "{next(iter(tables))}"\ndefault_env = "local"\n{named}\n{placed}'
        '[env.local]\nregion = "eu-west-1"\n'
    )
    down: str | None = None
    for name, code in revisions.items():
        made = FILE.format(name=name, code=code) + f"\nrevision, down_revision = {name!r}, {down!r}\n"
        (folder / "migrations" / f"{name}.py").write_text(made)
        down = name


def opened(folder: Path, account: Account) -> Moving:
    return Moving(read_project(folder / "migrator.toml", folder), account)
