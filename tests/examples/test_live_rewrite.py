"""The live demonstration, short: every acknowledged write stands at the end, and no request failed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "examples" / "live-rewrite" / "run.py"
SHORT = ("--lease", "0.6", "--attempt", "1.8", "--users", "8", "--pause", "0.15", "--quiet", "0.2")


def test_keys_change_under_load_and_the_ledger_of_acknowledged_writes_matches_the_table() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *SHORT],
        capture_output=True,
        text=True,
        check=False,
        timeout=400,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert "0 lost, 0 undone, 0 different, 0 requests failed, 0 reads wrong" in done.stdout
    counted = re.search(r"(\d+) requests in \d+ s; (\d+) tickets in the ledger at the end, (\d+) watchers", done.stdout)
    assert counted is not None
    requests, tickets, watchers = map(int, counted.groups())
    assert requests > 300
    assert tickets > 12
    assert watchers > 20
