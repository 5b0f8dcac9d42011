"""The pytest plugin, in a project of a user's own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from migrator.testing import SandboxEndpoint
from tests.testing.kit.conftest import write_project

pytest_plugins = ["pytester"]
ROOT = Path(__file__).parents[3]
PLUGIN = ("-p", "migrator.testing.plugin", "-p", "no:cacheprovider")
REVISIONS = {
    "r1": 'CreateTable(partition_key="PK", sort_key="SK")',
    "r2": 'Backfill(set={"GSI1PK": "NAME#{name}"})',
    "r3": 'RenameAttribute("name", "title")',
    "r4": 'AddIndex("ByName", partition_key="GSI1PK")',
}


@pytest.fixture
def user(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A folder with migrations."""
    write_project(pytester.path, **REVISIONS)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.delenv("MIGRATOR_SANDBOX_URL", raising=False)
    return pytester


Run = Callable[..., pytest.RunResult]


@pytest.fixture
def run(user: pytest.Pytester, endpoint: SandboxEndpoint) -> Run:
    """Run pytest there, in this process, which has loaded the engine already."""
    return lambda *words: user.runpytest_inprocess(*PLUGIN, "-W", "ignore::pytest.PytestAssertRewriteWarning", *words)


def test_the_fixtures_migrate_seed_and_run_commands_on_an_account_of_each_test(user: pytest.Pytester) -> None:
    user.makefile(".jsonl", seed='{"PK": "a", "SK": "2", "name": "Bob"}')
    user.makepyfile(
        """
        import boto3, os
        import pytest

        ADA = {"PK": "a", "SK": "1", "name": "Ada", "tags": {"x", "y"}, "age": 36}

        def test_old_items_are_brought_to_the_new_form(migrate):
            table = migrate("r1", seed=[ADA, "seed.jsonl"])
            assert [one.revision for one in table.plan("r2").revisions] == ["r2"]
            assert table.upgrade("r2").state == "applied"
            assert [item["GSI1PK"] for item in table.items()] == ["NAME#Ada", "NAME#Bob"]
            assert table.get({"PK": "a", "SK": "1"}) == {**ADA, "GSI1PK": "NAME#Ada"}
            assert table.downgrade("-1").state == "downgraded"
            assert table.items()[0] == ADA
            assert table.status().state == "pending"

        def test_the_head_is_reached_through_gates_and_the_table_is_empty_again(migrated_table):
            assert migrated_table.items() == []
            assert migrated_table.status().state == "up-to-date"
            migrated_table.put({"PK": "b", "SK": "1", "GSI1PK": "NAME#Eve"})
            assert len(migrated_table.items("ByName")) == 1
            migrated_table.delete({"PK": "b", "SK": "1"})
            assert migrated_table.items("ByName") == []

        def test_the_application_s_own_clients_reach_the_sandbox_too(migrated_table):
            client = boto3.client("dynamodb")
            assert client.list_tables()["TableNames"] == [migrated_table.name] == ["prod-app"]
            client.close()

        def test_the_environment_is_as_before_afterwards():
            assert "AWS_ENDPOINT_URL" not in os.environ

        def test_requests_are_intercepted_and_the_test_s_own_are_not(migrate, migrator_sandbox):
            table = migrate("r1", seed=[ADA])
            changed = []

            def meanwhile(request):
                changed.append(request.operation)
                table.put({**ADA, "name": "Eve"})

            with migrator_sandbox.intercept(meanwhile, operation="UpdateItem", nth=1):
                assert table.upgrade("r2").exit_code == 0
            assert changed == ["UpdateItem"]
            assert table.items()[0]["GSI1PK"] == "NAME#Eve"

        def test_files_alone_need_no_sandbox(migrator_graph):
            from migrator.testing import decide
            (backfill,) = migrator_graph["r2"].operations
            assert decide(backfill, ADA).set == {"GSI1PK": "NAME#Ada"}
        """
    )
    user.runpytest_subprocess(*PLUGIN, "-W", "error").assert_outcomes(passed=6)


def test_the_ready_made_test_is_collected_beside_the_tests_with_their_seeds_and_names_what_has_no_way_back(
    user: pytest.Pytester, run: Run
) -> None:
    write_project(user.path, **REVISIONS, r5='Backfill(set={"kind": "person"}, undo="none")')
    user.makeini("[pytest]\nmigrator_check = true\ntestpaths = tests\n")
    tests = user.mkdir("tests")
    (tests / "test_own.py").write_text("def test_own():\n    pass\n")
    (tests / "conftest.py").write_text(
        "import pytest\n\n@pytest.fixture\ndef migrator_seeds():\n"
        "    return {'r1': [{'PK': 'a', 'SK': '1', 'name': 'Ada'}]}\n"
    )
    result = run()
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        ["tests/migrator_check.py .*", "4 of 5 revisions went up, down and up again", "not taken back: r5: undo=*"]
    )
    run("-k", "test_own").assert_outcomes(passed=1, deselected=1)
    run("tests/test_own.py").assert_outcomes(passed=1)


def test_the_ready_made_test_fails_with_the_items_that_differ(user: pytest.Pytester, run: Run) -> None:
    user.makeini("[pytest]\nmigrator_check = true\n")
    user.makeconftest(
        "import pytest\n\n@pytest.fixture\ndef migrator_seeds():\n"
        "    return {'r1': [{'PK': 'a', 'SK': '1', 'name': 'Ada', 'GSI1PK': 'old'}]}\n"
    )
    result = run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*revision r2 is failed: [[]not-undoable[]]*"])


def test_a_marker_chooses_configuration_environment_and_variables(user: pytest.Pytester, run: Run) -> None:
    (user.path / "other.toml").write_text(
        'default_table = "app"\n[tables.app]\nname = "{stage}-other"\n'
        '[env.one]\nvars = { stage = "one" }\n[env.two]\nvars = { stage = "two" }\n'
    )
    user.makepyfile(
        """
        import pytest

        @pytest.mark.migrator(config="other.toml")
        def test_the_first(migrator_files):
            assert migrator_files.settings.tables["app"].name == "one-other"

        @pytest.mark.migrator(config="other.toml", env="two")
        def test_the_second(migrator_files):
            assert migrator_files.settings.tables["app"].name == "two-other"

        @pytest.mark.migrator(variables={"stage": "x"})
        def test_variables(migrator_files):
            assert migrator_files.settings.tables["app"].name == "x-app"
        """
    )
    run("--strict-markers").assert_outcomes(passed=3)


def test_a_sandbox_at_a_url_is_used_and_left_empty(user: pytest.Pytester, run: Run, endpoint: SandboxEndpoint) -> None:
    user.makepyfile(
        """
        from pathlib import Path
        from migrator.errors import MigratorError
        import pytest

        def test_there(migrated_table, migrator_project, migrator_sandbox):
            Path("account").write_text(migrator_project.account.id)
            migrated_table.put({"PK": "a", "SK": "1"})
            with pytest.raises(MigratorError, match="sandbox in this process"):
                migrator_sandbox.intercept()
        """
    )
    endpoint.requests.clear()
    run("--migrator-sandbox-url", endpoint.endpoint_url).assert_outcomes(passed=1)
    assert "CreateTable" in [request.operation for request in endpoint.requests]
    assert endpoint.sandbox is not None
    left = endpoint.sandbox.client(account=(user.path / "account").read_text())
    assert left.list_tables()["TableNames"] == []


def test_a_url_where_nothing_answers_says_what_to_start(
    user: pytest.Pytester, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MIGRATOR_SANDBOX_URL", "http://127.0.0.1:9")
    user.makepyfile("def test_there(migrated_table):\n    pass\n")
    result = run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*endpoint-unreachable*", "*migrator sandbox start --detach*"])


def test_a_project_without_migrations_is_not_touched_by_the_plugin(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sys

        def test_nothing_was_loaded():
            loaded = {name for name in sys.modules if name.startswith("migrator.testing")}
            assert loaded <= {"migrator.testing", "migrator.testing.plugin"}
            assert not {"boto3", "botocore", "ministack", "hypercorn", "typer"} & sys.modules.keys()
        """
    )
    pytester.makeini("[pytest]\nfilterwarnings = error\n")
    run = [sys.executable, "-m", "pytest", *PLUGIN, str(pytester.path)]
    done = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "1 passed" in done.stdout, done.stdout


@pytest.mark.parametrize("module", ["migrator.testing", "migrator.testing.memory"])
def test_importing_the_kit_loads_neither_engine_nor_pytest_nor_boto3(module: str) -> None:
    code = f"import sys, {module}; sys.exit(bool({{'boto3', 'ministack', 'hypercorn', 'pytest'}} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def test_without_the_extra_the_kit_loads_and_a_sandbox_says_what_to_install(user: pytest.Pytester) -> None:
    user.makeconftest("import sys\nsys.modules['ministack'] = sys.modules['hypercorn'] = None\n")
    user.makepyfile(
        """
        def test_a_decision_needs_none(migrator_graph):
            from migrator.testing import MigratedTable, assert_reversible, decide
            assert decide(migrator_graph["r2"].operations[0], {"PK": "a", "SK": "b", "name": "Ada"}).set

        def test_a_table_does(migrated_table):
            pass
        """
    )
    result = user.runpytest_subprocess(*PLUGIN)
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*sandbox-missing*", "*dynamodb-migrations?sandbox?*"])


@pytest.mark.skipif(find_spec("xdist") is None, reason="pytest-xdist is not installed")
def test_workers_have_sandboxes_of_their_own_and_the_ready_made_test_runs_once(user: pytest.Pytester) -> None:
    user.makeini("[pytest]\nmigrator_check = true\ntestpaths = tests\n")
    tests = user.mkdir("tests")
    for name in ("a", "b"):
        (tests / f"test_{name}.py").write_text(
            "def test_alone(migrated_table):\n    assert migrated_table.items() == []\n"
            "    migrated_table.put({'PK': 'a', 'SK': '1'})\n"
        )
    result = user.runpytest_subprocess(*PLUGIN, "-n", "2")
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["4 of 4 revisions went up, down and up again"])
