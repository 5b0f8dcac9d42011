"""Exit codes, errors, habits and help of the whole program."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest

from migrator.cli.main import COMMANDS, asks_for_json
from migrator.errors import (
    AnswerLost,
    Interrupted,
    LeaseLost,
    LockHeld,
    MigratorError,
    Throttled,
    UsageError,
)
from tests.cli import samples
from tests.cli.conftest import Call
from tests.cli.house import FakeHouse


def test_a_reached_target_exits_0_and_prints_the_result_on_stdout_only(call: Call) -> None:
    said = call("upgrade", upgrade=samples.RUN)
    assert said.code == 0
    assert said.out.startswith("applied: prod (account 222222222222, eu-west-1)\n")
    assert said.err == ""


@pytest.mark.parametrize("code", [1, 3, 4, 5, 6, 7, 8, 9, 130, 143])
def test_the_exit_code_of_a_result_is_that_of_the_process(call: Call, code: int) -> None:
    result = dataclasses.replace(samples.RUN, state="stopped", exit_code=code)
    assert call("upgrade", upgrade=result).code == code
    said = call("upgrade -o json", upgrade=result)
    assert (said.code, said.document["exit_code"]) == (code, code)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (MigratorError("index-gone", "gone"), 1),
        (MigratorError("drift", "drifted", exit_code=3), 3),
        (UsageError("bad-config", "wrong"), 2),
        (LockHeld("lock-held", "held"), 4),
        (LeaseLost("lease-lost", "lost"), 4),
        (MigratorError("index-building", "building", exit_code=5), 5),
        (MigratorError("mismatch", "differs", exit_code=6), 6),
        (Throttled("too much"), 7),
        (AnswerLost("no answer"), 1),
        (MigratorError("phase-in-progress", "gate", exit_code=9), 9),
        (Interrupted("interrupted", "stopped"), 130),
        (Interrupted("interrupted", "stopped", exit_code=143), 143),
    ],
)
def test_each_kind_of_error_has_its_exit_code_and_its_json_document(
    call: Call, error: MigratorError, code: int
) -> None:
    assert call("upgrade", upgrade=error).code == code
    said = call("upgrade -o json", upgrade=error)
    assert said.code == code
    assert said.document == {
        "schema_version": 1,
        "command": "upgrade",
        "exit_code": code,
        "state": "error",
        "next": error.hint or "",
        "blocked_by": error.code,
        "error": {"code": error.code, "message": error.message, "hint": error.hint},
    }


def test_an_error_says_what_happened_and_what_to_type_on_stderr(call: Call) -> None:
    error = LockHeld("lock-held", "locked by ci-7 [run 41]", hint="wait with --lock-timeout 120")
    said = call("upgrade", upgrade=error)
    assert said.err == "error[lock-held]: locked by ci-7 [run 41]\n  hint: wait with --lock-timeout 120\n"
    assert said.out == ""


def test_a_long_error_is_one_line_for_grep_when_nobody_watches(call: Call) -> None:
    message = "item " + "x" * 400
    assert f"error[bad-item]: {message}\n" in call("upgrade", upgrade=MigratorError("bad-item", message)).err


def test_an_error_before_the_runner_is_told_alike(call: Call) -> None:
    house = FakeHouse(project_error=UsageError("no-config", "no migrator.toml", hint="`migrator init` writes one"))
    said = call("heads -o json", house)
    assert said.code == 2
    assert said.document["error"]["code"] == "no-config"


def test_an_unexpected_error_is_short_and_says_how_to_report_it(call: Call) -> None:
    said = call("status", status=ZeroDivisionError("by zero"))
    assert said.code == 1
    assert said.err.startswith("error[internal]: ZeroDivisionError: by zero\n  hint: run it again with --verbose")
    assert "Traceback" not in said.err


def test_verbose_shows_the_traceback_of_an_unexpected_error(call: Call) -> None:
    said = call("status --verbose", status=ZeroDivisionError("by zero"))
    assert "Traceback (most recent call last)" in said.err
    assert "error[internal]" in said.err


def test_the_runner_is_closed_after_an_error(call: Call) -> None:
    house = FakeHouse(upgrade=ZeroDivisionError())
    call("upgrade", house)
    assert house.closed


@pytest.mark.parametrize(
    "line",
    [
        "upgrade --typo",
        "nosuchcommand",
        "upgrade one two",
        "upgrade --lock-timeout soon",
        "upgrade -o yaml",
        "upgrade -x stage",
        "upgrade -x =dev",
        "failed skip REV KEY",
        "lock release",
        "repair",
        "repair --restored --drift",
        "upgrade --dry-run --plan plan.json",
        "upgrade --plan nosuchfile.json",
        "violations",
        "throttle",
        "throttle --write-units 0",
        "throttle --write-units 101%",
        "throttle --off --for 2h",
        "throttle --off --write-units 5",
        "pause --for soon",
        "violations ByAssignee --format xml",
        "violations ByAssignee --format text --out all.csv",
        "violations ByAssignee --out all.txt",
        "violations ByAssignee --out nosuchfolder/all.csv",
    ],
)
def test_a_wrong_command_line_exits_2_and_names_what_is_wrong(call: Call, line: str) -> None:
    said = call(line)
    assert said.code == 2
    assert said.err.startswith("error[")
    assert said.out == ""


def test_a_wrong_command_line_is_answered_in_json_where_it_asks_for_it(call: Call) -> None:
    said = call("failed list --typo -o json")
    assert said.code == 2
    assert said.document["command"] == "failed list"
    assert said.document["error"]["message"] == "No such option: --typo"


@pytest.mark.parametrize(
    ("words", "asks"),
    [
        (["-o", "json"], True),
        (["-ojson"], True),
        (["--output=json"], True),
        (["--output", "json"], True),
        (["-o", "json", "-o", "text"], False),
        (["--offline", "json"], False),
        (["status"], False),
        (["-o"], False),
    ],
)
def test_json_is_recognised_in_every_spelling(words: list[str], asks: bool) -> None:
    assert asks_for_json(words) is asks


def test_habits_are_taken_after_the_command_as_people_type_them(call: Call) -> None:
    house = FakeHouse(status=samples.STATUS)
    call("status -e prod -c other.toml -x stage=dev -x tenant=a=b", house)
    assert house.opened == [(Path("other.toml"), "prod", {"stage": "dev", "tenant": "a=b"})]


def test_habits_are_taken_before_the_command_too_and_the_later_ones_win(call: Call) -> None:
    house = FakeHouse(status=samples.STATUS)
    said = call("-e dev -x stage=dev -x a=1 -o json status -e prod -x stage=prod", house)
    assert house.opened == [(None, "prod", {"stage": "prod", "a": "1"})]
    assert said.document["command"] == "status"


def test_the_environment_variables_stand_in_for_habits_and_give_way_to_them(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MIGRATOR_ENV", "staging")
    monkeypatch.setenv("MIGRATOR_CONFIG", "elsewhere.toml")
    house = FakeHouse(status=samples.STATUS)
    call("status", house)
    call("-e prod status", house)
    call("status -e local -c here.toml", house)
    assert house.opened == [
        (Path("elsewhere.toml"), "staging", {}),
        (Path("elsewhere.toml"), "prod", {}),
        (Path("here.toml"), "local", {}),
    ]


def test_every_command_is_listed_in_the_panel_of_its_group(call: Call) -> None:
    panels: dict[str, list[str]] = {}
    for panel, name, _ in COMMANDS:
        panels.setdefault(panel, []).append(name.split()[0])
    help_text = call("--help").out
    assert list(panels) == ["Everyday", "History", "Phases", "Safety", "Live control", "Sandbox"]
    places = [help_text.index(f"─ {panel} ─") for panel in panels]
    assert places == sorted(places)
    for (panel, names), start, end in zip(panels.items(), places, [*places[1:], len(help_text)], strict=True):
        for name in names:
            assert f"│ {name} " in help_text[start:end], (panel, name)


@pytest.mark.parametrize("name", [name for _, name, _ in COMMANDS])
def test_every_command_explains_itself(call: Call, name: str) -> None:
    said = call(f"{name} --help")
    assert said.code == 0
    assert f"migrator {name}" in said.out
    for option in ("--env", "--config", "-x", "--output", "--verbose"):
        assert option in said.out


def test_a_value_that_is_none_of_the_choices_is_answered_without_the_words_of_a_library(call: Call) -> None:
    said = call("status -o yaml")
    assert said.code == 2
    assert "'yaml' is not one of 'text', 'json'" in said.err
    assert "Value error" not in said.err


def test_no_arguments_show_the_help_and_are_a_usage_error(call: Call) -> None:
    said = call([])
    assert said.code == 2
    assert "Everyday" in said.out + said.err


def test_version_names_the_program(call: Call) -> None:
    said = call("--version")
    assert said.code == 0
    assert said.out.startswith("migrator ")


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "migrator", *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=Path(__file__).parents[2],
    )


def test_the_module_runs_as_a_program() -> None:
    done = run("upgrade", "--no-such-option", "-o", "json")
    assert done.returncode == 2
    assert '"code": "usage"' in done.stdout
    assert done.stderr.startswith("error[usage]: No such option: --no-such-option")


def test_help_loads_neither_boto3_nor_the_engine() -> None:
    code = "import sys; from migrator.cli.main import main; main(['--help']); print('boto3' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines()[-1] == "False"


def test_a_reader_that_leaves_early_is_no_error_worth_a_traceback() -> None:
    code = (
        "import sys; from migrator.cli.main import main; from tests.cli.house import FakeHouse;"
        "from tests.cli import samples; sys.exit(main(['status'], FakeHouse(status=samples.STATUS)))"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        err = process.stderr.read().decode()
        code_of = process.wait(60)
    assert "Traceback" not in err
    assert "Exception ignored" not in err
    assert code_of == 1
