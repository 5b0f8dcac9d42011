"""The pages in docs/operations are true to the code: their examples run, their options and codes exist."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from migrator.core.plan import Operation
from migrator.operations import ALL

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "operations").glob("*.md"))
SOURCE = "\n".join(path.read_text() for path in (ROOT / "migrator").rglob("*.py"))
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
KINDS = {kind.__name__: kind for kind in ALL}


def section(page: str, heading: str) -> str:
    return page.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def first_column(text: str) -> list[str]:
    return re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_the_examples_of_a_page_are_operations(path: Path) -> None:
    blocks = BLOCK.findall(path.read_text())
    assert blocks or path.stem == "index"
    for number, block in enumerate(blocks):
        names: dict[str, Any] = {"__name__": f"page_{path.stem}_{number}"}
        exec(compile(block, f"{path.name}#{number}", "exec"), names)
        assert names["operations"]
        assert all(isinstance(operation, Operation) for operation in names["operations"])


@pytest.mark.parametrize("name", KINDS)
def test_a_page_lists_every_option_and_no_other(name: str) -> None:
    page = next(path for path in PAGES if path.read_text().startswith(f"# {name}\n")).read_text()
    options = first_column(section(page, "Options").partition("\n###")[0])
    assert options == list(inspect.signature(KINDS[name]).parameters)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_every_code_on_a_page_is_one_that_the_code_gives(path: Path) -> None:
    codes = first_column(section(path.read_text(), "What fails" if path.stem != "index" else "What all of them share"))
    assert codes
    assert [code for code in codes if f'"{code}"' not in SOURCE] == []


@pytest.mark.parametrize("name", KINDS)
def test_a_page_answers_what_an_operator_asks(name: str) -> None:
    page = next(path for path in PAGES if path.read_text().startswith(f"# {name}\n")).read_text()
    headings = re.findall(r"^## (.*)$", page, re.MULTILINE)
    assert headings == ["Options", "What the plan shows", "Limits of the service", "Way back", "What fails"]
