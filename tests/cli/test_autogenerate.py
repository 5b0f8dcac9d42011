"""revision --autogenerate on real files: what it writes loads, leads to the source, and says so the second time."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path
from typing import Any

import pytest

import migrator
from migrator.core.declared import DeclaredTable, folded
from migrator.core.evolution import evolve
from migrator.core.findings import Severity
from migrator.core.schema import KeyAttribute, Schema, Table
from migrator.errors import MigratorError
from migrator.loader import load
from migrator.sources import read_source
from tests.cli.conftest import Call
from tests.cli.house import FileHouse

ROOT = Path(__file__).parents[1]
DOCUMENTS = ROOT / "sources" / "documents"
CONFIG = """\
default_env = "prod"
default_table = "app"

[tables.app]
name = "{stage}-orders"

[tables.audit]
name = "{stage}-audit"

[env.prod]
region = "eu-west-1"
vars = { stage = "prod" }
"""


class House(FileHouse):
    """With live tables."""

    def __init__(self, tables: dict[str, DeclaredTable] | None = None, **answers: object):
        super().__init__(**answers)  # type: ignore[arg-type]
        self.tables = tables or {}

    def live_table(self, project: object, name: str) -> DeclaredTable:
        if name not in self.tables:
            raise MigratorError("table-missing", f"table {name} does not exist")
        return self.tables[name]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "migrator.toml").write_text(CONFIG)
    (tmp_path / "migrations").mkdir()
    for path in DOCUMENTS.iterdir():
        shutil.copy(path, tmp_path)
    for path in (ROOT / "data").glob("nwb-*.json"):
        shutil.copy(path, tmp_path)
    return tmp_path


def shape(folder: Path, alias: str = "app") -> DeclaredTable:
    graph = load(folder / "migrations", project_root=folder)
    return folded(graph, graph.order(), Schema({}, "app"))[alias]


@pytest.mark.parametrize(
    "name",
    [
        "cloudformation.yaml -x Stage=prod",
        "cdk.template.json",
        "serverless.cloudformation-template-update-stack.json",
        "terraform-plan.json",
        "pulumi-stack.json",
        "pulumi-native.json",
        "sst-state.json",
    ],
)
def test_what_is_written_leads_to_the_source_and_a_second_time_there_is_nothing_to_write(
    call: Call, folder: Path, name: str
) -> None:
    said = call(f"revision --autogenerate --table app --from {name} -o json", House())
    assert said.code == 0, said.err
    assert said.document["state"] == "created"
    (wanted,) = [
        one
        for one in read_source(name, (folder / name.split()[0]).read_text(), {"Stage": "prod"}).tables
        if one.name == "prod-orders"
    ]
    assert evolve("app", shape(folder), wanted).stages == ()
    again = call(f"revision --autogenerate --table app --from {name} -o json", House())
    assert again.document["state"] == "unchanged"
    assert len(list((folder / "migrations").glob("*.py"))) == 1


def test_a_model_that_grew_two_indexes_becomes_a_chain_of_two_files(call: Call, folder: Path) -> None:
    assert call("revision --autogenerate --from nwb-onlineshop-v9.json --table app=OnlineShop", House()).code == 0
    said = call("revision --autogenerate --from nwb-onlineshop-v14.json --table app=OnlineShop -o json", House())
    assert len(said.document["created"]) == 2
    graph = load(folder / "migrations", project_root=folder)
    first, second, third = graph.order()
    assert (second.down_revisions, third.down_revisions) == ((first.revision,), (second.revision,))
    assert said.document["revision"] == third.revision
    assert set(shape(folder).shape.indexes) == {"GSI1", "GSI2"}
    text = Path(second.path).read_text()
    assert '"""Add index GSI1 to app"""' in text
    assert "# Nothing here says that items have GSI1-PK (S), GSI1-SK (S)" in text
    assert text.endswith(
        'operations = [\n    AddIndex("GSI1", partition_key="GSI1-PK", sort_key="GSI1-SK", projection="ALL"),\n]\n'
    )


def test_another_key_becomes_a_skeleton_that_changes_nothing_until_it_is_completed(call: Call, folder: Path) -> None:
    call("revision --autogenerate --from nwb-devicestatelog-v1.json --table app=DeviceStateLog", House())
    said = call("revision --autogenerate --from nwb-devicestatelog-v3.json --table app=DeviceStateLog", House())
    assert "a key cannot be changed in place" in " ".join(said.out.split())
    graph = load(folder / "migrations", project_root=folder)
    skeleton = graph.order()[-1]
    assert skeleton.operations == ()
    text = Path(skeleton.path).read_text()
    code = "\n".join(line.removeprefix("# ") for line in text.splitlines() if line.startswith("# "))
    between = code[code.index("operations = [") : code.rindex("\n]") + 2]
    assert between.count("…") == 1
    names: dict[str, Any] = dict(vars(migrator))
    exec(between.replace("…", "{State}#{Date}"), names)
    schema = Schema({"app": shape(folder).shape}, "app")
    for operation in names["operations"]:
        errors = [one for one in operation.lint(schema) if one.severity is Severity.ERROR]
        assert errors == []
        schema = operation.plan(schema).after
    assert schema.tables["app_v2"].key_names == ("DeviceID", "State#Date")


def test_indexes_that_are_gone_from_the_source_are_dropped_last_with_a_word_of_warning(
    call: Call, folder: Path
) -> None:
    call("revision --autogenerate --from nwb-onlineshop-v14.json --table app=OnlineShop", House())
    said = call("revision --autogenerate --from nwb-onlineshop-v9.json --table app=OnlineShop -o json", House())
    texts = [(folder / name).read_text() for name in said.document["created"]]
    assert [text.splitlines()[0] for text in texts] == ['"""Drop index GSI1 of app"""', '"""Drop index GSI2 of app"""']
    assert all("Release this once nothing reads it" in text for text in texts)


def test_parameters_of_a_template_need_not_be_variables_of_the_project(call: Call, folder: Path) -> None:
    said = call("revision --autogenerate --from cloudformation.yaml -x Stage=prod -x Nothing=else", House())
    assert said.code == 0
    assert "created migrations/" in said.out


def test_a_template_without_its_parameter_matches_no_table_and_says_which_parameter(call: Call, folder: Path) -> None:
    config = (folder / "migrator.toml").read_text()
    said = call("revision --autogenerate --from cloudformation.yaml -o json", House())
    assert said.code == 2
    assert said.document["error"]["code"] == "no-table-matched"
    (folder / "migrator.toml").write_text(config.replace('[tables.audit]\nname = "{stage}-audit"\n', ""))
    said = call("revision --autogenerate --from cloudformation.yaml -o json", House())
    assert said.document["state"] == "created"
    assert any("give -x Stage=…" in note for note in said.document["notes"])


def test_another_live_table_is_a_source(call: Call, folder: Path) -> None:
    house = House({"staging-orders": DeclaredTable("x", "staging-orders", Table("x", KeyAttribute("PK")))})
    said = call("revision --autogenerate --from table:staging-orders --table app -o json", house)
    assert said.document["state"] == "created"
    assert shape(folder).shape.key == (KeyAttribute("PK"),)
    assert call("revision --autogenerate --from table:nobody --table app -o json", house).code == 1


def test_live_begins_from_what_stands(call: Call, folder: Path) -> None:
    table = Table("app", KeyAttribute("PK"), KeyAttribute("SK"))
    house = House(declared={"app": DeclaredTable("app", "prod-orders", table)})
    said = call("revision --autogenerate --from terraform-plan.json --table app --live -o json", house)
    assert len(said.document["created"]) == 3
    assert "Settings of app" in (folder / said.document["created"][0]).read_text()
    assert house.asked == ("declared", ("head",), {})
    assert house.read_only == [True]


def test_a_table_that_files_work_on_and_none_creates_needs_the_live_one(call: Call, folder: Path) -> None:
    (folder / "migrations" / "1.py").write_text(
        'from migrator import DropIndex\nrevision, down_revision = "1", None\noperations = [DropIndex("GSI9")]\n'
    )
    said = call("revision --autogenerate --from terraform-plan.json --table app -o json", House())
    assert said.document["error"]["code"] == "shape-unknown"
    assert "--live" in said.document["next"]


def test_a_name_from_a_document_stays_a_name(call: Call, folder: Path) -> None:
    text = (folder / "terraform-plan.json").read_text()
    text = text.replace("ByStatus", 'By\\nimport os\\n\\"\\"\\"Status').replace('"status"', '"st\\nimport os"')
    (folder / "evil.json").write_text(text)
    call("revision --autogenerate --from nwb-onlineshop-v9.json --table app=OnlineShop", House())
    said = call("revision --autogenerate --from evil.json --table app -o json", House())
    assert any("Nothing here says" in (folder / name).read_text() for name in said.document["created"])
    for name in said.document["created"]:
        tree = ast.parse((folder / name).read_text())
        assert not [node for node in ast.walk(tree) if isinstance(node, ast.Import)]


@pytest.mark.parametrize(
    "line", ["--autogenerate", "--from terraform-plan.json", "-m x --live", "-m x --table app", ""]
)
def test_options_that_do_not_go_together_are_refused(call: Call, folder: Path, line: str) -> None:
    assert call(f"revision {line}", House()).code == 2
    assert not list((folder / "migrations").iterdir())


def test_a_failure_in_the_middle_of_a_chain_leaves_no_file(call: Call, folder: Path) -> None:
    call("revision --autogenerate --from nwb-onlineshop-v9.json --table app=OnlineShop", House())
    config = (folder / "migrator.toml").read_text()
    (folder / "migrator.toml").write_text('file_template = "{slug}"\n' + config)
    (folder / "migrations" / "add_index_gsi2_to_app.py").write_text("nothing = 1\n")
    said = call("revision --autogenerate --from nwb-onlineshop-v14.json --table app=OnlineShop -o json", House())
    assert said.code == 2
    assert not (folder / "migrations" / "add_index_gsi1_to_app.py").exists()
