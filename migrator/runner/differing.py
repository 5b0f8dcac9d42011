"""diff: live tables against files, and two environments against each other. Nothing here writes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from migrator.core.comparison import compare
from migrator.core.declared import DeclaredTable
from migrator.runner.results import DiffResult
from migrator.runner.session import Session
from migrator.runner.shapes import declared


def against_files(session: Session, of: Literal["applied", "files"]) -> DiffResult:
    """What files say, of the applied revisions or of all, against what stands.

    Throughput does not count: autoscaling moves it. A setting counts where a file names it.
    """
    found = compare(declared(session, of), declared(session, "live"), units=False)
    repairable = any(one.object.startswith("index ") and not one.field and one.right == "absent" for one in found)
    following = "migrator repair --drift" if repairable and of == "applied" else "migrator plan"
    return DiffResult(
        state="different" if found else "same",
        exit_code=3 if found else 0,
        next=following if found else "",
        where=session.where,
        left="applied revisions" if of == "applied" else "all files",
        right=f"live tables of {session.settings.env}",
        differences=found,
    )


def against_other(session: Session, env: str, other: Mapping[str, DeclaredTable]) -> DiffResult:
    """What stands in this environment against what stands in another, throughput and all."""
    found = compare(declared(session, "live"), other, units=True)
    return DiffResult(
        state="different" if found else "same",
        exit_code=3 if found else 0,
        next=f"migrator status in both: -e {session.settings.env}, -e {env}" if found else "",
        where=session.where,
        left=f"live tables of {session.settings.env}",
        right=f"live tables of {env}",
        differences=found,
    )
