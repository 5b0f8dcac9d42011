"""Each guard is taken out in turn: the proof that rests on it must then fail, or it proves nothing."""

from __future__ import annotations

import inspect
import sys
import textwrap
from collections.abc import Callable
from typing import Any

import pytest

from migrator.control.checkpoints import Checkpoints
from migrator.control.layout import BEAT
from migrator.control.lease import Lease
from migrator.core import transform
from migrator.core.ports import PutRecord
from migrator.core.transform import Decider
from migrator.engine import indexes
from migrator.engine.backfill import Backfill
from migrator.engine.segments import Pass
from migrator.engine.undo import _FromJournal
from migrator.engine.writes import Writer
from migrator.errors import MigratorError
from migrator.runner import guards, mending, running, takeback, upgrading
from migrator.runner.running import Run
from migrator.testing import records
from migrator.testing.items import MemoryItems
from migrator.testing.memory import Call, CrashAt
from tests.engine import test_failures, test_undo
from tests.simulation import test_cases, test_two_runners, test_writers
from tests.simulation.disturb import assert_as_undisturbed, disturbed, expected, moments
from tests.simulation.scenarios import NAMED


def mutant(function: Any, old: str, new: str) -> Any:
    """The function with one piece of its source replaced: `old` must stand there exactly once."""
    source = textwrap.dedent(inspect.getsource(function))
    assert source.count(old) == 1, f"{function.__qualname__} has {source.count(old)} times {old!r}"
    space = dict(vars(sys.modules[function.__module__]))
    exec(compile(source.replace(old, new), f"<mutant of {function.__qualname__}>", "exec"), space)
    return space[function.__name__]


def crash_everywhere(name: str, step: int = 1, start: int = 0) -> None:
    """From the moment `start` on; below zero it counts from the end."""
    scenario = NAMED[name]
    for moment in range(start % moments(scenario), moments(scenario), step):
        assert_as_undisturbed(scenario, disturbed(scenario, CrashAt(moment)), f"{name} died at {moment}")


def freeze_everywhere(name: str) -> None:
    for moment in range(0, moments(NAMED[name]), 3):
        test_two_runners._freeze(NAMED[name], moment)


def freeze_at_beats(name: str) -> None:
    """At each moment in which a renewal of the lease is under way."""
    scenario, seen, found = NAMED[name], iter(range(100_000)), []

    def note(call: Call) -> None:
        moment, actions = next(seen), call.arguments.get("actions", ())
        put = actions[0] if len(actions) == 1 and isinstance(actions[0], PutRecord) else None
        if call.moment == "before" and put is not None and put.record.address == BEAT:
            found.append(moment)

    scenario.command(scenario.given().runner(note))
    assert found
    for moment in found:
        test_two_runners._freeze(scenario, moment)


def overtaken(step: str, write: Callable[[Any], None]) -> Callable[[], None]:
    def proof() -> None:
        site = test_writers._site(step)
        site.runner(test_writers.BeforeItsWrite(site, write)).upgrade(from_base=True, yes=True)
        found = site.get(test_writers.ONE)
        if write is test_writers.delete:
            assert found is None
        else:
            assert found is not None
            assert found["name"] in ("new", "new!")
            assert test_writers._right(step, found)

    return proof


MUTANTS: tuple[tuple[str, Any, str, str, str, Callable[[], None]], ...] = (
    (
        "attributes that were read are guarded",
        Decider, "_change", "return Change(guard=guard,", "return Change(guard={},",
        overtaken("once", test_writers.update_read),
    ),
    (
        "an update does not create",
        MemoryItems, "_effect", "if stored is None or not _as_guarded(stored, change.guard):",
        "stored = stored or write.key\n            if False:",
        overtaken("template", test_writers.delete),
    ),
    (
        "the service holds a write against its guard",
        MemoryItems, "_effect", "if stored is None or not _as_guarded(stored, change.guard):", "if stored is None:",
        overtaken("once", test_writers.put_read),
    ),
    (
        "an append goes with its journal record",
        Backfill, "_journal_records",
        "return [journal.put_action(revision, self.step_id, write.key, before, after, Expect(absent=True))]\n"
        "    known", "return []\n    known",
        lambda: crash_everywhere("backfill-once", start=100),
    ),
    (
        "control records are fenced by their token",
        records, "holds", "stored.token <= expect.most_token", "True",
        lambda: freeze_at_beats("add-index"),
    ),
    (
        "claims check the lock itself",
        Checkpoints, "_begin", "*puts, self._lease.held_check()", "*puts",
        lambda: freeze_everywhere("rename"),
    ),
    (
        "a holder counts its lease on its own clock",
        Lease, "check", "silent >= self.lease_seconds * 2 / 3", "False",
        test_two_runners.test_a_run_that_froze_for_a_lease_stops_by_its_own_clock_though_nobody_took_over,
    ),
    (
        "a lost check asks whose lock it is",
        Writer, "_transact", "self.work.lease.confirm()", "pass",
        test_two_runners.test_a_run_whose_lock_was_broken_ends_at_the_first_write_that_is_held_back,
    ),
    (
        "undo waits for requests under way",
        Run, "_steps", "settle(self.session, self.lease)", "pass",
        test_two_runners.test_an_undo_after_a_crash_waits_until_the_dead_runs_last_requests_cannot_arrive,
    ),
    (
        "applied needs a second pass",
        Backfill, "run", "if not found.written:", "if True:",
        test_cases.test_items_that_an_old_writer_adds_behind_the_scan_keep_the_revision_incomplete_with_their_keys,
    ),
    (
        "a check that met failures is made again",
        Backfill, "run", 'self.work.checkpoints.clear(self.work.revision, f"{self.step_id}:check")', "pass",
        test_failures.test_a_check_that_found_failures_is_made_again_by_the_next_run,
    ),
    (
        "writes come before their checkpoint",
        Pass, "_segment", "outcome = handle(page.items)",
        "work.checkpoints.save(replace(checkpoint, next=page.next, done=page.next is None)); "
        "outcome = handle(page.items)",
        lambda: crash_everywhere("backfill-unchecked", start=100),
    ),
    (
        "failures come before their checkpoint",
        Pass, "_segment", "self._settle_failures(outcome)", "pass",
        test_failures.test_one_items_error_does_not_stop_the_others_and_keeps_the_revision_incomplete,
    ),
    (
        "failures of earlier runs do not stop a run again",
        Pass, "_refuse_too_many_failures", "count = self._failed", "count = self._total().failed",
        test_failures.test_after_the_cause_is_mended_the_same_command_goes_past_the_stop_and_ends,
    ),
    (
        "checkpoints go before the record says that all is done",
        Run, "_close", "self._clear_checkpoints(work, planned)", "pass",
        test_undo.test_a_crash_while_a_way_back_is_recorded_does_not_make_the_next_upgrade_skip_its_work,
    ),
    (
        "a change is taken back together with its journal record",
        _FromJournal, "_put_back", "self._with_journal() if is_journalled else None", "None",
        test_undo.test_an_item_brought_back_and_deleted_again_during_an_interrupted_way_back_stays_deleted,
    ),
    (
        "a journal record that was not used up is kept",
        _FromJournal, "run", "if outcome.failures:", "if False:",
        lambda: test_undo.test_what_could_not_be_taken_back_keeps_the_way_back_incomplete_and_is_tried_again("journal"),
    ),
    (
        "a deleted item is journalled by the transaction that deletes it",
        transform, "_decide_deletion", "Decided(Change(whole | read))", "Decided(Change(read))",
        test_writers.test_what_comes_back_is_what_was_deleted_not_what_the_scan_had_read,
    ),
    (
        "an edited once step is refused",
        Backfill, "_refuse_edited_once", "if self.step.transform.once and", "if False and",
        test_cases.test_a_once_step_that_was_edited_midway_is_refused,
    ),
    (
        "what an edited step wrote before cannot be taken back by removal",
        Backfill, "_refuse_edited_once", 'fresh = {"fresh": False} if "fresh" in state else {}', "fresh = {}",
        test_cases.test_after_an_edit_midway_a_rollback_does_not_take_away_what_may_have_been_there_before,
    ),
    (
        "an index is ready when it is done backfilling",
        indexes, "_is_ready", "not found.is_ready", "False",
        test_cases.test_a_revision_is_applied_only_when_its_index_is_active_listed_and_done_backfilling,
    ),
    (
        "what a dropped index was is kept until it is back",
        indexes, "create_index", 'previous = (recorded or {}).get("previous")', "previous = None",
        lambda: crash_everywhere("down-drop-index", start=60),
    ),
    (
        "control records are no items of somebody's",
        guards, "_has_items", "if application_items(page.items, live.shape.partition_key.name, prefix):",
        "if page.items:",
        test_cases.test_a_crash_right_after_the_lock_leaves_a_new_table_that_needs_no_from_base,
    ),
    (
        "a stamp decides again under the lock",
        mending, "stamp", "standing, later = _to_stamp(session, target, purge=purge)\n        planned",
        "later = []\n        planned",
        test_two_runners.test_a_run_decides_again_under_the_lock_what_it_had_decided_while_waiting_for_it,
    ),
    (
        "journals that were not deleted are swept by the next run",
        upgrading, "upgrade", "if not pending and not unswept(session):", "if not pending:",
        lambda: crash_everywhere("backfill-once-forgetting", start=-45),
    ),
    (
        "history is read anew under the lock",
        running, "locked", "session.refresh()", "pass",
        test_two_runners.test_a_downgrade_that_waited_while_another_run_moved_the_history_is_refused,
    ),
)  # fmt: skip


CRASHED = ("add-index", "backfill-once", "backfill-once-forgetting", "backfill-unchecked", "down-drop-index", "rename")


@pytest.mark.parametrize(
    ("owner", "name", "old", "new", "proof"), [one[1:] for one in MUTANTS], ids=[one[0] for one in MUTANTS]
)
def test_without_this_guard_its_proof_fails(
    monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, old: str, new: str, proof: Callable[[], None]
) -> None:
    for scenario in NAMED.values():
        # What an undisturbed command brings about is taken from the code as it is.
        if scenario.name in CRASHED:
            expected(scenario)
    monkeypatch.setattr(owner, name, mutant(getattr(owner, name), old, new))
    if not inspect.isclass(owner):
        # A function that other modules import by name stands there too.
        for module in (upgrading, mending, running, guards, takeback):
            if getattr(module, name, None) is not None and module is not owner:
                monkeypatch.setattr(module, name, getattr(owner, name))
    with pytest.raises((AssertionError, MigratorError, pytest.fail.Exception)):
        proof()
