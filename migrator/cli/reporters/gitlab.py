"""The Code Quality report of GitLab: a JSON list, shown in the merge request."""

from __future__ import annotations

import json
from collections.abc import Sequence

from migrator.cli.reporters.fingerprint import fingerprints
from migrator.core.findings import Severity
from migrator.core.lint import PlacedFinding

_SEVERITIES = {Severity.ERROR: "critical", Severity.WARNING: "minor", Severity.NOTE: "info"}


def report(findings: Sequence[PlacedFinding]) -> str:
    """One entry a finding; what a comment allows is left out."""
    shown = [finding for finding in findings if not finding.allowed_because]
    entries = [
        {
            "description": finding.message + (f" (hint: {finding.hint})" if finding.hint else ""),
            "check_name": finding.rule,
            "fingerprint": fingerprint,
            "severity": _SEVERITIES[finding.severity],
            "location": {"path": finding.path, "lines": {"begin": finding.line, "end": finding.last_line}},
        }
        for finding, fingerprint in zip(shown, fingerprints(shown), strict=True)
    ]
    return json.dumps(entries, indent=2) + "\n"
