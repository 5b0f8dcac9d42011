"""Choosing an environment and filling in its variables."""

from __future__ import annotations

from pathlib import Path

import pytest

from migrator.config import Config, load_config
from migrator.errors import UsageError

TWO = """
[tables.app]
name = "{stage}-app-{zone}"
[control]
name = "{stage}-migrator"
[env.local]
vars = { stage = "local", zone = "a" }
[env.prod]
vars = { stage = "prod" }
"""


def config(tmp_path: Path, text: str = TWO) -> Config:
    path = tmp_path / "migrator.toml"
    path.write_text(text, encoding="utf-8")
    return load_config(path, tmp_path)


def code_of(config: Config, env: str | None, variables: dict[str, str]) -> UsageError:
    with pytest.raises(UsageError) as caught:
        config.settings(env, variables)
    return caught.value


def test_variables_of_the_environment_fill_every_name(tmp_path: Path):
    settings = config(tmp_path).settings("local", {})
    assert settings.tables["app"].name == "local-app-a"
    assert settings.control.name == "local-migrator"


def test_a_variable_of_the_command_line_goes_before_the_files(tmp_path: Path):
    settings = config(tmp_path).settings("local", {"stage": "mine"})
    assert settings.tables["app"].name == "mine-app-a"
    assert config(tmp_path).settings("prod", {"zone": "b"}).tables["app"].name == "prod-app-b"


def test_an_unset_variable_is_refused_naming_it_the_table_and_the_environment(tmp_path: Path):
    error = code_of(config(tmp_path), "prod", {})
    assert error.code == "unset-variable"
    assert "'zone'" in error.message
    assert "tables.app" in error.message
    assert "prod" in error.message
    assert "-x zone=" in (error.hint or "")


def test_an_exported_variable_of_the_same_name_does_not_choose_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for name in ("zone", "ZONE", "MIGRATOR_ZONE", "MIGRATOR_ENV"):
        monkeypatch.setenv(name, "local")
    assert code_of(config(tmp_path), "prod", {}).code == "unset-variable"
    assert code_of(config(tmp_path), None, {}).code == "no-env"


def test_a_misspelt_variable_of_the_command_line_is_refused(tmp_path: Path):
    error = code_of(config(tmp_path), "local", {"stge": "mine"})
    assert error.code == "unknown-variable"
    assert "stage" in error.message


def test_an_unknown_environment_is_refused_with_the_known_ones(tmp_path: Path):
    error = code_of(config(tmp_path), "porod", {})
    assert error.code == "unknown-env"
    assert "local, prod" in error.message
    assert "prod" in (error.hint or "")


def test_default_env_is_taken_when_none_is_given(tmp_path: Path):
    text = 'default_env = "local"\n' + TWO
    assert config(tmp_path, text).settings(None, {}).env == "local"
    assert config(tmp_path, text).settings("prod", {"zone": "z"}).env == "prod"


@pytest.mark.parametrize("name", ["a b", "x", "", "prod/app", "ü" * 5, "x" * 300])
def test_a_name_that_no_table_can_have_is_refused(tmp_path: Path, name: str):
    text = '[tables.app]\nname = "{stage}"\n[env.x]'
    assert code_of(config(tmp_path, text), "x", {"stage": name}).code == "bad-table-name"


def test_two_aliases_of_one_table_are_refused(tmp_path: Path):
    text = '[tables.a]\nname = "{stage}-t"\n[tables.b]\nname = "prod-t"\n[env.x]'
    assert config(tmp_path, text).settings("x", {"stage": "dev"}).tables["b"].name == "prod-t"
    error = code_of(config(tmp_path, text), "x", {"stage": "prod"})
    assert error.code == "same-table"
    assert "tables.a and tables.b" in error.message
