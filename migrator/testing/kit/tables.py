"""A table of a project on a sandbox: Python items in and out, and the project's commands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from migrator.control.layout import application_items
from migrator.core.item import Item, from_python, key_of, key_text, to_python
from migrator.runner.results import PlanResult, RunResult, StatusResult
from migrator.sandbox.load import load_file
from migrator.testing.kit.project import SandboxProject

Seed: TypeAlias = str | Path | Iterable[str | Path | Mapping[str, Any]]
"""Python items and files, for one table. A path is relative to the folder of the configuration.

Files are what `migrator sandbox load` takes: items as JSON lines, an export, a NoSQL Workbench model, …
"""

SeedOfTables: TypeAlias = Seed | Mapping[str, Seed]
"""Of the default table, or of several by alias."""


@dataclass(frozen=True, slots=True)
class MigratedTable:
    """One table of `project`. Items are Python values: numbers come as Decimals, which equal ints."""

    project: SandboxProject
    alias: str = ""

    @property
    def name(self) -> str:
        """Its physical name."""
        return self.project.table_name(self.alias)

    @property
    def client(self) -> Any:
        """A boto3 client for DynamoDB."""
        return self.project.client

    @property
    def key_names(self) -> tuple[str, ...]:
        schema = self.client.describe_table(TableName=self.name)["Table"]["KeySchema"]
        return tuple(one["AttributeName"] for one in schema)

    # --- items

    def put(self, *items: Mapping[str, Any]) -> None:
        """Put items, over whatever is there."""
        for item in items:
            wire = {name: from_python(value, name) for name, value in item.items()}
            self.client.put_item(TableName=self.name, Item=wire)

    def get(self, key: Mapping[str, Any]) -> dict[str, Any] | None:
        """The item with this key, read consistently, or None."""
        wire = {name: from_python(value, name) for name, value in key.items()}
        found = self.client.get_item(TableName=self.name, Key=wire, ConsistentRead=True).get("Item")
        return None if found is None else _python(found)

    def delete(self, key: Mapping[str, Any]) -> None:
        self.client.delete_item(
            TableName=self.name, Key={name: from_python(value, name) for name, value in key.items()}
        )

    def items(self, index: str | None = None) -> list[dict[str, Any]]:
        """The application's items, of the table or of an index, in order of their keys; migrator's records left out."""
        return [_python(item) for item in self.wire_items(index)]

    def wire_items(self, index: str | None = None) -> list[Item]:
        """The same, as boto3's client gives them."""
        names = self.key_names
        return sorted(
            application_items(list(self._scan(index)), names[0], self._prefix),
            key=lambda item: key_text(key_of(item, names)),
        )

    def seed(self, seed: Seed) -> None:
        """Put items and load files."""
        for one in [seed] if isinstance(seed, str | Path) else seed:
            if isinstance(one, Mapping):
                self.put(one)
            else:
                load_file(self.client, self.project.settings.project_root / one, table=self.name, with_indexes=False)

    @property
    def _prefix(self) -> str:
        return self.project.settings.control.key_prefix

    def _scan(self, index: str | None) -> Iterator[Item]:
        options: dict[str, Any] = {"IndexName": index} if index else {"ConsistentRead": True}
        for page in self.client.get_paginator("scan").paginate(TableName=self.name, **options):
            yield from page["Items"]

    # --- the project's commands

    def plan(self, target: str = "head") -> PlanResult:
        return self.project.plan(target)

    def upgrade(self, target: str = "head") -> RunResult:
        return self.project.upgrade(target)

    def downgrade(self, target: str = "-1") -> RunResult:
        return self.project.downgrade(target)

    def rollback(self, revision: str | None = None) -> RunResult:
        return self.project.rollback(revision)

    def contract(self, revision: str | None = None) -> RunResult:
        return self.project.contract(revision)

    def status(self) -> StatusResult:
        return self.project.status()


def sow(project: SandboxProject, seed: SeedOfTables) -> None:
    """Seed the default table, or each table that is named."""
    by_alias = seed if isinstance(seed, Mapping) else {"": seed}
    for alias, one in by_alias.items():
        MigratedTable(project, alias).seed(one)


def _python(item: Item) -> dict[str, Any]:
    return {name: to_python(value) for name, value in item.items()}
