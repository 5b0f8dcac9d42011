"""Findings in the forms that code hosts and editors read: one pure function a form."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from migrator.cli.reporters import github, gitlab, sarif
from migrator.core.lint import PlacedFinding

REPORTERS: Mapping[str, Callable[[Sequence[PlacedFinding]], str]] = {
    "github": github.report,
    "gitlab": gitlab.report,
    "sarif": sarif.report,
}
