"""What makes a finding the same one after lines have moved."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence

from migrator.core.lint import PlacedFinding


def fingerprints(findings: Sequence[PlacedFinding]) -> tuple[str, ...]:
    """Of each, 64 hex digits over rule, revision and message; equal ones are told apart by their order.

    The path is left out, because a file may be renamed, and so is the line.
    """
    seen: Counter[str] = Counter()
    found = []
    for finding in findings:
        text = "\n".join((finding.rule, finding.revision, finding.message))
        seen[text] += 1
        found.append(hashlib.sha256(f"{text}\n{seen[text]}".encode("utf-8", "backslashreplace")).hexdigest())
    return tuple(found)
