"""From files to the graph: what is a migration, what is refused, and that nothing leaks."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from migrator.core.plan import Operation
from migrator.errors import UsageError
from migrator.loader import load
from tests.loader.conftest import HEAD, Project
from tests.loader.operations import Sign


def refusal(project: Project, code: str = "bad-migration") -> UsageError:
    with pytest.raises(UsageError) as caught:
        project.load()
    assert caught.value.code == code
    assert caught.value.exit_code == 2
    return caught.value


@pytest.mark.parametrize(
    ("code", "hint"),
    [
        ("operations = [AddIndex('ByOwner', partition_key='owner')]", "add `from migrator import AddIndex`"),
        ("from migrator import Backfill\noperations = [Backfil(set={'a': 1})]", "did you mean Backfill?"),
        ("operations = [nobody_knows]", "no such name is defined or imported"),
        (
            "from migrator import Backfill\noperations = [Backfill(sets={'a': 1})]",
            "did you mean set? Backfill takes where,",
        ),
        ("operations = [1 / 0]", "it must not need a table"),
    ],
)
def test_a_slip_in_a_file_is_answered_with_what_was_meant(project: Project, code: str, hint: str):
    project.migration(code)
    assert hint in (refusal(project).hint or "")


def test_a_file_is_read_as_a_migration(project: Project):
    project.migration('"""docstring"""\noperations = [Sign("a"), Sign("b")]')
    project.write(
        "migrations/002_second.py",
        '''\
        """Second thing.

        At length.
        """
        from tests.loader.operations import Sign

        revision, down_revision = "002", "001"
        operations = (Sign("c"),)
        ''',
    )
    first, second = project.load().order()
    assert first.operations == (Sign("a"), Sign("b"))
    assert (first.down_revisions, second.down_revisions) == ((), ("001",))
    assert (second.revision, second.message, second.path) == ("002", "Second thing.", "migrations/002_second.py")
    assert all(isinstance(operation, Operation) for operation in (*first.operations, *second.operations))
    assert first.checksum != second.checksum


def test_without_a_docstring_the_message_is_the_files_name(project: Project):
    project.migration("")
    assert project.only().message == "001_first"


def test_identity_is_the_revision_inside_and_neither_name_nor_folder(project: Project):
    path = project.migration("operations = [Sign('x')]")
    before = project.only()
    path.rename(project.write("migrations/2026/other.py", ""))
    after = project.only()
    assert after.path == "migrations/2026/other.py"
    assert (after.revision, after.checksum, after.content_hash) == (
        before.revision,
        before.checksum,
        before.content_hash,
    )


@pytest.mark.parametrize(
    "text",
    [
        "revision = '001'\ndown_revision = None",
        "revision: str = '001'\ndown_revision: str | None = None",
        "revision, down_revision = '001', None",
        "[revision, down_revision] = ['001', None]",
        "revision, down_revision = (one for one in ('001', None))",
        "first = revision = '001'\ndown_revision = None",
    ],
)
def test_a_revision_may_be_assigned_in_any_manner(project: Project, text: str):
    project.write("migrations/001.py", f"{text}\noperations = []\n")
    migration = project.only()
    assert (migration.revision, migration.down_revisions) == ("001", ())


def test_a_file_that_cannot_be_read_is_refused(project: Project):
    (project.migrations / "001.py").symlink_to(project.root / "gone.py")
    assert "migrations/001.py: cannot be read: No such file" in refusal(project).message


def test_a_file_nested_too_deep_is_refused(project: Project):
    project.write("migrations/001.py", "revision = '1'\nx = " + "-" * 100_000 + "1\n")
    assert "migrations/001.py" in refusal(project).message


def test_a_merge_names_its_parents(project: Project):
    project.migration("")
    for revision in ("002", "003"):
        project.write(f"migrations/{revision}.py", f"revision = '{revision}'\ndown_revision = '001'\noperations = []\n")
    project.write("migrations/004.py", "revision = '004'\ndown_revision = ['003', '002']\noperations = []\n")
    graph = project.load()
    assert graph["004"].down_revisions == ("003", "002")
    assert graph.heads == ("004",)


@pytest.mark.parametrize(
    "name",
    [
        "README.md", "README", "__init__.py", "001_first.py~", ".#001_first.py", "#001_first.py#", ".001_first.py.swp",
        "001_first.py.orig", "001_first.py.bak", ".hidden.py", "__pycache__/x.cpython-311.pyc", "__pycache__/x.py",
        ".git/x.py", "_old/x.py", "notes.txt", "001_first.pyi", "_template.py",
    ],
)  # fmt: skip
def test_what_is_no_migration_is_passed_over(project: Project, name: str):
    project.migration("")
    project.write(
        f"migrations/{name}", "this is = not a migration\n" if not name.endswith("_template.py") else "x = 1\n"
    )
    assert len(project.load()) == 1


def test_a_name_that_begins_with_an_underscore_hides_no_migration(project: Project):
    project.migration("", name="migrations/_001.py")
    assert project.only().revision == "001"


def test_a_python_file_without_a_revision_is_refused_and_not_run(project: Project):
    project.write("migrations/script.py", "raise SystemExit('ran')\n")
    error = refusal(project)
    assert "migrations/script.py" in error.message
    assert "without a `revision`" in error.message
    assert "_" in (error.hint or "")


def test_no_folder_is_not_an_empty_one(project: Project):
    assert len(project.load()) == 0
    with pytest.raises(UsageError) as caught:
        load(project.root / "elsewhere", project_root=project.root)
    assert caught.value.code == "no-migrations-folder"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("operations = [", "5: syntax error"),
        ("x = 1\n  y = 2", "6: syntax error"),
        ("<<<<<<< HEAD\noperations = []", "5: syntax error"),
        ("return 1", "5: syntax error"),
        (
            "import no_such_module_anywhere",
            "5: ModuleNotFoundError: No module named 'no_such_module_anywhere'",
        ),
        ("from json import no_such_name", "5: ImportError"),
        ("operations = [Sgin('x')]", "5: NameError: name 'Sgin' is not defined"),
        ("operations = [Sign(wrod='x')]", "5: TypeError"),
        ("def f():\n    1 / 0\nf()", "6: ZeroDivisionError"),
        ("raise SystemExit(3)", "5: SystemExit: 3"),
        ("revision = 7", "5: revision is 7, not a string"),
        ("revision = 'head'", "5: revision 'head' cannot be an id"),
        ("revision = 'a+1'", "5: revision 'a+1' cannot be an id"),
        ("revision = ''", "5: revision '' cannot be an id"),
        ("down_revision = 1", "5: down_revision is 1"),
        ("down_revision = ()", "5: down_revision is ()"),
        ("down_revision = ('a', 'a')", "5: down_revision ('a', 'a') names a parent twice"),
        ("del down_revision", " no down_revision"),
        ("pass", " no operations"),
        ("operations = Sign('x')", "5: operations is a Sign, not a list"),
        ("operations = [Sign]", "5: operations[0] is no operation: <class"),
        ("operations = [Sign(''), 'AddIndex']", "5: operations[1] is no operation: 'AddIndex'"),
        ("revision = down_revision = None", "5: revision is None"),
        ("revision: str = ''", "5: revision '' cannot"),
        ("operations = []\ndepends_on = 'x'", "6: depends_on is not supported"),
    ],
)
def test_a_wrong_file_is_refused_with_its_line(project: Project, body: str, said: str):
    rest = "" if "operations" in body or body == "pass" else "\noperations = []"
    project.write("migrations/001_first.py", (HEAD + body + rest + "\n").encode())
    assert refusal(project).message.startswith(f"migrations/001_first.py:{said}")


def test_functions_in_the_manner_of_alembic_are_refused_with_what_to_write(project: Project):
    project.write("migrations/001.py", "revision = '001'\ndown_revision = None\n\n\ndef upgrade():\n    pass\n")
    error = refusal(project)
    assert "migrations/001.py: upgrade() instead of operations" in error.message
    assert "operations = [" in (error.hint or "")


@pytest.mark.parametrize("content", [b"revision = '1'\x00", b"# -*- coding: klingon -*-\n", b"revision = '\xff'\n"])
def test_bytes_that_are_no_python_are_refused(project: Project, content: bytes):
    project.write("migrations/001_first.py", content)
    assert "migrations/001_first.py" in refusal(project).message


def test_what_an_operation_refuses_keeps_its_code_and_hint_and_gets_its_line(project: Project):
    project.migration("operations = [\n    Sign('x'),\n    Picky('y'),\n]")
    error = refusal(project, "bad-word")
    assert "migrations/001_first.py:7: 'y' is no word" in error.message
    assert error.hint == "say something else"


def test_duplicates_unknown_parents_and_cycles_name_the_files(project: Project):
    project.migration("")
    project.migration("", name="migrations/copy.py")
    error = refusal(project, "duplicate-revision")
    assert "migrations/001_first.py" in error.message
    assert "migrations/copy.py" in error.message
    project.migration("down_revision = '000'", name="migrations/copy.py")
    project.write("migrations/001_first.py", "revision = '000'\ndown_revision = '001'\noperations = []\n")
    error = refusal(project, "revision-cycle")
    assert "migrations/001_first.py" in error.message
    assert "migrations/copy.py" in error.message


# --- isolation --------------------------------------------------------------------------------------------------------


def test_nothing_is_left_behind_but_first_party_modules(project: Project):
    project.write("shopkeys_a/__init__.py", "")
    project.write("shopkeys_a/keys.py", "def key(item):\n    return {'SK': item['id']}\n")
    project.migration("from shopkeys_a.keys import key\noperations = [Sign(key)]")
    path, modules = list(sys.path), set(sys.modules)
    (operation,) = project.only().operations
    assert sys.path == path
    assert set(sys.modules) - modules == {"shopkeys_a", "shopkeys_a.keys"}
    assert operation.word({"id": "7"}) == {"SK": "7"}


def test_a_failed_load_leaves_the_path_as_it_was(project: Project):
    project.migration("import no_such_module_anywhere")
    path, modules = list(sys.path), set(sys.modules)
    refusal(project)
    assert sys.path == path
    assert set(sys.modules) == modules


def test_two_files_do_not_see_each_others_names(project: Project):
    project.migration("shared = 1\noperations = []")
    project.write(
        "migrations/002.py",
        "revision = '002'\ndown_revision = '001'\noperations = [] if 'shared' not in dir() else [1]\n",
    )
    assert len(project.load()) == 2


def test_a_dataclass_with_postponed_annotations_loads(project: Project):
    project.write(
        "migrations/001.py",
        """\
        from __future__ import annotations

        from dataclasses import dataclass
        from typing import ClassVar

        revision, down_revision = "001", None

        @dataclass(frozen=True)
        class Part:
            kind: ClassVar[str] = "part"
            name: str = ""

        operations = []
        assert Part("x") == Part(name="x")
        """,
    )
    assert project.only().revision == "001"


def test_what_a_file_prints_goes_to_the_error_stream(project: Project, capsys: pytest.CaptureFixture[str]):
    project.migration("print('loading')\noperations = []")
    project.load()
    assert capsys.readouterr() == ("", "loading\n")


def test_an_import_inside_a_function_still_works_when_it_runs(project: Project):
    project.write("shopkeys_b.py", "PREFIX = 'TASK#'\n")
    project.migration(
        """
        def key(item):
            from shopkeys_b import PREFIX

            return {"SK": PREFIX + item["id"]}

        operations = [Sign(key)]
        """
    )
    (operation,) = project.only().operations
    assert operation.word({"id": "7"}) == {"SK": "TASK#7"}


def test_an_import_inside_a_function_that_cannot_work_is_refused_at_once(project: Project):
    project.write("shopkeys_c.py", "raise RuntimeError('no settings')\n")
    project.migration("def key(item):\n    import shopkeys_c\noperations = [Sign(key)]")
    assert "migrations/001_first.py:6: RuntimeError: no settings" in refusal(project).message


def test_an_import_that_the_file_itself_guards_may_fail(project: Project):
    project.write("shopkeys_d.py", "raise ImportError('optional')\n")
    project.migration(
        """
        def key(item):
            try:
                import shopkeys_d
            except ImportError:
                return {}

        operations = [Sign(key)]
        """
    )
    assert project.only().revision == "001"


def test_a_fault_in_an_imported_module_is_shown_at_the_import(project: Project):
    project.write("shopkeys_e.py", "def f(:\n")
    project.migration("import shopkeys_e")
    error = refusal(project)
    assert "migrations/001_first.py:5: SyntaxError" in error.message
    assert "shopkeys_e.py" in error.message


def test_a_file_outside_the_project_is_shown_with_its_whole_path(tmp_path: Path):
    outside, root = tmp_path / "outside", tmp_path / "root"
    outside.mkdir()
    root.mkdir()
    (outside / "001.py").write_text("revision = '001'\ndown_revision = None\noperations = []\n")
    (migration,) = load(outside, project_root=root)
    assert migration.path == str(outside / "001.py")
