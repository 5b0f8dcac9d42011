"""A reviewed plan as `plan --out` wrote it: checked before anything relies on it. It is data: nothing in it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from migrator.errors import UsageError
from migrator.runner.fingerprints import fingerprint


@dataclass(frozen=True, slots=True)
class Reviewed:
    """What an upgrade is held to."""

    target: str
    revisions: tuple[str, ...]
    destructive: frozenset[str]
    """The revisions that the plan marked: whoever reviewed it said yes to them."""
    parts: Mapping[str, Any]
    """What must be as it was: see `fingerprints.fingerprint_parts`."""
    findings: Mapping[str, Mapping[str, int]] | None = None
    """What the plan said of items in the way; None where it looked at none."""
    is_full: bool = False
    """Whether it looked at all of them."""

    @staticmethod
    def of(content: Mapping[str, Any]) -> Reviewed:
        """Raises UsageError `bad-plan-file` where it has another form, or its parts do not give its fingerprint."""
        match content:
            case {
                "target": str(target),
                "fingerprint": str(claimed),
                "fingerprint_parts": {"revisions": [*planned], **_others} as parts,
                "revisions": [*shown],
            }:
                pass
            case _:
                raise _other_form()
        revisions = []
        for one in planned:
            match one:
                case [str(revision), *_]:
                    revisions.append(revision)
                case _:
                    raise _other_form()
        destructive = set()
        for one in shown:
            match one:
                case {"revision": str(revision), "destructive": bool(marked)}:
                    destructive |= {revision} if marked else set()
                case _:
                    raise _other_form()
        if fingerprint(parts) != claimed:
            raise UsageError(
                "bad-plan-file",
                "the plan file was edited: its parts do not give its fingerprint",
                hint="make one with `migrator plan --out plan.json`",
            )
        findings, is_full = _findings(content)
        return Reviewed(target, tuple(revisions), frozenset(destructive), parts, findings, is_full)


def _findings(content: Mapping[str, Any]) -> tuple[Mapping[str, Mapping[str, int]] | None, bool]:
    match content.get("estimate"), content.get("data_findings"):
        case {"kind": "full" | "sampled" as kind}, dict(steps):
            pass
        case None, _:
            return None, False
        case _:
            raise _other_form()
    for reasons in steps.values():
        if not isinstance(reasons, dict) or not all(type(number) is int for number in reasons.values()):
            raise _other_form()
    return steps, kind == "full"


def _other_form() -> UsageError:
    return UsageError(
        "bad-plan-file", "this is no plan file of migrator", hint="make one with `migrator plan --out plan.json`"
    )
