"""Functions as a migration file would define them: named, at the top level."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from migrator import ItemView, Lookup


def title(item: ItemView) -> dict[str, Any]:
    return {"title": item["name"].title()}


def project_name(item: ItemView, lookup: Lookup) -> dict[str, Any]:
    project = lookup.get({"PK": item["PK"], "SK": "META"})
    return {"projectName": project["name"] if project else None}


def is_task(item: ItemView) -> bool:
    return bool(item.get("entity") == "Task")


def nothing() -> dict[str, Any]:
    return {}


def three(item: ItemView, lookup: Lookup, more: int) -> dict[str, Any]:
    return {}


def keyword(item: ItemView, *, factor: int) -> dict[str, Any]:
    return {"n": factor}


async def later(item: ItemView) -> dict[str, Any]:
    return {}


def several(item: ItemView) -> Iterator[dict[str, Any]]:
    yield {}


def seed(table: Any) -> None:
    table.put_if_absent({"PK": "x", "SK": "y"})


def unseed(table: Any) -> None:
    table.delete({"PK": "x", "SK": "y"}, expected={"n": None})


class Callable:
    def __call__(self, item: ItemView) -> dict[str, Any]:
        return {}

    def method(self, item: ItemView) -> dict[str, Any]:
        return {}
