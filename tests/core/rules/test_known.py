"""The list of rules is whole, and docs/lint/rules.md explains each as it is."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from migrator.core.rules import RULES, known
from migrator.core.transform import index_key_problem

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "lint" / "rules.md").read_text(encoding="utf-8")
ERRORS = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")


def rules_of_operations() -> set[str]:
    """The literal rule ids in `migrator/operations`, and those of values that no index key takes."""
    found = set()
    for path in (ROOT / "migrator" / "operations").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(func=ast.Name(id="error" | "warning" | "note"), args=[ast.Constant(value=str(rule)), *_]):
                    found.add(rule)
    problems = [
        index_key_problem(value, "S", "sort") for value in ({"NULL": True}, {"S": ""}, {"N": "1"}, {"S": "x" * 1025})
    ]
    of_index_keys = {problem[0] for problem in problems if problem is not None}
    return found | of_index_keys | {rule.replace("index-key", "key") for rule in of_index_keys}


def test_every_rule_of_an_operation_is_known_and_none_is_that_none_gives() -> None:
    assert set(known.OF_OPERATIONS) == rules_of_operations()


def test_no_rule_is_given_twice() -> None:
    assert len(known.KNOWN) == len(RULES) + len(known.OF_OPERATIONS) + len(known.OF_LINT)


def test_every_file_of_a_rule_is_in_the_list() -> None:
    folder = ROOT / "migrator" / "core" / "rules"
    files = {path.stem for path in folder.glob("*.py") if "\nRULE = Rule(" in path.read_text(encoding="utf-8")}
    assert files == {rule.id.replace("-", "_") for rule in RULES}


def test_the_page_explains_each_rule_once_and_no_other() -> None:
    assert re.findall(r"^### (.+)$", PAGE, re.MULTILINE) == [*(rule.id for rule in RULES), *known.OF_LINT]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_the_page_says_how_grave_a_rule_is_and_what_is_safe(rule: object) -> None:
    section = PAGE.partition(f"\n### {rule.id}\n")[2].partition("\n##")[0]  # type: ignore[attr-defined]
    assert section.startswith(f"\n*{rule.severity}* ")  # type: ignore[attr-defined]
    assert "\nSafe: " in section


@pytest.mark.parametrize("rule", known.OF_OPERATIONS)
def test_the_page_of_errors_has_every_rule_of_an_operation(rule: str) -> None:
    assert f"`{rule}`" in ERRORS
