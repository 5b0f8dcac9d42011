"""`migrator lint` on real files: what it prints, writes and exits with, in every form."""

from __future__ import annotations

import json
import re
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from migrator.cli.reporters import REPORTERS, fingerprint
from migrator.core.findings import Severity
from migrator.core.lint import PlacedFinding
from tests.cli.conftest import Call

TOML = """\
default_table = "app"

[tables.app]
name = "{stage}-app"
"""
FIRST = """\
from migrator import AddIndex, CreateTable

revision, down_revision = "001", None
operations = [
    CreateTable(partition_key="PK", sort_key="SK"),
    AddIndex("One", partition_key="a"),
    AddIndex("Two", partition_key="b"),
]
"""
SECOND = """\
from migrator import Backfill, DropIndex

revision, down_revision = "002", "001"
operations = [
    # migrator: allow drop-not-retired because nothing reads it since May
    DropIndex("One"),
    Backfill(set={"SK": "x"}),
]
"""


class Place:
    def __init__(self, root: Path):
        self.root = root

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), encoding="utf-8")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    for name in ("GITHUB_WORKSPACE", "CI_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    place = Place(tmp_path)
    place.write("migrator.toml", TOML)
    place.write("migrations/001_first.py", FIRST)
    return place


# --- the command ------------------------------------------------------------------------------------------------------


def test_it_needs_no_environment_and_no_credentials(here: Place, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    said = call("lint")
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("findings: 1 file\n")
    assert "migrations/001_first.py:7\n  warning[several-index-changes]: 2 index changes of table app" in said.out
    assert "    docs: lint/rules.md#several-index-changes\n" in said.out


def test_errors_exit_3_and_warnings_only_when_strict(here: Place, call: Call) -> None:
    assert call("lint").code == 0
    assert call("lint --strict").code == 3
    here.write("migrations/002_second.py", SECOND)
    said = call("lint")
    assert said.code == 3
    assert "\nblocked by: 1 error, 1 warning\n" in said.out
    assert "allowed: migrations/002_second.py:6 drop-not-retired, because nothing reads it since May\n" in said.out


def test_notes_alone_never_exit_3(here: Place, call: Call) -> None:
    here.write(
        "migrations/001_first.py",
        """\
        from migrator import AddIndex

        revision, down_revision = "001", None
        operations = [AddIndex("One", partition_key="a")]
        """,
    )
    said = call("lint --strict")
    assert (said.code, "note[unknown-shape]" in said.out) == (0, True)


def test_since_leaves_out_what_that_revision_builds_on(here: Place, call: Call) -> None:
    here.write("migrations/002_second.py", SECOND)
    document = call("lint --since 001 -o json").document
    assert (document["files"], [one["rule"] for one in document["findings"]]) == (1, ["table-key"])
    assert call("lint --since head -o json").document["state"] == "clean"
    assert call("lint --since 9").code == 2


def test_start_after_disable_and_severity_come_from_the_configuration(here: Place, call: Call) -> None:
    here.write("migrations/002_second.py", SECOND)
    here.write("migrator.toml", TOML + '[lint]\nstart_after = "001"\nseverity = { table-key = "note" }\n')
    assert [one["severity"] for one in call("lint -o json").document["findings"]] == ["note"]
    assert len(call("lint --all -o json").document["findings"]) == 2
    here.write("migrator.toml", TOML + '[lint]\ndisable = ["table-key", "several-index-changes"]\n')
    assert call("lint --strict").code == 0


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ('disable = ["several-index-change"]', "did you mean several-index-changes?"),
        ("disable = [1]", "expected strings in the list"),
        ('disable = "projection-all"', "expected a list of strings"),
        ('severity = { "projection-all" = "fatal" }', "none of error, warning, note"),
        ('severity = { "zzzz" = "note" }', "docs/lint/rules.md lists them"),
        ("begin = 1", "unknown key"),
    ],
)
def test_a_configuration_of_lint_that_means_nothing_is_refused(here: Place, call: Call, lines: str, words: str) -> None:
    here.write("migrator.toml", f"{TOML}[lint]\n{lines}\n")
    said = call("lint")
    assert (said.code, "error[bad-config]" in said.err, words in said.err) == (2, True, True)


def test_json_is_the_document_whichever_way_it_is_asked_for(here: Place, call: Call) -> None:
    asked = call("lint --format json").document
    assert asked == call("lint -o json").document
    assert (asked["schema_version"], asked["command"], asked["exit_code"]) == (1, "lint", 0)
    (finding,) = asked["findings"]
    assert (finding["path"], finding["line"], finding["page"]) == (
        "migrations/001_first.py",
        7,
        "lint/rules.md#several-index-changes",
    )


@pytest.mark.parametrize("line", ["lint -o json --format sarif", "lint --since 001 --all"])
def test_options_that_exclude_each_other_are_refused(here: Place, call: Call, line: str) -> None:
    assert call(line).code == 2


def test_a_file_that_does_not_load_is_told_in_the_form_that_was_asked_for(here: Place, call: Call) -> None:
    here.write("migrations/002_bad.py", 'revision, down_revision = "002", "001"\noperations = [1]\n')
    said = call("lint --format json")
    assert (said.code, said.document["error"]["code"]) == (2, "bad-migration")


@pytest.mark.parametrize("form", ["text", "json", "github", "gitlab", "sarif"])
def test_out_writes_the_report_and_text_goes_to_stdout(here: Place, call: Call, form: str) -> None:
    printed = call(f"lint --format {form}").out
    said = call(f"lint --format {form} --out report")
    written = Path("report").read_text(encoding="utf-8")
    assert said.out.endswith("report: report\n\n" + said.out.rpartition("report: report\n\n")[2])
    assert "several-index-changes" in written
    if form in REPORTERS or form == "json":
        assert written == printed


def test_a_report_that_cannot_be_written_is_refused(here: Place, call: Call) -> None:
    said = call("lint --format sarif --out no/such/folder")
    assert (said.code, "error[cannot-write]" in said.err) == (2, True)


def test_files_are_named_from_the_repository_in_reports_and_from_here_in_text(
    here: Place, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(here.root / "migrations")
    assert "\n001_first.py:7\n" in call("lint").out
    monkeypatch.setenv("GITHUB_WORKSPACE", str(here.root))
    assert "file=migrations/001_first.py," in call("lint --format github").out
    assert "\n001_first.py:7\n" in call("lint").out


# --- the forms --------------------------------------------------------------------------------------------------------


def finding(rule: str = "drop-not-retired", message: str = "gone", **more: Any) -> PlacedFinding:
    usual: dict[str, Any] = {
        "severity": Severity.WARNING,
        "hint": None,
        "revision": "001",
        "path": "m/a b,c:d%.py",
        "line": 3,
        "last_line": 5,
        "page": "lint/rules.md#x",
    }
    return PlacedFinding(rule=rule, message=message, **{**usual, **more})


def test_github_commands_escape_what_would_end_them() -> None:
    said = REPORTERS["github"]([finding(message="50%: a,\r\nb", hint="c")])
    assert said == (
        "::warning file=m/a b%2Cc%3Ad%25.py,line=3,endLine=5,title=migrator%3A drop-not-retired"
        "::50%25: a,%0D%0Ab%0Ahint: c\n"
    )


def test_github_has_a_command_for_each_grade_and_none_for_what_is_allowed() -> None:
    graded = [finding(severity=grade) for grade in Severity]
    said = REPORTERS["github"]([*graded, finding(allowed_because="so")])
    assert re.findall(r"^::(\w+) ", said, re.MULTILINE) == ["error", "warning", "notice"]


def test_gitlab_gets_a_list_of_what_its_report_needs() -> None:
    entries = json.loads(REPORTERS["gitlab"]([finding(), finding(), finding(allowed_because="so")]))
    assert len(entries) == 2
    for entry in entries:
        assert isinstance(entry["description"], str)
        assert entry["description"]
        assert entry["check_name"] == "drop-not-retired"
        assert entry["severity"] in {"info", "minor", "major", "critical", "blocker"}
        assert entry["location"] == {"path": "m/a b,c:d%.py", "lines": {"begin": 3, "end": 5}}
    assert len({entry["fingerprint"] for entry in entries}) == 2


def test_a_fingerprint_stays_when_lines_move_and_files_are_renamed() -> None:
    (before,) = fingerprint.fingerprints([finding()])
    assert fingerprint.fingerprints([finding(line=90, last_line=91, path="m/other.py")]) == (before,)
    assert fingerprint.fingerprints([finding(revision="002")]) != (before,)
    assert fingerprint.fingerprints([finding(message="other")]) != (before,)


def checked_sarif(text: str) -> dict[str, Any]:
    """The one run of a log that keeps to what SARIF 2.1.0 requires of the parts that are used here."""
    log = json.loads(text)
    assert log.keys() == {"$schema", "version", "runs"}
    assert (log["version"], log["$schema"]) == ("2.1.0", "https://json.schemastore.org/sarif-2.1.0.json")
    (run,) = log["runs"]
    assert run.keys() <= {"tool", "columnKind", "results"}
    assert run["columnKind"] in {"utf16CodeUnits", "unicodeCodePoints"}
    driver = run["tool"]["driver"]
    assert driver["name"] == "migrator"
    ids = [rule["id"] for rule in driver["rules"]]
    assert len(set(ids)) == len(ids)
    for rule in driver["rules"]:
        assert rule.keys() <= {"id", "shortDescription", "help", "defaultConfiguration", "properties"}
        assert all(isinstance(rule[name]["text"], str) for name in ("shortDescription", "help") if name in rule)
        assert rule.get("defaultConfiguration", {"level": "none"})["level"] in {"none", "note", "warning", "error"}
    for result in run["results"]:
        assert result.keys() <= {
            "ruleId",
            "ruleIndex",
            "level",
            "message",
            "locations",
            "partialFingerprints",
            "suppressions",
        }
        assert ids[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in {"none", "note", "warning", "error"}
        assert result["message"]["text"]
        (location,) = result["locations"]
        artifact, region = (location["physicalLocation"][name] for name in ("artifactLocation", "region"))
        assert re.fullmatch(r"[A-Za-z0-9._~/%-]+", artifact["uri"])
        assert 1 <= region["startLine"] <= region["endLine"]
        assert all(isinstance(value, str) for value in result["partialFingerprints"].values())
        for suppression in result.get("suppressions", ()):
            assert suppression["kind"] in {"inSource", "external"}
            assert suppression["justification"]
    assert isinstance(run, dict)
    return run


def test_sarif_keeps_to_its_schema_with_findings_and_without() -> None:
    run = checked_sarif(
        REPORTERS["sarif"]([finding(), finding("local-time", allowed_because="so"), finding("of-mine")])
    )
    assert [result["ruleId"] for result in run["results"]] == ["drop-not-retired", "local-time", "of-mine"]
    assert [len(result.get("suppressions", ())) for result in run["results"]] == [0, 1, 0]
    assert checked_sarif(REPORTERS["sarif"]([]))["results"] == []


def test_sarif_of_the_command_has_what_comments_allow(here: Place, call: Call) -> None:
    here.write("migrations/002_second.py", SECOND)
    said = call("lint --format sarif")
    run = checked_sarif(said.out)
    assert said.code == 3
    levels = {result["ruleId"]: result["level"] for result in run["results"]}
    assert levels == {"several-index-changes": "warning", "drop-not-retired": "warning", "table-key": "error"}
    (allowed,) = [result for result in run["results"] if "suppressions" in result]
    assert allowed["suppressions"] == [{"kind": "inSource", "justification": "nothing reads it since May"}]
