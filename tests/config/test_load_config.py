"""Where the configuration is found, and what it may not say."""

from __future__ import annotations

from pathlib import Path

import pytest

from migrator.config import Config, CriticalLoad, Share, Units, load_config
from migrator.errors import UsageError

WHOLE = """
script_location = "db/migrations"
file_template = "{rev}-{slug}"
default_env = "local"
default_table = "app"

[tables.app]
name = "{stage}-saas"
managed_by = "terraform"
[tables.app_v2]
name = "{stage}-saas-v2"

[control]
table = "app"
key_prefix = "__m__"
allow_stream = true

[env.local]
endpoint_url = "http://127.0.0.1:4566"
vars = { stage = "local" }

[env.prod]
region = "eu-west-1"
role_arn = "arn:aws:iam::222222222222:role/migrator"
expected_account = "222222222222"
protected = true
transport = "boto3"
profile = "ops"
vars = { stage = "prod" }
[env.prod.limits]
write_units = 500
read_units = "25%"
max_failures = 0
lock_timeout = "75s"
wait_timeout = "50m"
workers = 8
segments = 64
lease = 30
critical_load = { throttle_events = 100, latency = "500ms", action = "stop" }
"""


def written(folder: Path, text: str, name: str = "migrator.toml") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def read(tmp_path: Path, text: str) -> Config:
    return load_config(written(tmp_path, text), tmp_path)


def refusal(tmp_path: Path, text: str) -> UsageError:
    with pytest.raises(UsageError) as caught:
        read(tmp_path, text)
    assert caught.value.code == "bad-config"
    assert str(tmp_path / "migrator.toml") in caught.value.message
    return caught.value


# --- finding ----------------------------------------------------------------------------------------------------------


def test_the_nearest_file_upwards_is_found(tmp_path: Path):
    written(tmp_path, 'default_table = "far"\n[tables.far]\nname = "far-table"')
    near = written(tmp_path / "a", 'default_table = "near"\n[tables.near]\nname = "near-table"')
    start = tmp_path / "a" / "b" / "c"
    start.mkdir(parents=True)
    config = load_config(None, start)
    assert (config.path, config.default_table) == (near, "near")


def test_a_pyproject_of_other_tools_is_passed_over(tmp_path: Path):
    written(tmp_path, '[tool.migrator]\ndefault_env = "x"\n[tool.migrator.env.x]\n', "pyproject.toml")
    written(tmp_path / "package", "[tool.ruff]\nline-length = 100\n", "pyproject.toml")
    config = load_config(None, tmp_path / "package")
    assert config.path == tmp_path / "pyproject.toml"
    assert config.default_env == "x"


def test_without_a_file_the_hint_is_init(tmp_path: Path):
    with pytest.raises(UsageError) as caught:
        load_config(None, tmp_path)
    assert caught.value.code == "no-config"
    assert "migrator init" in (caught.value.hint or "")
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("name", ["absent.toml", "folder"])
def test_a_given_path_that_is_no_file_is_refused_and_nothing_else_is_searched(tmp_path: Path, name: str):
    written(tmp_path, WHOLE)
    (tmp_path / "folder").mkdir()
    with pytest.raises(UsageError) as caught:
        load_config(Path(name), tmp_path)
    assert caught.value.code == "no-config"
    assert str(tmp_path / name) in caught.value.message


def test_a_given_pyproject_needs_the_section(tmp_path: Path):
    path = written(tmp_path, "[tool.ruff]\n", "pyproject.toml")
    with pytest.raises(UsageError) as caught:
        load_config(path, tmp_path)
    assert caught.value.code == "no-config"


def test_a_given_pyproject_is_read(tmp_path: Path):
    path = written(tmp_path, '[tool.migrator]\ndefault_env = "x"\n[tool.migrator.env.x]\n', "pyproject.toml")
    assert load_config(path, tmp_path / "elsewhere").default_env == "x"


@pytest.mark.parametrize("text", ["[tool]\nmigrator = 1", "tool = 1"])
def test_a_section_that_is_no_table_is_refused_or_none(tmp_path: Path, text: str):
    written(tmp_path, text, "pyproject.toml")
    with pytest.raises(UsageError) as caught:
        load_config(None, tmp_path)
    assert caught.value.code == ("bad-config" if "migrator" in text else "no-config")


def test_two_configurations_in_one_folder_are_refused_with_both_names(tmp_path: Path):
    written(tmp_path, WHOLE)
    written(tmp_path, "[tool.migrator]\n", "pyproject.toml")
    with pytest.raises(UsageError) as caught:
        load_config(None, tmp_path)
    assert caught.value.code == "two-configs"
    assert "migrator.toml" in caught.value.message
    assert "pyproject.toml" in caught.value.message
    assert load_config(Path("migrator.toml"), tmp_path).default_env == "local"


def test_a_byte_order_mark_and_crlf_change_nothing(tmp_path: Path):
    plain = read(tmp_path, WHOLE)
    path = tmp_path / "migrator.toml"
    path.write_bytes(b"\xef\xbb\xbf" + WHOLE.replace("\n", "\r\n").encode())
    assert load_config(path, tmp_path) == plain


@pytest.mark.parametrize("content", [b"tables = [", b"\xff\xfe", b'a = "1"\na = "2"'])
def test_what_is_not_toml_is_refused_with_the_files_name(tmp_path: Path, content: bytes):
    path = tmp_path / "migrator.toml"
    path.write_bytes(content)
    with pytest.raises(UsageError) as caught:
        load_config(None, tmp_path)
    assert caught.value.code == "bad-config"
    assert str(path) in caught.value.message


# --- reading ----------------------------------------------------------------------------------------------------------


def test_every_documented_key_is_read(tmp_path: Path):
    config = read(tmp_path, WHOLE)
    prod = config.settings("prod", {})
    assert prod.env == "prod"
    assert prod.project_root == tmp_path
    assert prod.script_location == tmp_path / "db" / "migrations"
    assert prod.file_template == "{rev}-{slug}"
    assert {alias: (table.name, table.managed_by) for alias, table in prod.tables.items()} == {
        "app": ("prod-saas", "terraform"),
        "app_v2": ("prod-saas-v2", "migrator"),
    }
    assert (prod.control.table, prod.control.name, prod.control.key_prefix) == ("app", None, "__m__")
    assert prod.control.allow_stream
    assert (prod.region, prod.profile, prod.expected_account) == ("eu-west-1", "ops", "222222222222")
    assert prod.role_arn == "arn:aws:iam::222222222222:role/migrator"
    assert prod.protected
    assert prod.transport == "boto3"
    limits = prod.limits
    assert (limits.write_units, limits.read_units) == (Units(500), Share(0.25))
    assert (limits.max_failures, limits.lock_timeout, limits.wait_timeout) == (0, 75, 3000)
    assert (limits.workers, limits.segments, limits.lease) == (8, 64, 30)
    assert limits.critical_load == CriticalLoad(100, 0.5, "stop")


def test_an_empty_file_has_the_defaults(tmp_path: Path):
    config = read(tmp_path, "[env.x]")
    settings = config.settings("x", {})
    assert settings.script_location == tmp_path / "migrations"
    assert settings.file_template == "{rev}_{slug}"
    assert (settings.default_table, settings.tables) == ("", {})
    assert (settings.control.table, settings.control.name) == (None, None)
    assert settings.control.key_prefix == "__migrator__"
    limits = settings.limits
    assert (limits.max_failures, limits.lease, limits.lock_timeout, limits.wait_timeout) == (100, 60, None, None)
    assert (limits.poll_interval, limits.settle_time) == (10, 900)


@pytest.mark.parametrize(
    ("endpoint", "settle", "poll"),
    [
        ("http://127.0.0.1:4566", 2, 0.5),
        ("http://127.8.0.1", 2, 0.5),
        ("http://localhost:8000", 2, 0.5),
        ("http://[::1]:8000", 2, 0.5),
        ("http://dynamodb.localhost:8000", 2, 0.5),
        ("https://dynamodb.eu-west-1.amazonaws.com", 900, 10),
        ("http://localhost.example.com", 900, 10),
        ("http://10.0.0.1", 900, 10),
    ],
)
def test_only_an_endpoint_on_this_machine_is_waited_for_briefly(
    tmp_path: Path, endpoint: str, settle: int, poll: float
):
    limits = read(tmp_path, f'[env.x]\nendpoint_url = "{endpoint}"').settings("x", {}).limits
    assert (limits.settle_time, limits.poll_interval) == (settle, poll)


def test_a_written_wait_goes_before_the_loopback_default(tmp_path: Path):
    text = '[env.x]\nendpoint_url = "http://127.0.0.1"\nlimits = { settle_time = "0s", poll_interval = "3s" }'
    limits = read(tmp_path, text).settings("x", {}).limits
    assert (limits.settle_time, limits.poll_interval) == (0, 3)


# --- refusing ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "key", "near"),
    [
        ('script_locatoin = "x"', "script_locatoin", "script_location"),
        ('[tables.app]\nnmae = "x"', "tables.app.nmae", "name"),
        ('[control]\nkey-prefix = "x"', "control.key-prefix", "key_prefix"),
        ('[env.prod]\nregoin = "x"', "env.prod.regoin", "region"),
        ("[env.prod.limits]\nwrite_unit = 5", "env.prod.limits.write_unit", "write_units"),
        ('[environments.prod]\nregion = "x"', "environments", None),
        ('[env."my env"]\nxyzzy = 1', 'env."my env".xyzzy', None),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest_known_one(tmp_path: Path, text: str, key: str, near: str | None):
    error = refusal(tmp_path, text)
    assert f": {key}: unknown key" in error.message
    assert error.hint is not None
    assert error.hint == f"did you mean {near}?" if near else "known" in error.hint or "did you mean" in error.hint


def test_in_a_pyproject_the_key_is_named_with_its_section(tmp_path: Path):
    written(tmp_path, "[tool.migrator.env.x]\nregion = 1\n", "pyproject.toml")
    with pytest.raises(UsageError) as caught:
        load_config(None, tmp_path)
    assert "tool.migrator.env.x.region: expected a string, not 1" in caught.value.message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("script_location = 1", "script_location: expected a string"),
        ('script_location = " "', "script_location: may not be empty"),
        ('file_template = "{revision}"', "file_template"),
        ('file_template = "same"', "file_template"),
        ('file_template = "{rev"', "file_template"),
        ('file_template = "a/{rev}"', "file_template"),
        ('file_template = "_{rev}"', "file_template"),
        ('tables = "app"', "tables: expected a table"),
        ('[tables]\napp = "x"', "tables.app: expected a table"),
        ("[tables.app]", "tables.app.name: missing"),
        ('[tables.""]\nname = "abc"', 'tables."": a name may not be empty'),
        ('[tables.app]\nname = "{stage"', "tables.app.name"),
        ('[tables.app]\nname = "abc"\nmanaged_by = "cdk"', "tables.app.managed_by: 'cdk' is none of"),
        ('default_table = "x"', "default_table: there is no [tables.x]"),
        ('default_env = "x"', "default_env: there is no [env.x]"),
        ('[control]\ntable = "x"', "control.table: there is no [tables.x]"),
        ('[tables.a]\nname = "abc"\n[control]\ntable = "a"\nname = "b"', "control.name: give either"),
        ('[control]\nallow_stream = "yes"', "control.allow_stream: expected true or false"),
        ("[env.x]\nprotected = 1", "env.x.protected: expected true or false"),
        ('[env.x]\nprotected = "false"', "env.x.protected: expected true or false"),
        ("[env.x]\nexpected_account = 222222222222", "env.x.expected_account: expected a string"),
        ('[env.x]\nexpected_account = "2222"', "env.x.expected_account"),
        ('[env.x]\nrole_arn = "migrator"', "env.x.role_arn"),
        ('[env.x]\nendpoint_url = "127.0.0.1:4566"', "env.x.endpoint_url"),
        ('[env.x]\nendpoint_url = "http://[::1"', "env.x.endpoint_url"),
        ('[env.x]\nendpoint_url = "http://h:port"', "env.x.endpoint_url"),
        ('[env.x]\ntransport = "smoke"', "env.x.transport: 'smoke' is none of boto3, fast"),
        ("[env.x]\nvars = { stage = 1 }", "env.x.vars.stage: expected a string"),
        ("[env.x]\nlimits = { max_failures = -1 }", "env.x.limits.max_failures: must be at least 0"),
        ("[env.x]\nlimits = { max_failures = true }", "env.x.limits.max_failures: expected a whole number"),
        ("[env.x]\nlimits = { workers = 0 }", "env.x.limits.workers: must be from 1"),
        ("[env.x]\nlimits = { segments = 1.5 }", "env.x.limits.segments: expected a whole number"),
        ("[env.x]\nlimits = { lease = 0 }", "env.x.limits.lease: must be above 0"),
        ('[env.x]\nlimits = { lease = "soon" }', "env.x.limits.lease: expected a duration"),
        ("[env.x]\nlimits = { lease = [1] }", "env.x.limits.lease: expected a string or a number"),
        ('[env.x]\nlimits = { poll_interval = "0s" }', "env.x.limits.poll_interval: must be above 0"),
        ('[env.x]\nlimits = { write_units = "101%" }', "env.x.limits.write_units: a share"),
        ("[env.x]\nlimits = { critical_load = {} }", "env.x.limits.critical_load: says no load"),
        ('[env.x]\nlimits = { critical_load = { action = "stop" } }', "env.x.limits.critical_load: says no load"),
        (
            '[env.x]\nlimits = { critical_load = { latency = "1s", action = "wait" } }',
            "env.x.limits.critical_load.action: 'wait' is none of pause, stop",
        ),
        (
            "[env.x]\nlimits = { critical_load = { throttles = 1 } }",
            "env.x.limits.critical_load.throttles: unknown key",
        ),
        ("[env.x]\nlimits = { critical_load = 100 }", "env.x.limits.critical_load: expected a table"),
        ("[env.x]\nlimits = { write_units = false }", "env.x.limits.write_units: expected a string or a number"),
    ],
)
def test_a_wrong_value_is_refused_with_file_and_key(tmp_path: Path, text: str, said: str):
    assert said in refusal(tmp_path, text).message
