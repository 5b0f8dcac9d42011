"""What stands where an operation comes: settings, and a sample of the items. In `lint` only what files say is known."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from migrator.core.rules.release import PlacedOperation, Release
from migrator.core.settings import DeletionProtection, PointInTimeRecovery, Stream, TimeToLive
from migrator.core.steps import ChangeSetting, CreateTable

S = TypeVar("S")
_OF_A_NEW_TABLE = (
    Stream(None),
    PointInTimeRecovery(enabled=False),
    TimeToLive(None),
    DeletionProtection(enabled=False),
)


def setting_before(release: Release, one: PlacedOperation, kind: type[S]) -> S | None:
    """The setting that the operation finds on its table; None where nobody knows.

    A live setting is what the pending files begin with. Without it the files tell, from the table's CreateTable on.
    """
    live = release.settings.get(one.alias)
    found = _first(kind, live or ())
    for other in release.operations:
        if other is one:
            break
        if other.alias != one.alias or (live is not None and other.migration.revision not in release.judged):
            continue
        for step in other.steps:
            if isinstance(step, CreateTable) and live is None:
                found = _first(kind, (*step.settings, *_OF_A_NEW_TABLE))
            elif isinstance(step, ChangeSetting):
                found = _first(kind, (step.setting,)) or found
    return found


def _first(kind: type[S], settings: Iterable[object]) -> S | None:
    return next((one for one in settings if isinstance(one, kind)), None)
