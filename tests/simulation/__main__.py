"""`python -m tests.simulation` counts what the proofs try: the figures of docs/reliability.md."""

from __future__ import annotations

import sys

from tests.simulation.disturb import moments
from tests.simulation.scenarios import ALL, REWRITES, REWRITES_BACK, UPGRADES, WAYS_BACK
from tests.simulation.test_crash import SAMPLES
from tests.simulation.test_guards_matter import MUTANTS
from tests.simulation.test_rewrite_guards import MUTANTS as REWRITE_MUTANTS
from tests.simulation.test_two_runners import SAMPLES as FREEZES


def figures() -> dict[str, int]:
    """What is counted, and how many: `deep` is what `pytest --deep` tries."""
    frozen = [*UPGRADES, *REWRITES, *WAYS_BACK, *REWRITES_BACK]
    return {
        "commands": len(ALL),
        "moments crashed at": sum(min(SAMPLES, moments(one)) for one in ALL),
        "moments crashed at, deep": sum(moments(one) for one in ALL),
        "moments frozen at": sum(min(FREEZES, moments(one)) for one in frozen),
        "moments frozen at, deep": sum(moments(one) for one in frozen),
        "guards taken out": len(MUTANTS) + len(REWRITE_MUTANTS),
    }


if __name__ == "__main__":
    for name, count in figures().items():
        sys.stdout.write(f"{name}: {count:,}\n")
