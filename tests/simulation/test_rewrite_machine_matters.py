"""Each condition of the protocol is taken out in turn: among random lives there must then be one that fails."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from migrator.control.phases import PhaseRecord
from migrator.core.rewrite.phases import RULES, Phase, Rules
from migrator.core.rewrite.reconcile import _Pair
from migrator.engine.rewriting import copying, pairs, phase
from migrator.runtime import blind
from migrator.runtime.planning import Planner
from tests.simulation.test_guards_matter import mutant
from tests.simulation.test_rewrite_guards import MODULES
from tests.simulation.test_rewrite_machine import random_life

MOST_LIVES = 600

MUTANTS: tuple[tuple[str, Any, str, str, str], ...] = (
    (
        "a change of phase waits for the instances",
        phase, "_waited", "record.wait_seconds,", "0.0,",
    ),
    (
        "it waits for requests under way, too",
        PhaseRecord, "wait_seconds", "(self.lease_ms + self.attempt_ms)", "self.lease_ms * 0.5",
    ),
    (
        "a wait that nobody finished is begun again",
        phase, "enter_phase", "if not record.is_settled:", "if False:",
    ),
    (
        "a twin is made of the authority as it was read",
        _Pair, "follow", "present=True, guard=guard", "present=True, guard={}",
    ),
    (
        "a twin is made while its authority is there",
        _Pair, "follow", "Check(self.home.table, self.home.key, present=True, guard=guard)",
        "Check('test-app', {'PK': {'S': 'none'}, 'SK': {'S': 'none'}}, present=False)",
    ),
    (
        "what differs is brought over only while the authority is as read",
        _Pair, "_alike", "checks = (check,) if rival is None else (check, rival)",
        "checks = (Check('test-app', {'PK': {'S': 'none'}, 'SK': {'S': 'none'}}, present=False),)",
    ),
    (
        "twins that late instances orphaned go before the copy",
        copying, "_remove_orphans", "if rewriting.rewrite.side_of(table, item) != side:", "if True:",
    ),
    (
        "both are deleted by a deletion",
        blind, "_one", "return [first, actions.delete(twin)] if rules.writes_twin else [first]", "return [first]",
    ),
    (
        "an update makes no twin of what it says alone",
        blind, "_one", ".exists().unpinned()]", ".unpinned()]",
    ),
    (
        "a put puts both",
        blind, "_put", "if not rules.writes_twin:", "if True:",
    ),
    (
        "a twin that moves is taken from where it was",
        Planner, "_at_home", "self._take_away(world, route, own, earlier)\n            if place",
        "pass\n            if place",
    ),
)  # fmt: skip


@pytest.mark.deep
@pytest.mark.parametrize(("owner", "name", "old", "new"), [one[1:] for one in MUTANTS], ids=[one[0] for one in MUTANTS])
def test_without_this_condition_a_random_life_fails(
    monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, old: str, new: str
) -> None:
    found = inspect.getattr_static(owner, name)
    changed = property(mutant(found.fget, old, new)) if isinstance(found, property) else mutant(found, old, new)
    monkeypatch.setattr(owner, name, changed)
    for module in () if inspect.isclass(owner) else (*MODULES, copying, pairs):
        # A function that other modules import by name stands there too.
        if module is not owner and getattr(module, name, None) is not None:
            monkeypatch.setattr(module, name, changed)
    some_life_fails()


PHASES: tuple[tuple[str, Phase, Rules], ...] = (
    ("dual-write writes twins", "dual-write", Rules("old", writes_twin=False, creates_twin=False)),
    ("dual-write makes twins that are missing", "dual-write", Rules("old", writes_twin=True, creates_twin=False)),
    ("dual-write goes by the old side", "dual-write", Rules("new", writes_twin=True, creates_twin=True)),
    ("cutover writes twins", "cutover", Rules("new", writes_twin=False, creates_twin=False)),
    ("cutover makes twins that are missing", "cutover", Rules("new", writes_twin=True, creates_twin=False)),
    ("contract keeps old twins equal", "contract", Rules("new", writes_twin=False, creates_twin=False)),
    ("contract makes no old twins", "contract", Rules("new", writes_twin=True, creates_twin=True)),
)


@pytest.mark.deep
@pytest.mark.parametrize(("phase", "asked"), [one[1:] for one in PHASES], ids=[one[0] for one in PHASES])
def test_without_this_rule_of_a_phase_a_random_life_fails(
    monkeypatch: pytest.MonkeyPatch, phase: Phase, asked: Rules
) -> None:
    monkeypatch.setitem(RULES, phase, asked)
    some_life_fails()


def some_life_fails() -> None:
    for seed in range(MOST_LIVES):
        try:
            random_life(seed)
        except Exception:  # noqa: BLE001 - however it shows
            return
    pytest.fail(f"{MOST_LIVES} lives without this condition, and none failed")
