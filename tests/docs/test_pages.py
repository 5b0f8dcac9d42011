"""The pages say what the code does: links lead somewhere, examples load, keys and codes are those that exist."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from migrator.config import load_config, parse_patterns, read
from migrator.core.plan import Operation
from migrator.errors import UsageError
from migrator.sandbox import read_file

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```([a-z]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def prose(path: Path) -> str:
    """The page without its code blocks."""
    return FENCE.sub("", path.read_text(encoding="utf-8"))


def fenced(kind: str) -> list[Any]:
    found = [
        (path, number, block)
        for path in PAGES
        for number, (language, block) in enumerate(FENCE.findall(path.read_text(encoding="utf-8")))
        if language == kind
    ]
    return [pytest.param(block, id=f"{named(path)}-{number}") for path, number, block in found]


def anchors(path: Path) -> set[str]:
    """The anchors that GitHub gives the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", prose(path), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


# --- links ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", PAGES, ids=named)
def test_every_link_leads_to_a_file_and_to_a_heading_in_it(path: Path) -> None:
    for target in LINK.findall(prose(path)):
        if "://" in target:
            continue
        file, _, anchor = target.partition("#")
        place = (path.parent / file).resolve() if file else path
        assert place.exists(), target
        if anchor:
            assert anchor in anchors(place), target


def test_every_page_is_reached_from_the_index() -> None:
    reached, todo = set(), [DOCS / "README.md"]
    while todo:
        page = todo.pop()
        if page in reached:
            continue
        reached.add(page)
        files = [target.partition("#")[0] for target in LINK.findall(prose(page)) if "://" not in target]
        todo += [(page.parent / file).resolve() for file in files if file.endswith(".md")]
    assert [named(page) for page in DOCS.rglob("*.md") if page not in reached] == []


# --- examples ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", fenced("python"))
def test_the_python_of_a_page_loads_and_its_operations_are_operations(block: str) -> None:
    names: dict[str, Any] = {"__name__": "page"}
    exec(compile(block, "page", "exec"), names)
    assert all(isinstance(operation, Operation) for operation in names.get("operations", ()))
    if "revision" in names:
        assert {"down_revision", "operations"} <= names.keys()


@pytest.mark.parametrize("block", fenced("toml"))
def test_the_toml_of_a_page_is_a_configuration_or_a_file_of_faults(block: str, tmp_path: Path) -> None:
    if "fault" in tomllib.loads(block):
        (tmp_path / "faults.toml").write_text(block, encoding="utf-8")
        assert read_file(tmp_path / "faults.toml")
        return
    if "pattern" in tomllib.loads(block):
        assert parse_patterns(tmp_path / "access_patterns.toml", block)
        return
    name = "pyproject.toml" if "tool" in tomllib.loads(block) else "migrator.toml"
    (tmp_path / name).write_text(block, encoding="utf-8")
    config = load_config(None, tmp_path)
    for env in config.environments:
        config.settings(env, {})


# --- configuration ----------------------------------------------------------------------------------------------------


def keys_of(heading: str) -> list[str]:
    page = (DOCS / "configuration.md").read_text(encoding="utf-8")
    section = page.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)


@pytest.mark.parametrize(
    ("heading", "stem"),
    [
        ("Top level", ""),
        ("`[tables.ALIAS]`", '[tables.app]\nname = "app"\n'),
        ("`[control]`", "[control]\n"),
        ("`[lint]`", "[lint]\n"),
        ("`[env.NAME]`", "[env.local]\n"),
        ("`limits`", "[env.local.limits]\n"),
    ],
)
def test_the_configuration_page_lists_exactly_the_keys_that_are_known(heading: str, stem: str, tmp_path: Path) -> None:
    (tmp_path / "migrator.toml").write_text(f"{stem}zzzz = 1\n", encoding="utf-8")
    with pytest.raises(UsageError) as refused:
        load_config(None, tmp_path)
    known = str(refused.value.hint).removeprefix("known here: ").split(", ")
    assert sorted(keys_of(heading)) == known


def test_every_key_that_reading_knows_is_one_that_the_page_lists() -> None:
    listed = {key for heading in ("Top level", "`[lint]`", "`[env.NAME]`", "`limits`") for key in keys_of(heading)}
    assert listed == {*read._FILE_KEYS, *read._ENV_KEYS, *read._LIMIT_KEYS, *read._LINT_KEYS}


# --- error codes ------------------------------------------------------------------------------------------------------

CODE = re.compile(r"[a-z]+(-[a-z]+)*")
NOT_SHOWN = {"halted"}
"""Codes that never leave the program."""


def calls() -> list[tuple[str, ast.Call]]:
    """Every call in the program, with the name that is called; the doubles for tests are no part of it."""
    found = []
    for path in sorted((ROOT / "migrator").rglob("*.py")):
        if "testing" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                match node.func:
                    case ast.Name(id=name) | ast.Attribute(attr=name):
                        found.append((name, node))
    return found


def error_names() -> set[str]:
    """MigratorError and what is derived from it, and what stands for a code in a finding or an outcome of an item."""
    bases: dict[str, list[str]] = {}
    for path in (ROOT / "migrator").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                bases[node.name] = [base.id for base in node.bases if isinstance(base, ast.Name)]
    names = {"MigratorError"}
    while True:
        more = {name for name, above in bases.items() if names & set(above)} | names
        if more == names:
            return names - {"WholeItemRead", "LookupTooWide"} | {
                "Finding",
                "error",
                "warning",
                "note",
                "Failed",
                "Refused",
            }
        names = more


def codes() -> set[str]:
    """The stable codes that the program gives: literal first arguments, and literal codes in pairs and conditions."""
    wanted = error_names()
    found = set()
    for name, call in calls():
        is_super = name == "__init__" and isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Call)
        if (name in wanted or is_super) and call.args:
            # `"a" if … else "b"` is two codes; an f-string is a message.
            first = call.args[0]
            choices = [first.body, first.orelse] if isinstance(first, ast.IfExp) else [first]
            found |= {
                one.value
                for one in choices
                if isinstance(one, ast.Constant) and isinstance(one.value, str) and CODE.fullmatch(one.value)
            }
        if name == "bad" and len(call.args) == 3 and isinstance(call.args[1], ast.Constant):
            # The sandbox's loader: bad(path, code, problem).
            found |= {call.args[1].value} & set(re.findall(r"[a-z]+-[a-z-]+", str(call.args[1].value)))
    return found - NOT_SHOWN


def documented() -> list[str]:
    return re.findall(r"^\| `([a-z-]+)` \|", (DOCS / "errors.md").read_text(encoding="utf-8"), re.MULTILINE)


def test_every_code_of_the_program_is_documented() -> None:
    assert sorted(codes() - set(documented())) == []


def test_no_code_is_documented_that_the_program_does_not_give() -> None:
    texts = {
        node.value
        for path in (ROOT / "migrator").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    derived = {code.replace("index-key", "key") for code in texts if code.startswith("index-key-")}
    assert [code for code in documented() if code not in texts | derived] == []


def test_each_code_is_documented_once() -> None:
    found = documented()
    assert sorted({code for code in found if found.count(code) > 1}) == []
