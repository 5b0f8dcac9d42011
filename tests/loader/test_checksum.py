"""The canonical form: what moves a checksum, and what does not."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from migrator.loader import CHECKSUM_VERSION, checksum, same_version

ROOT = Path(__file__).parents[2]
RICH = Path(__file__).parent / "samples" / "rich.py.txt"
GOLDEN = "v1:82d691a81510fd5d366bf4d5d4350bc76e90bc1952daf901fb19c3a69d3a6ddb"

SAMPLE = '''\
"""Task keys lose the date."""

from __future__ import annotations

import json
import re
from decimal import Decimal, localcontext

from migrator import AddIndex, Backfill
from shop.keys import prefix as of, task

revision, down_revision = "20261130172204", "20261115090000"

WIDTH = 4  # digits


def rewritten(item):
    """The new key of a task."""
    # Old ones hold a date.
    if item["size"] >= 1_000 and not re.match(r"^\\d+$", item["SK"]):
        return {"SK": f"TASK#{item['id']:0{WIDTH}}-" "x", "amount": Decimal("1.50")}
    return {}


operations = [
    Backfill(
        where={"entity": "Task"},
        set={"GSI2PK": "TENANT#{tenantId}#USER#{assignee}"},
        missing="skip",
    ),
    AddIndex("ByAssignee", partition_key=["GSI2PK"], projection=["title", "status"]),
]
'''


def of(source: str | bytes) -> str:
    return checksum(ast.parse(source))


def edited(old: str, new: str) -> str:
    assert SAMPLE.count(old) == 1, old
    return SAMPLE.replace(old, new)


SAME = {
    "crlf": SAMPLE.replace("\n", "\r\n"),
    "byte order mark": b"\xef\xbb\xbf" + SAMPLE.encode(),
    "latin-1 with an encoding line": b"# -*- coding: latin-1 -*-\n" + SAMPLE.encode("latin-1"),
    "module docstring changed": edited("Task keys lose the date.", "Something else."),
    "module docstring gone": edited('"""Task keys lose the date."""\n', ""),
    "function docstring gone": edited('    """The new key of a task."""\n', ""),
    "comments changed": edited("# Old ones hold a date.", "# They do.").replace("  # digits", ""),
    "blank lines": SAMPLE.replace("\n\n", "\n\n\n\n"),
    "single quotes": edited('{"entity": "Task"}', "{'entity': 'Task'}"),
    "raw string spelt otherwise": edited('r"^\\d+$"', '"^\\\\d+$"'),
    "number spelt otherwise": edited("1_000", "0x3E8"),
    "no trailing comma": edited('missing="skip",\n', 'missing="skip"\n'),
    "on one line": edited('        missing="skip",\n    ),', '        missing="skip"),'),
    "parenthesised": edited("return {}", "return ({})"),
    "implicit concatenation joined": edited('-" "x"', '-x"'),
    "implicit concatenation in parentheses": edited(
        '"TENANT#{tenantId}#USER#{assignee}"', '("TENANT#{tenantId}"\n"#USER#{assignee}")'
    ),
    "imports in another order": edited("import json\nimport re\n", "import re\nimport json\n"),
    "imports one a line": edited(
        "from decimal import Decimal, localcontext", "from decimal import localcontext\nfrom decimal import Decimal"
    ),
    "imports joined": edited("import json\nimport re\n", "import json, re\n"),
    "imports in parentheses": edited(
        "from migrator import AddIndex, Backfill", "from migrator import (\n    Backfill,\n    AddIndex,\n)"
    ),
    "import moved below": edited("import json\n", "").replace("WIDTH = 4", "import json\n\nWIDTH = 4"),
    "import twice": edited("import json\n", "import json\nimport json\n"),
    "import as itself": edited("import json\n", "import json as json\n"),
    "future import gone": edited("from __future__ import annotations\n", ""),
    "no-op": edited("    return {}", "    pass\n    return {}"),
}


@pytest.mark.parametrize("name", SAME)
def test_layout_does_not_move_the_checksum(name: str):
    assert of(SAME[name]) == of(SAMPLE)


MOVED = {
    "operator": edited(">=", ">"),
    "negation": edited("and not", "and"),
    "constant": edited("1_000", "1_001"),
    "type of a constant": edited('Decimal("1.50")', "Decimal(1.50)"),
    "text of a constant": edited('Decimal("1.50")', 'Decimal("1.5")'),
    "template": edited("#USER#", "#user#"),
    "f-string": edited("TASK#{item", "TASK-{item"),
    "f-string format": edited(":0{WIDTH}", ":{WIDTH}"),
    "f-string conversion": edited("['id']:0", "['id']!s:0"),
    "f-string made plain": edited("f\"TASK#{item['id']:0{WIDTH}}-\"", "\"TASK#{item['id']:0{WIDTH}}-\""),
    "module constant": edited("WIDTH = 4", "WIDTH = 5"),
    "revision": edited("20261130172204", "20261130172205"),
    "parent": edited('"20261115090000"', "None"),
    "option": edited('missing="skip"', 'missing="remove"'),
    "option gone": edited('        missing="skip",\n', ""),
    "order of a list": edited('["title", "status"]', '["status", "title"]'),
    "list for a tuple": edited('["GSI2PK"]', '("GSI2PK",)'),
    "where": edited('{"entity": "Task"}', '{"entity": "Tasks"}'),
    "imported name": edited("import AddIndex, Backfill", "import AddIndex as Backfill, Backfill as AddIndex"),
    "imported module": edited("from shop.keys import", "from shop.old_keys import"),
    "import alias": edited("prefix as of, task", "prefix, task as of"),
    "relative import": edited("from shop.keys import", "from .shop.keys import"),
    "order of operations": SAMPLE[: SAMPLE.index("operations = [")] + 'operations = [AddIndex("A"), Backfill()]\n',
}


@pytest.mark.parametrize("name", MOVED)
def test_meaning_moves_the_checksum(name: str):
    assert of(MOVED[name]) != of(SAMPLE)
    assert len({of(source) for source in MOVED.values()}) == len(MOVED)


def test_the_order_of_operations_moves_the_checksum():
    assert of("operations = [A(), B()]") != of("operations = [B(), A()]")


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("x = 1", "x = True"), ("x = 1", "x = 1.0"), ("x = 'a'", "x = b'a'"), ("x = 'None'", "x = None"),
        ("x = ''", "x = None"), ("x = {**a}", "x = {None: a}"), ("x: int = 1", "(x): int = 1"), ("x = -1", "x = +1"),
        ("import a.b", "import a.b as a"), ("import a", "from a import a"), ("def f(a, /): ...", "def f(a): ..."),
        ("def f(a, *, b): ...", "def f(a, b): ..."), ("def f(a, b=1): ...", "def f(a=1, b=1): ..."),
        ("def f(*, a, b=1): ...", "def f(*, a=1, b): ..."), ("x[1:]", "x[:1]"), ("x[::1]", "x[:1]"),
        ("f(*a)", "f(**a)"), ("x = f'{a!r}'", "x = f'{a}'"), ("x = f'{{a}}'", "x = f'{a}'"),
        ("x = '{a}'", "x = f'{a}'"), ("def f(*, a=None, b): ...", "def f(*, a, b=None): ..."),
        ("x = y = 1", "x, y = 1"), ("a = lambda: (yield)", "a = lambda: None"), ("x = 1j", "x = 1"),
        ("if a:\n  b()\nelse:\n  c()", "if a:\n  b()\nc()"), ("async def f(): g()", "def f(): g()"),
        ("f(\"a' b='\")", "f('a', b='')"), ("x = 'a'", "x = a"), ("global_ = 1", "global x"),
    ],
)  # fmt: skip
def test_programs_that_differ_have_forms_that_differ(left: str, right: str):
    assert of(left) != of(right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("del (a, [b, c])", "del a, b, c"), ("x = 'a' f''", "x = 'a'"),
        ("x = f'a'", "x = 'a'"), ("x = f''", "x = ''"), ("x = f'{a:}'", "x = f'{a}'"),
        ("x = f'{a}' 'b' f'{c}'", "x = f'{a}b{c}'"), ("x = u'a'", "x = 'a'"), ("x[(1, 2)]", "x[1, 2]"),
        ("x = '\\xe9'", "x = 'é'"), ("x = 0XFF", "x = 0xff"), ("x = 'a\\\nb'", "x = 'ab'"),
        ("def f():\n  'doc'", "def f():\n  ..."), ("class A():\n  pass", "class A:\n  'doc'"),
        ("for (a, b) in c: d()", "for a, b in c: d()"), ("with (a as b, c as d): e()", "with a as b, c as d: e()"),
        ("x = '''a\r\nb'''", "x = 'a\\nb'"),
    ],
)  # fmt: skip
def test_spellings_of_one_program_have_one_form(left: str, right: str):
    assert of(left) == of(right)


def test_formatters_change_nothing(tmp_path: Path):
    ruff = [sys.executable, "-m", "ruff"]
    for source in (SAMPLE, RICH.read_text(encoding="utf-8")):
        for options in (["--line-length=60"], ["--line-length=200", "--config=format.quote-style='single'"]):
            path = tmp_path / "sample.py"
            path.write_text(source, encoding="utf-8")
            subprocess.run([*ruff, "format", "--isolated", *options, str(path)], check=True, capture_output=True)
            fixes = [*ruff, "check", "--isolated", "--select=I", "--fix", "--config=lint.isort.force-single-line=true"]
            subprocess.run([*fixes, str(path)], check=True, capture_output=True)
            formatted = path.read_text(encoding="utf-8")
            assert formatted != source
            assert of(formatted) == of(source)


def test_the_form_of_a_fixed_sample_is_fixed():
    """A change of this value means that recorded checksums differ: raise CHECKSUM_VERSION with it."""
    assert of(RICH.read_bytes()) == GOLDEN
    assert GOLDEN.startswith(f"v{CHECKSUM_VERSION}:")


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13", "3.14"])
def test_every_python_makes_the_same_form(version: str):
    found = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python"))
    if not found:
        pytest.skip(f"Python {version} is not here")
    program = (
        "import ast, sys; sys.path.insert(0, sys.argv[1]); from migrator.loader.checksum import checksum; "
        "print(checksum(ast.parse(open(sys.argv[2], 'rb').read())))"
    )
    command = [str(found[-1]), "-I", "-B", "-c", program, str(ROOT), str(RICH)]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == GOLDEN


def test_a_long_chain_of_branches_is_read():
    chain = "if a == 0:\n    x = 0\n" + "".join(f"elif a == {n}:\n    x = {n}\n" for n in range(400))
    limit = sys.getrecursionlimit()
    assert of(chain) != of(chain + "else:\n    x = 1\n")
    assert sys.getrecursionlimit() == limit


def test_a_very_long_number_is_read():
    assert of(f"x = 0x{'f' * 6000}") != of(f"x = 0x{'f' * 6001}")


def test_only_checksums_of_one_algorithm_can_be_compared():
    assert same_version("v1:aa", "v1:bb")
    assert not same_version("v1:aa", "v2:aa")
