from __future__ import annotations

import pytest

from migrator.testing.memory import World
from tests.control.processes import Process


@pytest.fixture
def world() -> World:
    return World({"t": ("PK",)})


@pytest.fixture
def a(world: World) -> Process:
    return Process(world, "ci-7")


@pytest.fixture
def b(world: World) -> Process:
    return Process(world, "ci-8")
