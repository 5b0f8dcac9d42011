"""A project on a sandbox: what of its configuration holds there, tables and seeds, accounts that share nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import migrator.testing
from migrator.errors import MigratorError
from migrator.testing import MigratedTable, SandboxEndpoint, SandboxProject
from migrator.testing.kit.project import read_project
from migrator.testing.kit.tables import sow
from tests.testing.kit.conftest import Written

TABLE = 'CreateTable(partition_key="PK", sort_key="SK")'


def test_every_name_of_the_kit_is_there() -> None:
    assert [name for name in migrator.testing.__all__ if getattr(migrator.testing, name, None) is None] == []
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        migrator.testing.nothing  # noqa: B018 - the access is what is tested


def test_nothing_of_an_environment_that_leads_to_aws_holds_on_the_sandbox(written: Written) -> None:
    project = written(r1=TABLE)
    settings = project.settings
    assert (settings.role_arn, settings.profile, settings.expected_account, settings.protected) == (
        None,
        None,
        None,
        False,
    )
    result = project.upgrade()
    assert (result.state, result.where.account) == ("applied", project.account.id)
    assert result.where.endpoint == project.account.endpoint_url
    assert result.where.tables == {"app": "prod-app"}


def test_a_refusal_comes_with_its_hint(written: Written) -> None:
    project = written(r1=TABLE)
    with pytest.raises(MigratorError) as refused:
        project.upgrade("r9")
    assert refused.value.__notes__ == [f"hint: {refused.value.hint}"]


def test_a_run_that_does_not_reach_its_target_says_where_it_stopped_and_what_to_do(written: Written) -> None:
    project = written(r1=TABLE, r2='Backfill(set={"K": "{name}"})')
    project.reach("r1")
    MigratedTable(project).put({"PK": "a", "SK": "1"})
    with pytest.raises(AssertionError) as failed:
        project.reach("head")
    said = str(failed.value)
    assert "upgrade to head: incomplete (exit 6)" in said
    assert 'PK="a" SK="1"' in said
    assert "next: " in said


def test_a_seed_goes_to_the_tables_that_it_names_as_items_and_files(written: Written, tmp_path: Path) -> None:
    project = written(r1=TABLE, r2='CreateTable("users", partition_key="id", sort_key="at")')
    toml = tmp_path / "migrator.toml"
    toml.write_text(toml.read_text() + '[tables.users]\nname = "users-of-{stage}"\n')
    files = read_project(toml, tmp_path)
    other = SandboxProject(files, project.account)
    (tmp_path / "users.jsonl").write_text('{"id": "ada", "at": "1"}\n{"id": "bob", "at": "1"}\n')
    other.reach("head")
    sow(other, {"app": [{"PK": "a", "SK": "1"}], "users": [{"id": "eve", "at": "1", "age": 7}, "users.jsonl"]})
    users = MigratedTable(other, "users")
    assert users.name == "users-of-prod"
    assert [user["id"] for user in users.items()] == ["ada", "bob", "eve"]
    assert users.get({"id": "eve", "at": "1"}) == {"id": "eve", "at": "1", "age": 7}
    assert users.get({"id": "zoe", "at": "1"}) is None
    assert MigratedTable(other).items() == [{"PK": "a", "SK": "1"}]
    other.close()


def test_two_accounts_do_not_see_each_other_s_tables_and_leave_nothing(
    endpoint: SandboxEndpoint, written: Written
) -> None:
    first = written(r1=TABLE, r2="SetDeletionProtection(True)")
    second = first.fresh(endpoint.new_account())
    first.reach()
    assert first.client.list_tables()["TableNames"] == ["prod-app"]
    assert second.client.list_tables()["TableNames"] == []
    account = first.account
    first.close()
    second.close()
    left = account.client()
    assert left.list_tables()["TableNames"] == []
    left.close()


def test_the_environment_leads_to_the_account_and_is_then_as_it_was(
    endpoint: SandboxEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_PROFILE", "production")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "mine")
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    before = dict(os.environ)
    account = endpoint.new_account()
    with account.as_environment():
        assert "AWS_PROFILE" not in os.environ
        assert os.environ["AWS_ACCESS_KEY_ID"] == account.id
        assert os.environ["AWS_ENDPOINT_URL"] == endpoint.endpoint_url
    assert dict(os.environ) == before


def test_a_fault_lasts_as_long_as_its_with(endpoint: SandboxEndpoint, written: Written) -> None:
    project = written(r1=TABLE, r2='Backfill(set={"K": "{name}"})')
    project.reach("r1")
    MigratedTable(project).put({"PK": "a", "SK": "1", "name": "Ada"})
    assert endpoint.sandbox is not None
    with endpoint.fault("throttle", operation="UpdateItem", times=1, lasts="1h"):
        assert project.upgrade().state == "applied"
        (told,) = endpoint.sandbox.faults.list()
        assert told.struck == 1
    assert endpoint.sandbox.faults.list() == ()
