"""Items that an index cannot take: listed, repaired by a drafted migration, and then indexed."""

from __future__ import annotations

import csv
import io
import json
import signal
import time
from typing import Any

import pytest

from tests.e2e.project import Project, tasks

BY_SCORE = 'AddIndex("by-score", partition_key=N("score"), sort_key="email"),'
BAD = {
    "text": {"score": {"S": "high"}, "email": {"S": "a@b"}},
    "spelled": {"score": {"S": "12.5"}, "email": {"S": "a@b"}},
    "padded": {"score": {"S": "05"}, "email": {"S": "a@b"}},
    "null": {"score": {"NULL": True}, "email": {"S": "a@b"}},
    "empty": {"score": {"N": "1"}, "email": {"S": ""}},
    "long": {"score": {"N": "2"}, "email": {"S": "é" * 513}},
    "number": {"score": {"N": "3"}, "email": {"N": "17"}},
    "both": {"score": {"S": "7"}, "email": {"NULL": True}},
    "binary": {"score": {"B": b"\x00"}},
}
GOOD = {
    "fine": {"score": {"N": "5"}, "email": {"S": "c@d"}},
    "just": {"score": {"N": "5"}, "email": {"S": "é" * 512}},
    "absent": {},
    "half": {"score": {"N": "5"}},
}


@pytest.fixture
def mixed(project: Project) -> Project:
    """Items of every kind, on a table with a history and an index that is still to be built."""
    project.put([{"PK": {"S": "P"}, "SK": {"S": name}, **item} for name, item in {**BAD, **GOOD}.items()])
    project.migration("0001", 'Backfill(where={"SK": "nothing"}, set={"x": "y"}),')
    project.ok("upgrade", "--from-base")
    project.migration("0002", BY_SCORE, down="0001")
    return project


def test_every_violator_is_listed_by_key_and_reason_and_sparse_items_are_counted_apart(mixed: Project) -> None:
    with mixed.changing_nothing():
        found = mixed.ok("violations", "by-score", "-o", "json", code=3).document
    listed = {
        one["key"]["SK"]["S"]: {(problem["attribute"], problem["code"]) for problem in one["problems"]}
        for one in found["violators"]
    }
    assert listed == {
        "text": {("score", "index-key-type")},
        "spelled": {("score", "index-key-type")},
        "padded": {("score", "index-key-type")},
        "null": {("score", "index-key-null")},
        "empty": {("email", "index-key-empty")},
        "long": {("email", "index-key-size")},
        "number": {("email", "index-key-type")},
        "both": {("score", "index-key-type"), ("email", "index-key-null")},
        "binary": {("score", "index-key-type")},
    }
    assert (found["scanned"], found["indexable"], found["sparse"], found["violating"]) == (13, 2, 2, 9)
    assert (found["state"], found["revision"], found["is_pending"]) == ("violators", "0002", True)
    assert {(one["attribute"], one["code"]): one["items"] for one in found["problems"]} == {
        ("score", "index-key-type"): 5,
        ("score", "index-key-null"): 1,
        ("email", "index-key-empty"): 1,
        ("email", "index-key-size"): 1,
        ("email", "index-key-type"): 1,
        ("email", "index-key-null"): 1,
    }
    scans = mixed.sent(lambda one: one.operation == "Scan" and one.app == "run-1")
    assert scans
    assert all(one.body["ConsistentRead"] for one in scans)


def test_the_text_names_keys_reasons_and_bytes(mixed: Project) -> None:
    shown = mixed.ok("violations", "by-score", code=3)
    assert 'PK="P" SK="long"\n  index-key-size: email: 1026 bytes, over the 1024 of a sort key' in shown.out
    assert 'PK="P" SK="text"\n  index-key-type: score: type S where the index wants N' in shown.out
    assert shown.last_line == 'next: migrator violations by-score --generate "what it repairs"'


def test_the_whole_list_is_a_stream_of_csv_or_json_lines(mixed: Project) -> None:
    shown = mixed.ok("violations", "by-score", "--format", "csv", code=3)
    rows = list(csv.DictReader(io.StringIO(shown.out)))
    assert {json.loads(row["key"])["SK"]["S"] for row in rows} == BAD.keys()
    assert len(rows) == len(BAD) + 1, "an item with two problems has two rows"
    assert "violators: by-score of local-app" in shown.err

    mixed.ok("violations", "by-score", "--out", "bad.jsonl", "-o", "json", code=3)
    lines = [json.loads(line) for line in (mixed.folder / "bad.jsonl").read_text().splitlines()]
    assert {line["key"]["SK"]["S"] for line in lines} == BAD.keys()


def test_the_drafted_migration_leaves_no_violator_and_the_index_is_built(mixed: Project) -> None:
    before = {item["SK"]["S"]: item for item in mixed.items()}
    made = mixed.ok("violations", "by-score", "--generate", "Mend scores", "-o", "json", code=3).document
    path = mixed.folder / made["generated"]
    revision = path.name.partition("_")[0]
    # As the command says: the repair comes before the revision that builds the index.
    assert f'set down_revision = "{revision}" in migrations/0002.py' in made["next"]
    assert 'down_revision = "0001"' in path.read_text()
    mixed.migration("0002", BY_SCORE, down=revision)

    mixed.ok("upgrade", "+1")
    clean = mixed.ok("violations", "by-score", "-o", "json").document
    assert (clean["state"], clean["violating"], clean["next"]) == ("clean", 0, "migrator upgrade")
    after = {item["SK"]["S"]: item for item in mixed.items()}
    expected: dict[str, dict[str, Any]] = {
        "text": {"score_unindexed": {"S": "high"}, "email": {"S": "a@b"}},
        "spelled": {"score": {"N": "12.5"}, "email": {"S": "a@b"}},
        "padded": {"score_unindexed": {"S": "05"}, "email": {"S": "a@b"}},
        "null": {"email": {"S": "a@b"}},
        "empty": {"score": {"N": "1"}},
        "long": {"score": {"N": "2"}, "email_unindexed": {"S": "é" * 513}},
        "number": {"score": {"N": "3"}, "email": {"S": "17"}},
        "both": {"score": {"N": "7"}},
        "binary": {"score_unindexed": {"B": b"\x00"}},
        **GOOD,
    }
    assert after == {name: {"PK": {"S": "P"}, "SK": {"S": name}, **item} for name, item in expected.items()}

    mixed.ok("upgrade")
    assert {item["SK"]["S"] for item in mixed.items(index="by-score")} == {"fine", "just", "spelled", "number"}
    mixed.ok("downgrade", "0001")
    assert {item["SK"]["S"]: item for item in mixed.items()} == before


def test_what_a_live_index_left_out_is_found_and_repaired_on_the_head(project: Project) -> None:
    project.put([{"PK": {"S": "P"}, "SK": {"S": name}, **item} for name, item in {**BAD, **GOOD}.items()])
    project.migration("0001", BY_SCORE.replace('"email"', '"email", unindexable="allow"'))
    project.ok("upgrade", "--from-base")
    assert len(project.items(index="by-score")) == 2
    made = project.ok("violations", "by-score", "--generate", "Mend scores", "-o", "json", code=3).document
    assert (made["is_pending"], made["violating"]) == (False, 9)
    project.ok("upgrade")
    project.ok("violations", "by-score")
    assert len(project.items(index="by-score")) == 4


def test_a_refused_build_names_the_command_which_then_repairs_it(mixed: Project) -> None:
    refused = mixed.ok("upgrade", code=3)
    assert "migrator violations by-score" in refused.out + refused.err
    made = mixed.ok("violations", "by-score", "--generate", "Mend scores", "-o", "json", code=3).document
    revision = mixed.folder.joinpath(made["generated"]).name.partition("_")[0]
    mixed.migration("0002", BY_SCORE, down=revision)
    mixed.ok("upgrade")
    assert len(mixed.items(index="by-score")) == 4


def test_an_index_that_nobody_knows_is_refused_with_those_that_are_known(mixed: Project) -> None:
    refused = mixed.refused("unknown-index", "violations", "by-scoer", exit_code=2)
    assert "by-score of app" in refused.err


def test_a_signal_ends_a_look_that_waits_for_its_budget_and_leaves_no_half_list(project: Project) -> None:
    project.configure(read_units=1, segments=8, workers=4)
    project.put({**item, "note": {"S": "x" * 2_000}} for item in tasks(400))
    project.migration("0001", 'AddIndex("by-owner", partition_key=N("owner")),')
    running = project.start("violations", "by-owner", "--out", "all.csv")
    project.until(lambda: len(project.sent(lambda one: one.operation == "Scan")) >= 1)
    signalled = time.monotonic()
    running.kill(signal.SIGINT)
    done = running.wait()
    assert time.monotonic() - signalled < 10
    assert done.code == 130, done
    assert "Traceback" not in done.err
    assert [path.name for path in project.folder.glob("all*")] == []
