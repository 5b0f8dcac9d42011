"""Each condition of a key rewrite is taken out in turn: the proof that rests on it must then fail."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from migrator.control.phases import PhaseRecord
from migrator.core.rewrite.reconcile import _Pair
from migrator.engine import execute
from migrator.engine.rewriting import copying, pairs, passes, phase, prepare, verify
from migrator.errors import AnswerLost, MigratorError
from tests.engine.rewriting import test_cases, test_frozen, test_pairs, test_prepare, test_strays
from tests.engine.rewriting.house import House, rewrite_state
from tests.simulation.test_guards_matter import mutant

MODULES = (execute, copying, pairs, passes, phase, prepare, verify)


def a_house(rewrite: Callable[[], Any] = rewrite_state) -> House:
    return House.of(rewrite(), *test_strays.LOGS)


def stray_in_dual_write(write: Callable[[Any], None], rewrite: Callable[[], Any] = rewrite_state) -> Callable[[], None]:
    proof = (
        test_strays.test_a_laggard_that_writes_the_old_side_alone_in_dual_write_stops_the_cutover_until_the_twin_follows
    )
    return lambda: proof(a_house(rewrite), write)


MUTANTS: tuple[tuple[str, Any, str, str, str, Callable[[], None]], ...] = (
    (
        "a twin is made of the authority as it was read",
        _Pair, "follow", "present=True, guard=guard", "present=True, guard={}",
        partial(test_cases.test_a_copy_that_read_a_stale_item_does_not_bring_it_back, "another-table", "expand"),
    ),
    (
        "a twin is made while its authority is there",
        _Pair, "follow", "Check(self.home.table, self.home.key, present=True, guard=guard)",
        "Check('test-app', {'PK': {'S': 'none'}, 'SK': {'S': 'none'}}, present=False)",
        partial(test_cases.test_an_item_deleted_between_scan_and_write_is_absent_on_both_sides, "another-table"),
    ),
    (
        "what differs is changed on the twin only as both were read",
        _Pair, "_alike", "guard={name: twin.get(name) for name in differing}", "guard={}",
        test_strays.test_a_repair_that_the_application_overtakes_is_decided_again,
    ),
    (
        "a twin that moved is taken from where it was",
        verify._Comparison, "_candidates", "whose.key, hints=(key,))", "whose.key)",
        stray_in_dual_write(test_strays.move),
    ),
    (
        "a repair is held to its segment's record",
        pairs.Pairs, "_send", "[self.segment_check()]", "[]",
        partial(
            test_frozen.test_a_copier_that_froze_in_backfill_and_wakes_after_the_way_back_brings_no_twin,
            "another-table",
        ),
    ),
    (
        "a lost check asks whose lock it is",
        pairs.Pairs, "_segment_lost", "self.work.lease.confirm()", "pass",
        test_pairs.test_a_run_whose_lock_was_broken_ends_at_the_first_repair_that_is_held_back,
    ),
    (
        "what was refused in company is sent alone",
        pairs.Pairs, "_take", "task.is_alone = True", "self._fail(task, code, message); done.add(id(task))",
        test_pairs.test_what_the_service_never_takes_fails_alone_though_it_was_sent_with_others,
    ),
    (
        "a lost answer is read before it is judged",
        pairs.Pairs, "_take", "task.is_uncertain = True", "pass",
        lambda: test_pairs.test_a_passing_refusal_or_a_lost_answer_is_read_and_tried_again(
            AnswerLost("done"), "after"
        ),
    ),
    (
        "a batch shrinks at a conflict",
        pairs.Pairs, "_shrink", "self.size.met_conflict()", "pass",
        test_pairs.test_at_a_conflict_the_batch_is_split_and_only_whom_it_concerns_is_read_again,
    ),
    (
        "a phase that nobody waited for is waited for in full",
        phase, "enter_phase", "if not record.is_settled:", "if False:",
        partial(test_frozen.test_a_run_that_finds_a_phase_nobody_waited_for_waits_in_full, (), "ready"),
    ),
    (
        "a phase is waited for before anything follows",
        phase, "_waited", "if not _is_alone(rewriting):", "if False:",
        partial(test_frozen.test_a_run_that_finds_a_phase_nobody_waited_for_waits_in_full, ("ready",), "cutover"),
    ),
    (
        "a cutover compares anew what was compared too long ago",
        phase, "_is_fresh", "return age.total_seconds() <= MOST_AGE_SECONDS", "return True",
        test_cases.test_a_cutover_compares_anew_what_was_compared_too_long_ago,
    ),
    (
        "a comparison is of its generation",
        PhaseRecord, "entering", "verified=None", "verified=self.verified",
        test_cases.test_a_clean_comparison_is_of_its_generation_and_is_void_after_any_change_of_phase,
    ),
    (
        "a way back from cutover compares and repairs first",
        phase, "enter_phase", 'phase in _VERIFIED or record.phase == "cutover"', "phase in _VERIFIED",
        partial(test_cases.test_a_way_back_after_cutover_keeps_what_was_written_since, "another-table", "done"),
    ),
    (
        "both sides are compared, not the authority's alone",
        verify._Comparison, "_images", "for route in made:", "for route in []:",
        partial(test_strays.test_an_instance_that_writes_the_new_side_alone_in_dual_write_is_found_and_the_old_side_decides,
                a_house(), test_strays.put_new),
    ),
    (
        "what time to live took is no difference",
        verify._Comparison, "_looking", "if expiry.explains(seen):", "if False:",
        test_cases.test_what_time_to_live_took_from_one_side_is_no_difference,
    ),
    (
        "an old item goes only if it is as its new one",
        copying, "superseded", "if differing:", "if False:",
        lambda: test_strays.test_a_stray_write_to_the_old_side_in_contract_is_kept_and_reported_and_the_others_go(
            a_house(), test_strays.update
        ),
    ),
    (
        "an old item is deleted as it was read",
        copying, "superseded", "Delete(key, guard)", "Delete(key, {})",
        lambda: test_strays.test_a_stray_between_reading_and_deleting_an_old_item_keeps_it(
            a_house(), test_strays.update
        ),
    ),
    (
        "an old item is deleted while its new one is as it was read",
        copying, "superseded", "present=True, guard=check", "present=True, guard={}",
        lambda: test_strays.
        test_an_old_item_whose_new_one_is_changed_alone_between_reading_and_deleting_is_not_what_was_compared(a_house()),
    ),
    (
        "an old item without a new one is a stray",
        copying, "superseded", "if new is None:", "new = new or image.item\n    if False:",
        lambda: test_strays.test_a_stray_write_to_the_old_side_in_contract_is_kept_and_reported_and_the_others_go(
            a_house(), test_strays.put_new
        ),
    ),
    (
        "collisions are looked for before the first write",
        prepare._Preparation, "_collide", "if not suspects:", "if True:",
        test_prepare.test_all_colliding_keys_are_listed_in_groups_before_any_write,
    ),
    (
        "items that look like twins are refused",
        prepare._Preparation, "_standing", "if any(", "if False and any(",
        test_prepare.test_items_that_look_like_twins_before_anything_was_copied_are_refused_by_key,
    ),
)  # fmt: skip


@pytest.mark.parametrize(
    ("owner", "name", "old", "new", "proof"), [one[1:] for one in MUTANTS], ids=[one[0] for one in MUTANTS]
)
def test_without_this_condition_its_proof_fails(
    monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, old: str, new: str, proof: Callable[[], None]
) -> None:
    found = inspect.getattr_static(owner, name) if inspect.isclass(owner) else getattr(owner, name)
    changed = property(mutant(found.fget, old, new)) if isinstance(found, property) else mutant(found, old, new)
    monkeypatch.setattr(owner, name, changed)
    for module in () if inspect.isclass(owner) else MODULES:
        # A function that other modules import by name stands there too.
        if module is not owner and getattr(module, name, None) is not None:
            monkeypatch.setattr(module, name, changed)
    with pytest.raises((AssertionError, MigratorError, pytest.fail.Exception)):
        proof()
