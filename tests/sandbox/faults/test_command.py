"""`migrator sandbox fault` on a sandbox that runs as a process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from migrator.cli.main import main
from migrator.sandbox import Info, start_detached, stop


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Info]:
    folder = tmp_path_factory.mktemp("run")
    info = start_detached(0, 0.1, folder=folder, timeout=60)
    yield info
    stop(info.port, folder=folder)


class Said:
    def __init__(self, capsys: pytest.CaptureFixture[str], port: int) -> None:
        self._capsys = capsys
        self._port = port

    def __call__(self, *words: str) -> tuple[int, dict[str, Any]]:
        """Exit code and document of `migrator sandbox fault …`."""
        code = main(["sandbox", "fault", *words, "--port", str(self._port), "-o", "json"])
        return code, json.loads(self._capsys.readouterr().out)

    def forget(self) -> None:
        """What other commands have said."""
        self._capsys.readouterr()


@pytest.fixture
def fault(running: Info, capsys: pytest.CaptureFixture[str]) -> Iterator[Said]:
    said = Said(capsys, running.port)
    yield said
    said("clear")


def test_faults_are_added_listed_and_cleared(fault: Said) -> None:
    words = (
        "--operation PutItem --operation UpdateItem --table orders --index by-status --key pk=T#1 --every 2 "
        "--probability 0.5 --times 9 --seed 3 --for 90s --set reason=KeyRangeThroughputExceeded"
    )
    code, added = fault("add", "throttle", *words.split())
    assert (code, added["state"], added["faults"][0]["fault"]) == (0, "added", f"throttle {words}")
    number = added["faults"][0]["id"]
    _, second = fault("add", "lost")
    _, listed = fault("list")
    assert [one["id"] for one in listed["faults"]] == [number, second["faults"][0]["id"]]
    assert listed["faults"][0] == {
        "id": number,
        "fault": f"throttle {words}",
        "met": 0,
        "struck": 0,
        "is_over": False,
    }
    assert fault("clear", str(number))[1]["cleared"] == 1
    assert len(fault("list")[1]["faults"]) == 1
    assert fault("clear")[1]["cleared"] == 1
    assert fault("list")[1]["faults"] == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["add", "trottle"], "there is no 'trottle'"),
        (["add", "lost", "--nth", "0"], "nth: 0 is less than 1"),
        (["add", "lost", "--set", "share=1"], "share: unknown"),
        (["add", "lost", "--set", "nth=1"], "--set nth: that is no option of a kind"),
        (["add", "lost", "--set", "share"], "'share' is not key=value"),
        (["clear", "77"], "there is no fault 77"),
    ],
)
def test_what_makes_no_fault_is_a_usage_error(fault: Said, words: list[str], said: str) -> None:
    code, document = fault(*words)
    assert code == 2
    assert said in document["error"]["message"]
    assert fault("list")[1]["faults"] == []


def test_loading_meets_no_fault(fault: Said, running: Info, tmp_path: Path) -> None:
    model = {"TableName": "app", "KeyAttributes": {"PartitionKey": {"AttributeName": "PK", "AttributeType": "S"}}}
    items = {"TableData": [{"PK": {"S": key}} for key in "ab"]}
    path = tmp_path / "model.json"
    path.write_text(json.dumps({"ModelName": "app", "DataModel": [{**model, **items}]}))
    fault("add", "error")
    assert main(["sandbox", "load", str(path), "--port", str(running.port), "-o", "json"]) == 0
    fault.forget()
    assert fault("list")[1]["faults"][0]["met"] == 0


def test_a_bad_file_keeps_the_sandbox_from_starting(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "faults.toml").write_text("[[fault]]\nkind = 'lots'\n")
    for more in ([], ["--detach"]):
        code = main(["sandbox", "start", "--port", "0", "--faults", str(tmp_path / "faults.toml"), *more])
        assert code == 2
        said = capsys.readouterr().err
        assert said.startswith(f"error[bad-fault]: {tmp_path / 'faults.toml'}: fault 1, kind: there is no 'lots'")
        assert "hint: " in said
