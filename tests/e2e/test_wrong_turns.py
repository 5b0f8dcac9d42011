"""Wrong turns: each is refused with a code, says what to do, and changes nothing."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from tests.e2e.conftest import NewProject
from tests.e2e.project import Project, tasks

BACKFILL = 'Backfill(where={"entity": "Task"}, set={"state": "OPEN#{owner}"}),'
INDEX = 'AddIndex("ByOwner", partition_key="owner"),'


def test_without_a_configuration_it_points_to_init(empty: Project) -> None:
    done = empty.refused("no-config", "upgrade", exit_code=2)
    assert "migrator init" in done.err


def test_an_unknown_environment_is_named_with_those_there_are(project: Project) -> None:
    done = project.refused("unknown-env", "plan", "-e", "prdo", exit_code=2)
    assert "local" in done.err


def test_an_unset_variable_in_a_table_name_is_refused(empty: Project) -> None:
    empty.configure(tables='tables.app.name = "{stage}-app"')
    done = empty.refused("unset-variable", "upgrade", exit_code=2)
    assert "stage" in done.err


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port that takes connections and never answers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(16)
        yield listener.getsockname()[1]


def test_without_credentials_it_says_so_and_does_not_hang_on_the_metadata_service(
    empty: Project, silent_port: int
) -> None:
    empty.configure()
    path = empty.folder / "migrator.toml"
    path.write_text("".join(line for line in path.read_text().splitlines(True) if "endpoint_url" not in line))
    empty.environ = {
        "AWS_ACCESS_KEY_ID": "",
        "AWS_SECRET_ACCESS_KEY": "",
        "AWS_EC2_METADATA_DISABLED": "false",
        "AWS_EC2_METADATA_SERVICE_ENDPOINT": f"http://127.0.0.1:{silent_port}",
    }
    done = empty.refused("no-credentials", "plan", exit_code=1)
    assert done.seconds < 15


def test_a_sandbox_that_does_not_run_is_told_apart_with_the_command_that_starts_it(empty: Project) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    empty.configure()
    path = empty.folder / "migrator.toml"
    path.write_text(path.read_text().replace(empty.sandbox.endpoint_url, f"http://127.0.0.1:{port}"))
    done = empty.refused("endpoint-unreachable", "upgrade", exit_code=1)
    assert "migrator sandbox start" in done.err
    assert done.seconds < 30


def test_credentials_of_another_account_are_refused_before_anything_is_written(project: Project) -> None:
    project.configure(env='expected_account = "123456789012"')
    project.migration("0001", BACKFILL)
    done = project.refused("wrong-account", "upgrade", "--from-base", exit_code=1)
    assert project.account in done.err
    assert "123456789012" in done.err


def test_an_unknown_revision_is_refused(project: Project) -> None:
    project.migration("0001", BACKFILL)
    project.refused("unknown-revision", "upgrade", "9999", exit_code=2)


def test_an_edited_applied_file_is_refused_until_it_is_accepted_by_repair(project: Project) -> None:
    path = project.migration("0001", BACKFILL)
    project.ok("upgrade", "--from-base")
    path.write_text(path.read_text().replace("OPEN", "CLOSED"))
    project.migration("0002", INDEX, down="0001")
    done = project.refused("checksum-mismatch", "upgrade", exit_code=3)
    assert "repair --checksum" in done.err
    project.ok("repair", "--checksum", "0001")
    project.ok("upgrade")


def test_a_reformatted_applied_file_is_the_same_file(project: Project) -> None:
    path = project.migration("0001", BACKFILL)
    project.ok("upgrade", "--from-base")
    text = path.read_text().replace("{", "{  ").replace("\n", "  # said\r\n", 1)
    path.write_bytes(b"\xef\xbb\xbf" + text.replace("{  owner", "{owner").encode())
    project.ok("check")


def test_two_heads_are_refused_by_name_until_merged(project: Project) -> None:
    project.migration("0001", BACKFILL)
    project.migration("0002", INDEX, down="0001")
    project.migration("0003", INDEX.replace("ByOwner", "ByOther"), down="0001")
    done = project.refused("multiple-heads", "upgrade", "--from-base", exit_code=2)
    assert "0002" in done.err
    assert "0003" in done.err
    project.ok("merge", "-m", "both")
    project.ok("upgrade", "--from-base")
    assert project.index("ByOwner")
    assert project.index("ByOther")


def test_an_older_revision_that_arrives_late_is_out_of_order(project: Project) -> None:
    project.migration("0001", BACKFILL)
    late = project.migration("0003", INDEX, down="0001")
    project.ok("upgrade", "--from-base")
    project.migration("0002", INDEX.replace("ByOwner", "ByOther"), down="0001")
    late.write_text(late.read_text().replace('down_revision = "0001"', 'down_revision = "0002"'))
    project.ok("repair", "--checksum", "0003")
    done = project.refused("out-of-order", "upgrade", exit_code=3)
    assert "--allow-out-of-order" in done.err
    project.ok("upgrade", "--allow-out-of-order")
    assert project.index("ByOther")


def test_a_table_without_a_history_is_refused_with_both_ways_on(project: Project) -> None:
    project.put(tasks(3))
    project.migration("0001", BACKFILL)
    done = project.refused("no-history", "upgrade", exit_code=1)
    assert "stamp" in done.err
    assert "--from-base" in done.err


@pytest.mark.parametrize(
    ("operations", "code", "named"),
    [
        pytest.param("Backfill(set={,", "bad-migration", "0001.py", id="syntax error"),
        pytest.param('AddIndex("A", partition_key="a", sorting="b"),', "bad-migration", "sorting", id="unknown option"),
        pytest.param('Backfill(set={"a": "b"}, missing="ignore"),', "bad-option", "missing", id="unknown value"),
        pytest.param('AddIndexes("A"),', "bad-migration", "AddIndexes", id="unknown operation"),
    ],
)
def test_a_migration_file_that_cannot_be_read_is_named(
    project: Project, operations: str, code: str, named: str
) -> None:
    project.migration("0001", operations)
    done = project.run("upgrade", "--from-base")
    assert (done.code, f"error[{code}]" in done.err) == (2, True), done
    assert "0001.py" in done.err
    assert named in done.err
    assert not [one for one in project.sent() if one.changes]


def test_a_table_that_does_not_exist_is_refused(empty: Project) -> None:
    empty.configure()
    empty.migration("0001", BACKFILL)
    done = empty.refused("table-missing", "upgrade", exit_code=1)
    assert "local-app" in done.err


def _key(*attributes: tuple[str, str]) -> dict[str, object]:
    return {
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": kind} for name, kind in attributes],
        "KeySchema": [
            {"AttributeName": name, "KeyType": role}
            for (name, _), role in zip(attributes, ("HASH", "RANGE"), strict=False)
        ],
    }


@pytest.mark.parametrize(
    ("shape", "key"),
    [
        pytest.param(_key(("id", "S")), {"id": {"S": "a"}}, id="partition key only"),
        pytest.param(_key(("id", "S"), ("at", "N")), {"id": {"S": "a"}, "at": {"N": "1"}}, id="number key"),
        pytest.param(
            {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}},
            {"PK": {"S": "a"}, "SK": {"S": "b"}},
            id="stream",
        ),
    ],
)
def test_a_table_that_cannot_hold_the_records_asks_for_a_control_table_and_works_with_one(
    new_project: NewProject, shape: dict[str, object], key: dict[str, object]
) -> None:
    project = new_project()
    project.configure()
    project.make_table(**shape)
    project.put([{**key, "owner": {"S": "o"}, "entity": {"S": "Task"}}])
    project.migration("0001", BACKFILL)
    done = project.refused("control-table-needed", "upgrade", "--from-base", exit_code=2)
    assert "[control] name" in done.err

    project.configure(control='[control]\nname = "local-migrator"')
    project.ok("upgrade", "--from-base")
    assert [item["state"]["S"] for item in project.items()] == ["OPEN#o"]
    assert project.control_records() == []
    assert project.control_records("local-migrator")
