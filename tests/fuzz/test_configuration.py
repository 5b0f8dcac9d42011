"""Configuration files of any content: each is read as what it says, or refused with the file and the key."""

from __future__ import annotations

import copy
import tempfile
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st

from migrator.config import load_config, parse_duration
from migrator.config.limits import parse_budget
from migrator.errors import MigratorError
from tests.fuzz.bounds import bounded, tried
from tests.fuzz.edge import refused_well, sound, typed

GOOD: dict[str, Any] = {
    "script_location": "migrations",
    "file_template": "{rev}_{slug}",
    "default_env": "local",
    "default_table": "app",
    "tables": {"app": {"name": "{stage}-app"}, "log": {"name": "the-log", "managed_by": "terraform"}},
    "control": {"name": "{stage}-migrator", "key_prefix": "__m__", "allow_stream": False},
    "env": {
        "local": {
            "endpoint_url": "http://127.0.0.1:4566",
            "region": "eu-west-1",
            "vars": {"stage": "local"},
            "limits": {"write_units": 500, "read_units": "25%", "lease": "75s", "workers": 4, "max_failures": 9},
        },
        "prod": {
            "role_arn": "arn:aws:iam::222222222222:role/migrator",
            "expected_account": "222222222222",
            "protected": True,
            "profile": "prod",
            "transport": "boto3",
            "vars": {"stage": "prod"},
        },
    },
}
PATHS: list[tuple[str, ...]] = []


def _walk(value: Any, way: tuple[str, ...]) -> None:
    if way:
        PATHS.append(way)
    if isinstance(value, dict):
        for key, inner in value.items():
            _walk(inner, (*way, key))


_walk(GOOD, ())
TEXTS = st.one_of(
    st.text(max_size=20),
    st.sampled_from(
        [
            "",
            " ",
            "\0",
            "a\0b",
            "🧨",
            "{",
            "}",
            "{}",
            "{stage",
            "{{stage}}",
            "{x.__class__}",
            "{0}",
            "{x!r}",
            "{rev!r}",
            "{rev:>9999999999}",
            "{rev:{slug}}",
            "{rev.__class__}",
            "{rev[0]}",
            "../../etc",
            "/",
            "-1",
            "inf",
            "nan",
            "1e309s",
            "9" * 400 + "s",
            "9" * 5000 + "d",
            "1e400%",
            "0%",
            "101%",
            "http://",
            "http://[::1",
            "http://a:99999",
            "http://a b",
            "file:///etc/passwd",
            "arn:",
            "٣٣٣٣٣٣٣٣٣٣٣٣",
            "x" * 10_000,
        ]
    ),
)
VALUES = st.recursive(
    st.one_of(
        TEXTS,
        st.booleans(),
        st.integers(),
        st.sampled_from([10**18, -(10**18), 10**400, 2**63, 0]),
        st.floats(),
        st.just(date(2026, 1, 1)),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=5,
)


def read(text: str | bytes, name: str = "migrator.toml") -> None:
    """Read the file, and the settings of each environment it has."""
    tried["configurations"] += 1
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        try:
            config = load_config(path, Path(folder))
        except MigratorError as exc:
            refused_well(exc)
            return
        for env in (None, *config.environments):
            try:
                settings = config.settings(env, {})
            except MigratorError as exc:
                refused_well(exc)
            else:
                assert 0 < settings.limits.lease < 1e9
                assert 0 <= settings.limits.settle_time < 1e9
                assert "\0" not in str(settings.script_location)


@bounded(150)
@given(st.lists(st.tuples(st.sampled_from(PATHS), VALUES), min_size=1, max_size=3))
def test_values_of_any_type_are_refused_or_mean_what_they_say(changes: list[tuple[tuple[str, ...], Any]]) -> None:
    content = copy.deepcopy(GOOD)
    for way, value in changes:
        at: Any = content
        for key in way[:-1]:
            at = at.get(key) if isinstance(at, dict) else None
        if isinstance(at, dict):
            at[way[-1]] = value
    read(tomli_w.dumps(content))


@bounded(60)
@given(st.sampled_from([way for way in PATHS if len(way) < 3]), TEXTS, VALUES)
def test_unknown_keys_are_refused(way: tuple[str, ...], key: str, value: Any) -> None:
    content = copy.deepcopy(GOOD)
    at: Any = content
    for step in way:
        at = at[step]
    if isinstance(at, dict):
        at[key] = value
        read(tomli_w.dumps(content))


@bounded(120)
@given(st.integers(0, 700), st.integers(0, 40), st.binary(max_size=12))
def test_a_file_with_damaged_bytes_is_read_or_refused(start: int, length: int, piece: bytes) -> None:
    text = tomli_w.dumps(GOOD).encode()
    read(text[:start] + piece + text[start + length :])


@pytest.mark.parametrize(
    "text",
    [
        "x = " + "[" * 5000 + "]" * 5000,
        "x = " + "{a=" * 3000 + "1" + "}" * 3000,
        "x = " + "9" * 5000,
        "[env.a.limits]\nmax_failures = 0x" + "f" * 5000,
        "[env.a.limits]\nwrite_units = " + "9" * 400,
        "[env.a.limits]\nworkers = 0x" + "f" * 5000,
        "[env.a.limits]\nlease = '" + "9" * 400 + "d'",
        "[env.a.limits]\nlease = '" + "1" + "0" * 308 + "d" + "1" + "0" * 308 + "d'",
        "[env.a.limits]\nsegments = 0x" + "f" * 5000,
        "script_location = 'a\\u0000b'\n[env.a]\n",
        'script_location = "a\\u0000b"\n[env.a]\n',
        "[" + ".".join(["a"] * 3000) + "]",
        "a" * 1_000_000,
        "\ufeff[env.a]\n",
        "x = 2026-99-99",
        "x = 1979-05-27T07:32:00+99:99",
        "['tables'.'a\\u0000']\nname = 'xyz'",
    ],
)
@pytest.mark.parametrize("name", ["migrator.toml", "pyproject.toml"])
def test_numbers_and_nesting_without_measure_are_refused(text: str, name: str) -> None:
    if name == "pyproject.toml":
        read("[tool.migrator]\n" + text, name)
    read(text, name)


@bounded(200)
@given(TEXTS | st.floats() | st.integers() | st.sampled_from([10**400, -(10**400)]))
def test_a_duration_is_a_finite_number_of_seconds_or_a_value_error(value: Any) -> None:
    tried["durations and budgets"] += 1
    for parse in (parse_duration, parse_budget):
        try:
            found = parse(value)
        except ValueError:
            continue
        assert isinstance(found, float) is (parse is parse_duration)
        if isinstance(found, float):
            assert 0 <= found <= 366 * 86_400


@pytest.mark.parametrize("option", ["--wait-timeout", "--lock-timeout"])
@pytest.mark.parametrize(
    "value", ["9" * 400 + "d", "1e400", "inf", "-1s", "", "1" + "0" * 308 + "d" + "1" + "0" * 308 + "d"]
)
def test_a_duration_on_the_command_line_without_measure_is_refused(option: str, value: str, tmp_path: Path) -> None:
    answer = sound(typed(None, "upgrade", f"{option}={value}", "-c", str(tmp_path / "none.toml")))
    assert (answer.code, answer.error) == (2, "usage")


@bounded(25)
@given(
    st.lists(
        st.one_of(
            st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12),
            st.sampled_from(
                [
                    "stage",
                    "=",
                    "stage=",
                    "=x",
                    "stage=a\udcff",
                    "\udcff=a",
                    "stage={stage}",
                    "stage=../x",
                    "stage=" + "x" * 300,
                    "stage=dev=2",
                    "nope=1",
                    "stage=\n",
                ]
            ),
        ),
        min_size=1,
        max_size=3,
    )
)
def test_variables_of_any_text_choose_a_table_or_are_refused(values: list[str]) -> None:
    tried["-x values"] += 1
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "migrations").mkdir()
        (root / "migrator.toml").write_text(tomli_w.dumps({**GOOD, "control": {}}))
        words = [word for value in values for word in ("-x", value)]
        answer = sound(typed(None, "heads", *words, "-c", str(root / "migrator.toml")))
        assert answer.code in (0, 2)


@pytest.mark.parametrize(
    "template", ["{rev!r}", "{rev:>9}", "{rev.__class__}", "{rev[0]}", "{rev:{slug}}", "{0}", "{}"]
)
def test_a_file_template_names_rev_and_slug_and_can_do_nothing_with_them(template: str, tmp_path: Path) -> None:
    path = tmp_path / "migrator.toml"
    path.write_text(tomli_w.dumps({**GOOD, "file_template": template}))
    with pytest.raises(MigratorError) as caught:
        load_config(path, tmp_path)
    assert caught.value.code == "bad-config"
