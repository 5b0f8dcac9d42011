"""SARIF 2.1.0, which code scanning and editors read. What a comment allows is in it, as suppressed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any
from urllib.parse import quote

from migrator.cli.reporters.fingerprint import fingerprints
from migrator.core.findings import Severity
from migrator.core.lint import PlacedFinding
from migrator.core.rules import RULES
from migrator.core.rules.known import KNOWN, page

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}


def report(findings: Sequence[PlacedFinding]) -> str:
    """One log with one run; every rule that has a finding is described in it."""
    ids = sorted({finding.rule for finding in findings})
    results = [
        _result(finding, ids.index(finding.rule), fingerprint)
        for finding, fingerprint in zip(findings, fingerprints(findings), strict=True)
    ]
    driver: dict[str, Any] = {"name": "migrator", "rules": [_rule(rule) for rule in ids]}
    if number := _version():
        driver["version"] = number
    log = {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}],
    }
    return json.dumps(log, indent=2) + "\n"


def _rule(rule: str) -> dict[str, Any]:
    described: dict[str, Any] = {"id": rule, "properties": {"page": page(rule)}}
    # Only a project's own operations have rules that are not known here.
    if rule in KNOWN:
        described["shortDescription"] = {"text": KNOWN[rule]}
        described["help"] = {"text": f"{KNOWN[rule]} See {page(rule)} in the documentation."}
    usual = next((one.severity for one in RULES if one.id == rule), None)
    if usual is not None:
        described["defaultConfiguration"] = {"level": _LEVELS[usual]}
    return described


def _result(finding: PlacedFinding, index: int, fingerprint: str) -> dict[str, Any]:
    region = {"startLine": finding.line, "endLine": finding.last_line}
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": _LEVELS[finding.severity],
        "message": {"text": finding.message + (f"\nHint: {finding.hint}" if finding.hint else "")},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(finding.path, errors="replace"), "uriBaseId": "%SRCROOT%"},
                    "region": region,
                }
            }
        ],
        "partialFingerprints": {"migratorFinding/v1": fingerprint},
    }
    if finding.allowed_because:
        result["suppressions"] = [{"kind": "inSource", "justification": finding.allowed_because}]
    return result


def _version() -> str:
    try:
        return version("dynamodb-migrations")
    except PackageNotFoundError:
        return ""
