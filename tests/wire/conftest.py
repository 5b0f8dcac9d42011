"""The sandbox of tests/dynamo, with items by the fast transport."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from migrator.core.item import Item
from migrator.core.ports import Outcomes
from migrator.dynamo.retry import Retry
from migrator.testing.clock import SeededEntropy
from migrator.wire.items import FastItems
from tests.dynamo.conftest import Rig, _connected, _running, aws_files, clients, rig, sandbox

__all__ = ["_connected", "_running", "aws_files", "clients", "rig", "sandbox"]


class Allowed:
    def check(self) -> None:
        return


@dataclass
class Fast:
    """The fast items over a sandbox."""

    rig: Rig
    items: FastItems
    told: list[str] = field(default_factory=list)

    def write(self, *writes: Any) -> Outcomes:
        return self.items.write("app", writes, Allowed())

    def sent(self, *operations: str) -> list[dict[str, Any]]:
        return self.rig.sent(*operations)

    def stored(self) -> dict[str, Item]:
        return {item["PK"]["S"]: item for item in self.rig.all()}


@pytest.fixture
def fast(rig: Rig) -> Iterator[Fast]:
    told: list[str] = []
    entropy = SeededEntropy()
    retry = Retry(rig.clock, entropy)
    with FastItems(rig.clients, retry, rig.clock, entropy, rig.layout, told.append) as items:
        yield Fast(rig, items, told)
