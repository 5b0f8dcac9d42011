"""Workflow commands of GitHub Actions: annotations on the lines of a pull request."""

from __future__ import annotations

from collections.abc import Sequence

from migrator.core.findings import Severity
from migrator.core.lint import PlacedFinding

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def report(findings: Sequence[PlacedFinding]) -> str:
    """One command a line; what a comment allows is left out."""
    return "".join(_command(finding) + "\n" for finding in findings if not finding.allowed_because)


def _command(finding: PlacedFinding) -> str:
    properties = {
        "file": finding.path,
        "line": str(finding.line),
        "endLine": str(finding.last_line),
        "title": f"migrator: {finding.rule}",
    }
    written = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    hint = f"\nhint: {finding.hint}" if finding.hint else ""
    return f"::{_COMMANDS[finding.severity]} {written}::{_message(finding.message + hint)}"


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
