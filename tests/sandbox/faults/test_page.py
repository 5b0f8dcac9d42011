"""docs/rehearse.md lists the kinds, their options and the members of a match as they are."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

from migrator.sandbox.faults import KINDS
from migrator.sandbox.faults.spec import MATCHING

PAGE = (Path(__file__).parents[3] / "docs" / "rehearse.md").read_text(encoding="utf-8")


def section(heading: str) -> str:
    return PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def test_the_page_lists_every_kind_with_its_options() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \| ([^|]*)\|", section("Kinds"), re.MULTILINE)
    listed = {kind: re.findall(r"`([a-z-]+)`", options) for kind, options in rows}
    assert listed == {
        name: [field.name.replace("_", "-") for field in dataclasses.fields(kind) if field.init]
        for name, kind in KINDS.items()
    }


def test_the_page_lists_every_member_of_a_match() -> None:
    assert tuple(re.findall(r"^\| `([a-z]+)` \|", section("Which requests"), re.MULTILINE)) == MATCHING
