"""Migration files in odd encodings, of any depth and size, under odd names: read as Python reads them, or refused."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from migrator.core.graph import Graph
from migrator.errors import UsageError
from migrator.loader import load
from tests.fuzz.edge import sound, typed
from tests.fuzz.test_migration_files import BODY, loaded, refused


@pytest.mark.parametrize(
    "content",
    [
        b"# -*- coding: no-such-codec -*-\n" + BODY.encode(),
        b"# -*- coding: utf-16 -*-\n" + BODY.encode(),
        b"\xff\xfe" + BODY.encode("utf-16-le"),
        BODY.encode() + b"x = '\xff'\n",
        b"# -*- coding: ascii -*-\n" + BODY.encode() + "x = 'é'\n".encode(),
        BODY.encode() + b"\0",
        b"\0" * 1000,
    ],
)
def test_an_encoding_that_cannot_be_read_is_refused(content: bytes) -> None:
    refused(content)


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbf" + BODY.encode(),
        b"# -*- coding: latin-1 -*-\n" + BODY.encode() + b"x = '\xff'\n",
        BODY.replace("\n", "\r\n").encode(),
        b"# -*- coding: cp1252 -*-\n" + BODY.encode() + b"# \x80\n",
        BODY.encode() + b"\x0c\n",
    ],
)
def test_an_encoding_that_python_reads_is_read(content: bytes) -> None:
    assert isinstance(loaded(content), Graph)


@pytest.mark.parametrize("depth", [50, 95, 500, 3000, 20_000])
@pytest.mark.parametrize(
    "nest",
    [
        lambda n: "x = " + "[" * n + "]" * n,
        lambda n: "x = " + "-" * n + "1",
        lambda n: "x = " + "+".join(["1"] * n),
        lambda n: "x = lambda: " + "+".join(["a"] * n),
        lambda n: "def f():\n    x = " + ".a".join(["b"] * 1) + ".a" * n,
        lambda n: "if 1: pass\n" + "elif 1: pass\n" * n,
        lambda n: "def f():\n    if 1: import json\n" + "    elif 1: import json\n" * n,
        lambda n: "x = 1\n" * n,
        lambda n: "x = f'" + "{1}" * n + "'",
    ],
    ids=["lists", "minuses", "sums", "names", "attributes", "elifs", "imports", "lines", "f-string"],
)
def test_nesting_of_any_depth_loads_or_is_refused(nest: object, depth: int) -> None:
    loaded(f"{BODY}\n{nest(depth)}\n")  # type: ignore[operator]


def test_a_file_of_several_megabytes_loads() -> None:
    found = loaded(BODY + "notes = [\n" + "    'a line of words that go on and on and on',\n" * 40_000 + "]\n")
    assert isinstance(found, Graph)


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="this Python knows it")
def test_syntax_of_a_newer_python_is_refused_as_syntax() -> None:
    assert "syntax error" in refused(f"{BODY}\ntype Key = str\n").message


@pytest.mark.skipif(sys.platform == "win32", reason="file names are bytes elsewhere")
def test_a_file_name_that_is_no_text_is_read_or_refused(tmp_path: Path) -> None:
    folder = tmp_path / "migrations"
    folder.mkdir()
    try:
        Path(os.fsdecode(os.fsencode(folder) + b"/\xff\xfe.py")).write_text(BODY)
    except OSError:
        pytest.skip("this file system takes no such name")
    (tmp_path / "migrator.toml").write_text('[env.a]\nregion = "eu-west-1"\n')
    for command in ("history", "heads", "show 20260101000000"):
        answer = sound(typed(None, *command.split(), "-e", "a", "-c", str(tmp_path / "migrator.toml")))
        assert answer.code == 0, answer


@pytest.mark.skipif(sys.platform == "win32", reason="there are no named pipes")
@pytest.mark.timeout(20)
def test_a_named_pipe_in_the_folder_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.py")
    with pytest.raises(UsageError, match="no regular file"):
        load(tmp_path, project_root=tmp_path)


def test_a_broken_link_is_refused_and_a_folder_called_like_a_file_is_looked_into(tmp_path: Path) -> None:
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "folder.py" / "1.py").write_text(BODY)
    assert len(load(tmp_path, project_root=tmp_path)) == 1
    (tmp_path / "2.py").symlink_to(tmp_path / "nowhere.py")
    with pytest.raises(UsageError, match="cannot be read"):
        load(tmp_path, project_root=tmp_path)
