"""The sandbox commands, against a real sandbox process."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from migrator.cli import sandbox
from migrator.sandbox.serving import INDEX_BUILD, PORT
from tests.cli.conftest import Call


def test_the_defaults_are_the_sandboxs_own() -> None:
    assert (sandbox.PORT, sandbox.INDEX_BUILD) == (PORT, INDEX_BUILD)


@pytest.fixture
def nothing_running(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The user's runtime folder is empty; whatever is started is stopped."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    yield
    call("sandbox stop")


@pytest.mark.usefixtures("nothing_running")
def test_a_sandbox_is_started_loaded_reset_and_stopped(call: Call, tmp_path: Path) -> None:
    assert call("sandbox status -o json").document["state"] == "stopped"
    started = call("sandbox start --detach --port 0 --index-build 50ms -o json")
    assert started.code == 0, started.err
    endpoint = started.document["endpoint"]
    assert started.document["index_build_seconds"] == 0.05
    assert call("sandbox status -o json").document["endpoint"] == endpoint

    model = {
        "ModelName": "saas",
        "DataModel": [
            {
                "TableName": "app",
                "KeyAttributes": {"PartitionKey": {"AttributeName": "PK", "AttributeType": "S"}},
                "TableData": [{"PK": {"S": "a"}}, {"PK": {"S": "b"}}],
            }
        ],
    }
    (tmp_path / "model.json").write_text(json.dumps(model))
    loaded = call(["sandbox", "load", str(tmp_path / "model.json"), "-o", "json"])
    assert loaded.code == 0, loaded.err
    assert (loaded.document["items"], loaded.document["lines"]) == (2, ["app: 2 items put, table created"])

    (tmp_path / "more.jsonl").write_text('{"PK": {"S": "c"}}\n')
    assert call(["sandbox", "load", str(tmp_path / "more.jsonl"), "--table", "app"]).code == 0
    assert call("sandbox reset -o json").document["state"] == "reset"
    after_reset = call(["sandbox", "load", str(tmp_path / "more.jsonl"), "--table", "app"])
    assert after_reset.code == 1, "the table is gone"

    assert call("sandbox stop -o json").document == {
        "schema_version": 1,
        "command": "sandbox stop",
        "exit_code": 0,
        "state": "stopped",
        "next": "migrator sandbox start --detach",
        "blocked_by": "",
        "endpoint": "",
        "pid": None,
        "index_build_seconds": None,
        "items": 0,
        "lines": [],
    }
    assert "none was running" in call("sandbox stop").out


@pytest.mark.usefixtures("nothing_running")
def test_without_a_sandbox_load_and_reset_say_how_to_start_one(call: Call, tmp_path: Path) -> None:
    (tmp_path / "items.jsonl").write_text("{}\n")
    for words in (["sandbox", "reset"], ["sandbox", "load", str(tmp_path / "items.jsonl")]):
        said = call(words)
        assert said.code == 1
        assert said.err.startswith("error[sandbox-not-running]")
        assert "migrator sandbox start --detach" in said.err


def test_a_file_that_is_not_there_is_a_usage_error(call: Call) -> None:
    said = call("sandbox load nosuch.json")
    assert said.code == 2
    assert "error[no-such-file]" in said.err


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_in_the_foreground_it_serves_until_a_signal() -> None:
    words = [sys.executable, "-m", "migrator", "sandbox", "start", "--port", "0", "-o", "json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("DynamoDB sandbox at http://127.0.0.1:")
        process.terminate()
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert json.loads(out)["state"] == "stopped"


@pytest.mark.parametrize("line", ["demo", "sandbox demo"])
def test_both_names_run_the_demo(call: Call, monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    demo = ModuleType("migrator.demo")
    demo.run = lambda console: console.print("a migration")  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "migrator.demo", demo)
    said = call(line)
    assert said.code == 0
    assert said.out == "a migration\n\nnext: migrator init\n"
