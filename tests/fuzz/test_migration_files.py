"""Migration files of any content: each loads as what it says, or is refused with its name."""

from __future__ import annotations

import io
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrator.core.graph import Graph
from migrator.errors import MigratorError, UsageError
from migrator.loader import load
from tests.fuzz.bounds import bounded, tried
from tests.fuzz.edge import refused_well, typed

GOOD = '''"""Names in capitals."""
from migrator import AddIndex, Backfill, N, PutItems

revision, down_revision = "20260101000000", None


def upper(item):
    import json
    return {"upper": item["name"].upper(), "text": f"{item['name']!r:>{10}}"}


operations = [
    Backfill(where={"SK": "person"}, transform=upper),
    AddIndex("ByTeam", partition_key="team", sort_key=N("age"), projection=["name"]),
    PutItems([{"PK": "a", "SK": "b", "n": 1}]),
]
'''


def loaded(text: str | bytes, name: str = "20260101000000_a.py", **modules: str) -> Graph | UsageError:
    """The graph of a folder with this one file, or its refusal. Nothing may get onto stdout."""
    tried["migration files"] += 1
    out = io.StringIO()
    before = set(sys.modules)
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(out), redirect_stderr(io.StringIO()):
        root = Path(folder)
        (root / "migrations").mkdir()
        (root / "migrations" / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        for module, source in modules.items():
            (root / f"{module}.py").write_text(source)
        try:
            found: Graph | UsageError = load(root / "migrations", project_root=root)
        except MigratorError as exc:
            refused_well(exc)
            found = UsageError(exc.code, exc.message)
        finally:
            for module in set(sys.modules) - before:
                if module in modules:
                    del sys.modules[module]
    assert out.getvalue() == ""
    return found


def refused(text: str | bytes, code: str = "bad-migration", **modules: str) -> UsageError:
    found = loaded(text, **modules)
    assert isinstance(found, UsageError), found
    assert found.code == code, found
    return found


BODY = 'revision, down_revision = "20260101000000", None\noperations = []\n'


@bounded(60)
@given(st.binary(max_size=400))
def test_bytes_of_any_kind_are_refused_and_never_run_half(content: bytes) -> None:
    refused(content)


CUTS = st.integers(0, len(GOOD))
PIECES = st.sampled_from(
    [
        "",
        "\0",
        "\ud7ff",
        "\N{BOM}",
        "(",
        ")",
        "[",
        "]",
        "{",
        '"',
        '"""',
        "\\",
        "\n",
        "\t",
        " ",
        "'",
        "#",
        ":",
        "None",
        "0",
        "1e999",
        "-1",
        "()",
        "[[]]",
        "lambda: 1",
        "revision",
        "operations",
        "import nothing_here",
        "raise KeyError\n",
        "def f(): pass\n",
        "class A: pass\n",
        "type X = int\n",
        "match x:\n",
        "\x0c",
        "\r\n",
        "é",
        "🧨",
        "9" * 5000,
        "b''",
        "AddIndex",
        "Backfill()",
        "PutItems",
        "N",
        "...",
        "*",
        "**",
        "@",
        "global revision\n",
        "del revision\n",
    ]
)


@bounded(150)
@given(st.lists(st.tuples(CUTS, st.integers(0, 30), PIECES), min_size=1, max_size=3))
def test_a_mutated_migration_loads_as_what_it_says_or_is_refused(cuts: list[tuple[int, int, str]]) -> None:
    text = GOOD
    for start, length, piece in cuts:
        text = text[:start] + piece + text[start + length :]
    found = loaded(text.encode("utf-8", "surrogatepass"))
    if isinstance(found, Graph):
        assert len(found) <= 1


ANY = st.sampled_from(
    [
        "None",
        "0",
        "-1",
        "1.5",
        "True",
        "()",
        "[]",
        "{}",
        "set()",
        "b'x'",
        "''",
        "' '",
        "'head'",
        "'a b'",
        "'a/b'",
        "'-1'",
        "'a' * 65",
        "'\\ud800'",
        "'\\0'",
        "'é'",
        "object()",
        "int",
        "print",
        "lambda: 0",
        "...",
        "[None]",
        "[1]",
        "['a', 'a']",
        "('20260101000000',)",
        "'20260101000000'",
        "'other'",
        "AddIndex",
        "[AddIndex]",
        "[object()]",
        "[[]]",
        "Broken()",
        "[Broken()]",
        "iter([])",
        "range(3)",
        "float('nan')",
        "10 ** 5000",
        "'x' * 100000",
        "{1: 2}",
        "[*range(1000)]",
        "[Lazy()]",
        "Lazy()",
    ]
)
BROKEN = """
from migrator import AddIndex
class Broken:
    def __repr__(self): raise ValueError("no text")
    __str__ = __repr__
    def __iter__(self): raise ValueError("no entries")
    def __len__(self): raise ValueError("no length")
    def __bool__(self): raise ValueError("neither")
    def __eq__(self, other): raise ValueError("not comparable")
    __hash__ = None
class Lazy:
    def __getattr__(self, name): raise ValueError("not today")
"""


@bounded(120)
@given(st.sampled_from(["revision", "down_revision", "operations", "depends_on", "upgrade", "__doc__"]), ANY)
def test_declarations_of_any_type_are_refused_or_mean_what_they_say(name: str, value: str) -> None:
    found = loaded(f"{BROKEN}\n{BODY}\n{name} = {value}\n")
    if isinstance(found, Graph) and name == "operations":
        assert value in ("()", "[]"), "nothing else is an empty list of operations"


OPERATIONS = st.sampled_from(
    [
        "AddIndex",
        "Backfill",
        "CreateTable",
        "DeleteItems",
        "DropIndex",
        "PutItems",
        "RemoveAttributes",
        "RenameAttribute",
        "RunPython",
        "SetBillingMode",
        "SetDeletionProtection",
        "SetPointInTimeRecovery",
        "SetStream",
        "SetTimeToLive",
        "UpdateIndex",
        "Index",
        "N",
        "B",
        "OneOf",
    ]
)
PARAMETERS = st.sampled_from(
    [
        "table",
        "partition_key",
        "sort_key",
        "projection",
        "where",
        "set",
        "transform",
        "missing",
        "check",
        "undo",
        "once",
        "indexes",
        "provisioned",
        "ttl",
        "name",
        "items",
        "function",
        "version",
        "on_demand_maximum",
        "nonsense",
    ]
)


@bounded(250)
@given(OPERATIONS, st.lists(ANY, max_size=3), st.dictionaries(PARAMETERS, ANY, max_size=4))
def test_operations_with_arguments_of_any_type_are_refused_or_can_be_shown(
    operation: str, arguments: list[str], named: dict[str, str]
) -> None:
    call = f"{operation}({', '.join([*arguments, *(f'{name}={value}' for name, value in named.items())])})"
    found = loaded(f"from migrator import *\n{BROKEN}\n{BODY}\noperations = [{call}]\n")
    if isinstance(found, Graph):
        for migration in found:
            assert [type(one).__name__ for one in migration.operations] == [operation]


@pytest.mark.parametrize(
    "statement",
    [
        "import sys; sys.exit(0)",
        "import sys; sys.exit('bye')",
        "raise SystemExit",
        "raise GeneratorExit",
        "raise BaseException('all')",
        "class Own(BaseException): pass\nraise Own",
        "import asyncio; raise asyncio.CancelledError",
        "class Mute(Exception):\n    def __str__(self): raise ValueError\nraise Mute",
        "raise ExceptionGroup('two', [ValueError(1), TypeError(2)])",
        "exec('(' * 500)",
        "def f(): f()\nf()",
        "import no_such_module_anywhere",
        "from migrator import NoSuchName",
        "from . import sibling",
        "import migrator.no_such_module",
        "1/0",
        "assert False",
        "quit()",
    ],
)
def test_a_file_that_does_not_end_well_is_refused_with_its_line(statement: str) -> None:
    error = refused(f"{BODY}\n{statement}\n")
    assert "20260101000000_a.py" in error.message


@pytest.mark.parametrize(
    "module",
    [
        "import sys; sys.exit(0)",
        "raise BaseException('all')",
        "raise GeneratorExit",
        "(",
        "\0",
        "import no_such_module",
    ],
)
@pytest.mark.parametrize("where", ["import own_keys", "def f(item):\n    import own_keys\n    return {}"])
def test_a_module_that_does_not_end_well_is_refused_wherever_it_is_imported(module: str, where: str) -> None:
    refused(f"{BODY}\n{where}\n", own_keys=module)


def test_what_a_file_prints_gets_into_no_result() -> None:
    found = loaded(f"print('hello')\nimport own_keys\n{BODY}", own_keys="print('there')")
    assert isinstance(found, Graph)


def test_an_interrupt_while_a_file_runs_ends_the_command_as_a_signal_does(tmp_path: Path) -> None:
    (tmp_path / "migrations").mkdir()
    (tmp_path / "migrations" / "1.py").write_text(f"{BODY}\nraise KeyboardInterrupt\n")
    (tmp_path / "migrator.toml").write_text('[env.a]\nregion = "eu-west-1"\n')
    assert typed(None, "heads", "-e", "a", "-c", str(tmp_path / "migrator.toml")).code == 130
