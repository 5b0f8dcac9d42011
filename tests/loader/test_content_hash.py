"""First-party modules are part of what a migration says."""

from __future__ import annotations

import hashlib
from importlib.machinery import EXTENSION_SUFFIXES

import pytest

from migrator.errors import UsageError
from tests.loader.conftest import Project


def names(project: Project) -> list[str]:
    return [module.partition(" ")[0] for module in project.only().modules]


def test_a_changed_module_moves_the_content_hash_and_not_the_checksum(project: Project):
    project.write("shop_f/__init__.py", "")
    project.write("shop_f/keys.py", "def key(item):\n    return 'TASK#' + item['id']\n")
    project.migration("from shop_f.keys import key\noperations = [Sign(key)]")
    before = project.only()
    project.write("shop_f/keys.py", "def key(item):\n    return 'task#' + item['id']\n")
    after = project.only()
    assert after.checksum == before.checksum
    assert after.content_hash != before.content_hash
    assert [module.partition(" ")[0] for module in after.modules] == ["shop_f", "shop_f.keys"]
    assert all(len(module.partition(" ")[2]) == 64 for module in after.modules)


def test_a_reformatted_module_moves_neither(project: Project):
    path = project.write("shop_g.py", "def key(item):\n    return 'TASK#' + item['id']\n")
    project.migration("from shop_g import key")
    before = project.only()
    path.write_bytes(
        b'\xef\xbb\xbf"""Keys."""\r\n\r\n\r\ndef key(item):  # of a task\r\n    return "TASK#" + item["id"]\r\n'
    )
    assert project.only() == before


def test_modules_are_followed_through_every_form_of_import(project: Project):
    project.write("shop_h/__init__.py", "from shop_h import registry\n")
    project.write("shop_h/registry.py", "")
    project.write("shop_h/keys/__init__.py", "from .task import key\nfrom ..text import fold as _fold\n")
    project.write(
        "shop_h/keys/task.py",
        "from . import width\nfrom shop_h.keys import width as w\n\ndef key():\n    import shop_h.late\n",
    )
    project.write("shop_h/keys/width.py", "import shop_h.keys.task\n")
    project.write("shop_h/text.py", "import json\nfrom decimal import Decimal\nfold = str.lower\n")
    project.write("shop_h/late.py", "")
    project.write("shop_h/unused.py", "")
    project.migration("import shop_h.keys as keys")
    inside = ["keys", "keys.task", "keys.width", "late", "registry", "text"]
    assert names(project) == ["shop_h", *(f"shop_h.{name}" for name in inside)]


def test_a_package_without_an_init_file_is_followed_too(project: Project):
    project.write("shop_i/keys.py", "")
    project.migration("import shop_i.keys")
    assert names(project) == ["shop_i.keys"]


def test_a_file_beside_the_migrations_counts(project: Project):
    project.write("migrations/_keys_j.py", "PREFIX = 'x'\n")
    project.migration("from migrations._keys_j import PREFIX")
    assert names(project) == ["migrations._keys_j"]


def test_an_import_for_type_checkers_only_does_not_count(project: Project):
    project.write("shop_k.py", "")
    project.write("shop_l.py", "")
    project.migration(
        """
        import typing
        from typing import TYPE_CHECKING

        if TYPE_CHECKING:
            import shop_k
        if typing.TYPE_CHECKING:
            import shop_k
        else:
            import shop_l

        operations = []
        """
    )
    assert names(project) == ["shop_l"]


@pytest.mark.parametrize("place", ["venv/lib", "lib/site-packages"])
def test_what_is_installed_inside_the_project_is_not_first_party(
    project: Project, place: str, monkeypatch: pytest.MonkeyPatch
):
    project.write("venv/pyvenv.cfg", "")
    name = f"installed_{place.partition('/')[0]}"
    project.write(f"{place}/{name}.py", "")
    monkeypatch.syspath_prepend(str(project.root / place))
    project.migration(f"import {name}")
    assert names(project) == []


def test_the_tool_itself_and_the_standard_library_are_not_first_party(project: Project):
    project.migration("import json, os.path, xml.etree.ElementTree\nfrom migrator.core.schema import N\nimport boto3")
    assert names(project) == []


def test_a_module_on_the_path_outside_the_project_is_not_first_party(project: Project):
    project.migration("from tests.loader.operations import Sign\noperations = []")
    assert names(project) == []


def test_a_folder_of_the_same_name_does_not_hide_a_package_installed_in_place(
    project: Project, monkeypatch: pytest.MonkeyPatch
):
    project.write("shop_m/README.md", "")
    project.write("src/shop_m/__init__.py", "")
    project.write("src/shop_m/keys.py", "")
    monkeypatch.syspath_prepend(str(project.root / "src"))
    project.migration("from shop_m.keys import __name__")
    assert names(project) == ["shop_m", "shop_m.keys"]


def test_a_compiled_module_counts_by_its_bytes(project: Project):
    project.write("shop_n/__init__.py", "")
    project.write(f"shop_n/fast{EXTENSION_SUFFIXES[0]}", b"one")
    project.migration(
        """
        def key(item):
            try:
                from shop_n import fast
            except ImportError:
                return {}

        operations = [Sign(key)]
        """
    )
    assert names(project) == ["shop_n", "shop_n.fast"]
    assert project.only().modules[1] == "shop_n.fast " + hashlib.sha256(b"one").hexdigest()


def test_a_relative_import_that_leads_out_of_its_package_is_left_to_python(project: Project):
    project.write("shop_o.py", "def late():\n    from ..nowhere import x\n    from . import y\n")
    project.migration("import shop_o")
    assert names(project) == ["shop_o"]


def test_an_imported_module_that_is_no_python_is_refused_by_name(project: Project):
    project.write("shop_p.py", "def f(:\n")
    project.migration(
        """
        def key(item):
            try:
                import shop_p
            except SyntaxError:
                return {}

        operations = [Sign(key)]
        """
    )
    with pytest.raises(UsageError) as caught:
        project.load()
    assert caught.value.code == "bad-migration"
    assert "shop_p.py:1: syntax error" in caught.value.message
