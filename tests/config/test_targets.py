"""[targets]: names, variables, patterns, and that no two of them share a table."""

from __future__ import annotations

from pathlib import Path

import pytest

from migrator.config import Target, chosen_targets, load_config
from migrator.errors import UsageError

CONFIG = """\
default_env = "prod"
default_table = "app"

[tables.app]
name = "{stage}-{tenant}-app"

[env.prod]
vars = { stage = "prod" }

[targets]
acme = { tenant = "acme" }
apex = { tenant = "apex" }
"""
MORE = """
[env.prod.targets]
globex = { tenant = "globex" }
acme = { tenant = "acme-eu" }

[env.test]
vars = { stage = "test" }
"""


def chosen(
    tmp_path: Path, *patterns: str, text: str = CONFIG, env: str | None = None, **given: str
) -> tuple[Target, ...]:
    (tmp_path / "migrator.toml").write_text(text)
    return chosen_targets(load_config(None, tmp_path), env, given, patterns)


def names(targets: tuple[Target, ...]) -> dict[str, str]:
    return {target.name: target.settings.tables["app"].name for target in targets}


def test_a_target_is_its_variables_in_the_names_of_tables(tmp_path: Path) -> None:
    assert names(chosen(tmp_path, "*")) == {"acme": "prod-acme-app", "apex": "prod-apex-app"}


def test_patterns_choose_in_the_order_of_the_file(tmp_path: Path) -> None:
    assert list(names(chosen(tmp_path, "apex", "ac*"))) == ["acme", "apex"]
    assert list(names(chosen(tmp_path, "a?ex"))) == ["apex"]


def test_an_environment_has_targets_of_its_own_which_win(tmp_path: Path) -> None:
    text = CONFIG + MORE
    assert names(chosen(tmp_path, "*", text=text)) == {
        "acme": "prod-acme-eu-app",
        "apex": "prod-apex-app",
        "globex": "prod-globex-app",
    }
    assert names(chosen(tmp_path, "*", text=text, env="test")) == {"acme": "test-acme-app", "apex": "test-apex-app"}


def test_what_is_given_on_the_command_line_wins(tmp_path: Path) -> None:
    assert names(chosen(tmp_path, "acme", stage="next")) == {"acme": "next-acme-app"}


@pytest.mark.parametrize(
    ("pattern", "text", "code", "says"),
    [
        ("hooli", CONFIG, "unknown-target", "hooli"),
        ("b*", CONFIG, "unknown-target", "acme, apex"),
        ("*", CONFIG.partition("[targets]")[0], "no-targets", "no [targets]"),
        ("*", CONFIG.replace('"apex"', '"acme"'), "targets-share-a-table", "'prod-acme-app'"),
        ("acme", CONFIG + '[control]\nname = "{stage}-migrator"\n', "targets-share-a-table", "control"),
        ("*", CONFIG.replace('tenant = "apex"', 'tennant = "apex"'), "bad-config", "targets.apex.tennant"),
        ("*", CONFIG.replace("apex =", '"a/b" ='), "bad-config", "a target's name"),
        ("*", CONFIG.replace('{ tenant = "apex" }', '"apex"'), "bad-config", "expected a table"),
    ],
)
def test_what_cannot_be_is_refused_by_name(tmp_path: Path, pattern: str, text: str, code: str, says: str) -> None:
    with pytest.raises(UsageError) as refused:
        chosen(tmp_path, pattern, text=text)
    assert refused.value.code == code
    assert says in refused.value.message


def test_a_control_table_for_each_target_is_well(tmp_path: Path) -> None:
    text = CONFIG + '[control]\nname = "{stage}-{tenant}-migrator"\n'
    assert [one.settings.control.name for one in chosen(tmp_path, "*", text=text)] == [
        "prod-acme-migrator",
        "prod-apex-migrator",
    ]


def test_without_a_target_the_missing_variable_is_named_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "migrator.toml").write_text(CONFIG)
    with pytest.raises(UsageError) as refused:
        load_config(None, tmp_path).settings(None, {})
    assert refused.value.code == "unset-variable"
    assert "--target" in str(refused.value.hint)
