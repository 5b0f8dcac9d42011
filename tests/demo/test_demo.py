"""`migrator demo` as a newcomer runs it: an empty folder, no credentials, whatever AWS settings the machine has."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

from migrator.config import read_patterns

ROOT = Path(__file__).parents[2]
PATTERNS = read_patterns(ROOT / "access_patterns.toml")
SECONDS = 15
"""Of work. What a person waits for the demo is that and its sleeps, some 10 s; the clock on the wall depends on what
else the machine does.
"""


@dataclass(frozen=True)
class Shown:
    code: int
    out: str
    err: str
    seconds: float
    left: list[Path]


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    folder, temporary = tmp_path_factory.mktemp("empty"), tmp_path_factory.mktemp("tmp")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "COLUMNS"))}
    environment |= {
        "PYTHONPATH": str(ROOT),
        "TMPDIR": str(temporary),
        # Settings of another project, which must neither be used nor break anything.
        "AWS_PROFILE": "no-such-profile",
        "AWS_ENDPOINT_URL": "http://192.0.2.1:1",
        "HTTP_PROXY": "http://192.0.2.1:1",
        "http_proxy": "http://192.0.2.1:1",
        "MIGRATOR_ENV": "prod",
    }
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-m", "migrator", "demo"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=200,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    left = [*folder.iterdir(), *temporary.iterdir()]
    return Shown(done.returncode, done.stdout, done.stderr, used, left)


def test_it_comes_to_its_end_and_leaves_nothing_behind(shown: Shown) -> None:
    assert (shown.code, shown.err) == (0, "")
    assert shown.left == []
    assert shown.out.splitlines()[-1] == "next: migrator init"


def test_it_is_no_more_work_than_a_person_waits_for(shown: Shown) -> None:
    assert shown.seconds < SECONDS


def test_all_ten_access_patterns_get_the_right_answer(shown: Shown) -> None:
    rows = re.findall(r"^(AP\d+) .*\bright\b", shown.out, re.MULTILINE)
    assert rows == [pattern.name for pattern in PATTERNS]
    assert "wrong" not in shown.out


def test_the_killed_run_is_seen_and_continued(shown: Shown) -> None:
    told = shown.out
    assert told.index("killed with SIGKILL") < told.index("started: demo") < told.index("of 1, resumed)")
    assert "waiting: the lock is held by" in told
    assert re.search(r"done 0\.apply\.0: 12 scanned, [12] written", told)


def test_a_second_upgrade_finds_nothing_to_do_and_the_way_back_is_walked(shown: Shown) -> None:
    told = shown.out
    order = [
        "up-to-date: demo",
        "$ migrator downgrade -1",
        "downgraded: demo",
        "0 of 2 members",
        "applied: demo",
        "2 of 2 members",
    ]
    places = [told.index(text, told.index("up-to-date: demo")) for text in order]
    assert places == sorted(places)


def test_in_a_pipe_it_has_no_control_codes_and_fits_a_hundred_columns(shown: Shown) -> None:
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", shown.out)
    # Lines for scripts (next, blocked by) are never cut.
    assert max(len(line) for line in shown.out.splitlines()) <= 100
    assert not re.search(r" $", shown.out, re.MULTILINE)


def test_the_wheel_carries_the_migrations_that_a_checkout_has_at_its_root() -> None:
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["force-include"] == {name: f"migrator/demo/{name}" for name in ("migrations", "access_patterns.toml")}
    for name in wheel["force-include"]:
        assert (ROOT / name).exists()
        assert not (ROOT / "migrator" / "demo" / name).exists(), "one copy: it would shadow the root's"
