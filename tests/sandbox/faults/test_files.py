"""A file of faults is read in full or refused with the file and the place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from migrator.errors import UsageError
from migrator.sandbox import Sandbox, read_file, read_spec
from tests.sandbox.faults.conftest import code_of, make_table, put

FULL = """
[[fault]]
kind = "throttle"
operation = ["PutItem", "UpdateItem"]
table = "orders"
index = "by-status"
key = { pk = "TENANT#1", n = 3 }
every = 2
probability = 0.5
seed = 9
times = 100
for = "1m30s"
reason = "KeyRangeThroughputExceeded"

[[fault]]
kind = "latency"
operation = "Scan"
nth = 4
delay = "200ms"
up-to = 1
"""


def test_every_member_is_read(tmp_path: Path) -> None:
    path = tmp_path / "faults.toml"
    path.write_text(FULL)
    assert [str(spec) for spec in read_file(path)] == [
        "throttle --operation PutItem --operation UpdateItem --table orders --index by-status --key pk=TENANT#1 "
        "--key n=3 --every 2 --probability 0.5 --times 100 --seed 9 --for 90s --set reason=KeyRangeThroughputExceeded",
        "latency --operation Scan --nth 4 --set delay=0.2 --set up-to=1",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("fault = 3", "fault is no list of tables; write [[fault]]"),
        ("[[faults]]\nkind = 'lost'", "faults is unknown; a fault is a [[fault]]"),
        ("[[fault]]\nkind = ", "is no TOML: "),
        ("[[fault]]\nnth = 1", "fault 1, kind: missing; the kinds are throttle, "),
        ("[[fault]]\nkind = 'lost'\n[[fault]]\nkind = 'trottle'", "fault 2, kind: there is no 'trottle'"),
        ("[[fault]]\nkind = ['lost']", "fault 1, kind: there is no ['lost']"),
        ("[[fault]]\nkind = 'lost'\nnht = 3", "fault 1, nht: unknown; it takes operation, "),
        ("[[fault]]\nkind = 'lost'\nnth = 0", "fault 1, nth: 0 is less than 1"),
        ("[[fault]]\nkind = 'lost'\nevery = 1.5", "fault 1, every: 1.5 is no whole number"),
        ("[[fault]]\nkind = 'lost'\ntimes = true", "fault 1, times: True is no whole number"),
        ("[[fault]]\nkind = 'lost'\nprobability = 40", "fault 1, probability: 40 is not above 0 and at most 1"),
        ("[[fault]]\nkind = 'lost'\nfor = 'long'", "fault 1, for: expected a duration"),
        ("[[fault]]\nkind = 'lost'\ntable = 3", "fault 1, table: 3 is no text"),
        ("[[fault]]\nkind = 'lost'\nkey = 'a'", "fault 1, key: 'a' does not give values of attributes"),
        ("[[fault]]\nkind = 'lost'\noperation = 'PutItme'", "fault 1, operation: there is no PutItme; did you mean"),
        ("[[fault]]\nkind = 'lost'\noperation = 3", "fault 1, operation: 3 is no operation and no list of them"),
        ("[[fault]]\nkind = 'unprocessed'\noperation = 'PutItem'", "happens to BatchGetItem, BatchWriteItem, not to"),
        ("[[fault]]\nkind = 'stale-describe'\noperation = 'Scan'", "fault 1, operation: stale-describe takes none"),
        ("[[fault]]\nkind = 'throttle'\nreason = 'KeyRange'", "fault 1, reason: 'KeyRange' is none of "),
        ("[[fault]]\nkind = 'error'\napplied = 'yes'", "fault 1, applied: 'yes' is neither true nor false"),
        ("[[fault]]\nkind = 'capacity'\nkey-write = -1", "fault 1, key-write: -1 is no number of units"),
        ("[[fault]]\nkind = 'stream-trim'", "fault 1, table: stream-trim needs the name of a table"),
        ("[[fault]]\nkind = 'ttl-delete'\ntable = 'orders'", "fault 1, operation: ttl-delete would happen before"),
    ],
)
def test_what_makes_no_fault_is_refused_with_file_and_place(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "faults.toml"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        read_file(path)
    assert caught.value.code == "bad-fault"
    assert str(path) in caught.value.message
    assert said in caught.value.message
    assert caught.value.hint


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    for name in ("missing.toml", "binary.toml"):
        with pytest.raises(UsageError, match=name) as caught:
            read_file(tmp_path / name)
        assert caught.value.code == "no-such-file"


def test_a_reset_comes_back_to_the_faults_of_the_beginning() -> None:
    first: list[Any] = [read_spec({"kind": "error", "times": 1})]
    with Sandbox(faults=first) as sandbox:
        for _ in range(2):
            client = sandbox.client(account="000000000077")
            assert code_of(lambda: put(client, "1")) == "InternalServerError"  # noqa: B023
            make_table(client)
            sandbox.faults.add("lost")
            sandbox.reset()
        assert [fault.fault for fault in sandbox.faults.list()] == ["error --times 1"]


def test_an_admin_request_is_answered_in_json_whatever_it_is(sandbox: Sandbox) -> None:
    from migrator.sandbox.faults.admin import PATH, administer
    from migrator.sandbox.faults.layer import Faults

    faults = Faults(sandbox.clock)
    for method, path, raw, status in (
        ("POST", PATH, b'{"kind": "lost"}', 200),
        ("POST", PATH, b"{", 400),
        ("POST", PATH, b"[]", 400),
        ("POST", PATH, b'{"kind": "lots"}', 400),
        ("GET", f"{PATH}/1", b"", 404),
        ("PUT", PATH, b"", 404),
        ("DELETE", f"{PATH}/x", b"", 404),
        ("DELETE", f"{PATH}/1", b"", 200),
    ):
        answer = administer(faults, method, path, raw)
        assert (answer.status, "error" in answer.body) == (status, status != 200)
    assert faults.told() == ()
