"""The ready-made test, collected where `migrator_check = true`. Its seeds are the fixture `migrator_seeds`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from migrator.testing.kit.project import SandboxProject
from migrator.testing.kit.reversible import assert_reversible
from migrator.testing.kit.tables import SeedOfTables

if TYPE_CHECKING:
    import pytest

SAYS = "migrator"
"""The user property by which what was not taken back gets into the terminal's summary, from a worker too."""


def test_every_migration_goes_up_down_and_up_again(
    migrator_project: SandboxProject, migrator_seeds: Mapping[str, SeedOfTables], request: pytest.FixtureRequest
) -> None:
    found = assert_reversible(migrator_project, seeds=migrator_seeds)
    request.node.user_properties.append((SAYS, str(found)))
