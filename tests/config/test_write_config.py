"""What `init` writes, and never overwrites."""

from __future__ import annotations

from pathlib import Path

import pytest

from migrator.config import default_config_text, load_config, write_config
from migrator.errors import UsageError


def test_the_written_configuration_is_read_back(tmp_path: Path):
    text = default_config_text(endpoint_url="http://127.0.0.1:4566", region="eu-west-1", profile="me")
    result = write_config(tmp_path / "migrator.toml", text)
    assert result.written
    settings = load_config(None, tmp_path).settings(None, {})
    assert (settings.env, settings.default_table) == ("local", "app")
    assert settings.tables["app"].name == "local-app"
    assert (settings.endpoint_url, settings.region, settings.profile) == ("http://127.0.0.1:4566", "eu-west-1", "me")


def test_a_table_named_literally_needs_no_variables(tmp_path: Path):
    text = default_config_text(table="orders", alias="orders", managed_by="terraform", env="dev")
    assert "vars" not in text
    write_config(tmp_path / "migrator.toml", text)
    settings = load_config(None, tmp_path).settings(None, {})
    assert (settings.tables["orders"].name, settings.tables["orders"].managed_by) == ("orders", "terraform")


def test_an_existing_file_is_not_touched_and_the_text_is_for_pasting(tmp_path: Path):
    path = tmp_path / "pyproject.toml"
    before = b"# mine\r\n[tool.ruff]\r\n"
    path.write_bytes(before)
    text = default_config_text(in_pyproject=True)
    result = write_config(path, text)
    assert not result.written
    assert result.text == text
    assert path.read_bytes() == before
    path.write_bytes(before + text.encode())
    assert load_config(None, tmp_path).settings(None, {}).tables["app"].name == "local-app"


def test_a_folder_that_is_not_there_is_a_clear_refusal(tmp_path: Path):
    with pytest.raises(UsageError) as caught:
        write_config(tmp_path / "no" / "migrator.toml", "")
    assert caught.value.code == "cannot-write"
