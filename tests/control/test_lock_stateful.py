"""Runs that acquire, beat, freeze, lose answers and die in any order: never two that may write at one true time."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from migrator.control.layout import LOCK
from migrator.control.lease import Lease
from migrator.core.ports import PutRecord
from migrator.errors import AnswerLost, LockHeld, MigratorError, Throttled
from migrator.testing.memory import Call, Crash, CrashAt, World
from tests.control.processes import Process, holds

RUNS = st.integers(0, 2)
SECONDS = st.sampled_from([0.5, 3.0, 10.0, 19.0, 21.0, 39.0, 41.0, 61.0, 130.0])
TROUBLE = st.sampled_from(["none", "none", "lost", "throttled", "slow", "overtaken", "holder-beats", "crash"])


class Trouble:
    """A hook that does something once, at a moment of a call to the service."""

    def __init__(self, moment: int, action) -> None:  # type: ignore[no-untyped-def]
        self.left = moment
        self.action = action

    def __call__(self, call: Call) -> None:
        self.left -= 1
        if self.left == -1:
            self.action(call)


class Runs(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.made = 0
        self.leases: dict[str, Lease] = {}
        """Owner -> its lease, of runs that are alive and that no operator declared dead."""
        self.tokens: list[int] = []
        self.nested = False
        self.runs = [self.new_run() for _ in range(3)]

    def new_run(self) -> Process:
        self.made += 1
        off = (self.made % 3 - 1) * 10
        run = Process(self.world, f"run-{self.made}", wall=timedelta(minutes=off), monotonic=7.0 * self.made)
        run.on_call.append(self.watch)
        return run

    def watch(self, call: Call) -> None:
        self.at_most_one_may_write()
        if call.operation != "records.write" or call.moment != "after":
            return
        for action in call.arguments["actions"]:
            if isinstance(action, PutRecord) and action.record.address == LOCK and not action.record.body["released"]:
                owner = action.record.body["owner"]
                if owner not in self.leases or self.leases[owner].token != action.record.token:
                    # Someone has just become the holder: from this very moment no other may write.
                    others = [lease for lease in self.leases.values() if holds(lease)]
                    assert not others

    def trouble(self, kind: str, moment: int, run: Process, other: Process) -> Trouble | CrashAt | None:
        def lost(_: Call) -> None:
            raise AnswerLost("timed out")

        def throttled(_: Call) -> None:
            raise Throttled("slow")

        def slow(_: Call) -> None:
            self.world.clock.suspend(45.0)

        def overtaken(_: Call) -> None:
            if not self.nested and other is not run:
                self.nested = True
                try:
                    self.try_to_acquire(other, 0)
                finally:
                    self.nested = False

        def holder_beats(_: Call) -> None:
            for lease in list(self.leases.values()):
                lease.beat()

        if kind == "none":
            return None
        if kind == "crash":
            return CrashAt(moment)
        actions = {
            "lost": lost, "throttled": throttled, "slow": slow, "overtaken": overtaken, "holder-beats": holder_beats,
        }  # fmt: skip
        return Trouble(moment, actions[kind])

    def try_to_acquire(self, run: Process, timeout: float | None) -> None:
        with suppress(LockHeld, AnswerLost, Throttled):
            lease = run.acquire(timeout)
            assert not self.tokens or lease.token > self.tokens[-1]
            self.tokens.append(lease.token)
            self.leases[run.holder.owner] = lease

    def replace(self, run: Process) -> None:
        self.leases.pop(run.holder.owner, None)
        self.runs[self.runs.index(run)] = self.new_run()

    @rule(one=RUNS, two=RUNS, timeout=st.sampled_from([0, 5.0, None]), kind=TROUBLE, moment=st.integers(0, 9))
    def acquire(self, one: int, two: int, timeout: float | None, kind: str, moment: int) -> None:
        run = self.runs[one]
        if run.holder.owner in self.leases:
            return
        hook = self.trouble(kind, moment, run, self.runs[two])
        if hook is not None:
            run.on_call.append(hook)
        try:
            self.try_to_acquire(run, timeout)
        except Crash:
            self.replace(run)
        finally:
            if hook is not None and hook in run.on_call:
                run.on_call.remove(hook)

    @rule(one=RUNS, two=RUNS, kind=TROUBLE, moment=st.integers(0, 3))
    def beat(self, one: int, two: int, kind: str, moment: int) -> None:
        run = self.runs[one]
        lease = self.leases.get(run.holder.owner)
        if lease is None:
            return
        hook = self.trouble(kind, moment, run, self.runs[two])
        if hook is not None:
            run.on_call.append(hook)
        try:
            lease.beat()
        except Crash:
            self.replace(run)
        finally:
            if hook is not None and hook in run.on_call:
                run.on_call.remove(hook)

    @rule(one=RUNS, seconds=SECONDS)
    def go_on_beating(self, one: int, seconds: float) -> None:
        lease = self.leases.get(self.runs[one].holder.owner)
        if lease is not None:
            self.runs[one].keep_beating(lease, seconds)

    @rule(seconds=SECONDS)
    def time_passes(self, seconds: float) -> None:
        self.world.clock.advance(seconds)

    @rule(one=RUNS, kind=TROUBLE)
    def release(self, one: int, kind: str) -> None:
        run = self.runs[one]
        lease = self.leases.get(run.holder.owner)
        if lease is None:
            return
        hook = self.trouble(kind, 1, run, run)
        if hook is not None:
            run.on_call.append(hook)
        with suppress(Crash, MigratorError):
            lease.release()
        self.replace(run)

    @rule(one=RUNS)
    def die(self, one: int) -> None:
        self.replace(self.runs[one])

    @precondition(lambda self: self.world.records.get(LOCK) is not None)
    @rule(one=RUNS)
    def operator_breaks_the_lock(self, one: int) -> None:
        view = self.runs[one].lock.show()
        if view.record is not None and view.is_held:
            owner = view.record.holder.owner
            self.leases.pop(owner, None)
            self.runs[one].lock.break_lock(owner)

    @invariant()
    def at_most_one_may_write(self) -> None:
        assert sum(holds(lease) for lease in list(self.leases.values())) <= 1

    @invariant()
    def the_stored_token_is_never_below_a_token_handed_out(self) -> None:
        stored = self.world.records.get(LOCK)
        assert stored is None or not self.tokens or stored.token >= self.tokens[-1]


Runs.TestCase.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)
TestRuns = Runs.TestCase
