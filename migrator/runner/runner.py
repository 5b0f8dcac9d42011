"""The commands that talk to AWS, as one object: thin, each delegates to its room's function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from migrator.config import read_prices
from migrator.core.declared import DeclaredTable
from migrator.errors import MigratorError
from migrator.runner import (
    controlling,
    differing,
    examination,
    guards,
    iam,
    mending,
    mirroring,
    reading,
    shapes,
    stages,
    takeback,
    upgrading,
    verifying,
)
from migrator.runner import from_export as exporting
from migrator.runner import violations as looking
from migrator.runner.estimates.look import look_at
from migrator.runner.estimates.terms import terms_of
from migrator.runner.estimates.whole import estimates
from migrator.runner.patterns import check_with_examples, choose
from migrator.runner.planning import describe, plan_migrations
from migrator.runner.results import (
    CheckResult,
    ControlResult,
    DiffResult,
    DoctorResult,
    FailedResult,
    IamResult,
    LockResult,
    MirrorResult,
    NoteResult,
    PatternsResult,
    PlanResult,
    RunResult,
    StatusResult,
    ViolationsResult,
    Violator,
)
from migrator.runner.running import Options
from migrator.runner.session import Session, Workers


class Runner:
    """One command at a time on one environment. Times are seconds; errors are MigratorErrors."""

    def __init__(self, session: Session):
        self.session = session

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.session.ports.close()

    def stop(self, signal_number: int) -> None:
        """Ask the running command to checkpoint, release and return. Safe in a signal handler."""
        self.session.stop.ask(signal_number)

    # --- everyday

    def plan(
        self,
        target: str = "head",
        *,
        from_base: bool = False,
        samples: int = 3,
        full: bool = False,
        prices: Path | None = None,
        job_limit: float | None = None,
        from_export: Path | None = None,
    ) -> PlanResult:
        """What `upgrade` would do, what it would cost, and what would keep it from doing so. Never writes.

        `full` reads every item once; otherwise a sample, and none where `samples` is 0. `job_limit` is in seconds.
        """
        session = self.session
        charges = read_prices(prices or session.settings.prices)
        guards.refuse_downwards(target)
        guards.refuse_restored(session)
        pending = session.graph.pending(target, session.applied)
        planned = plan_migrations(session, pending)
        exports = exporting.opened(session, from_export, None)
        known = None
        if planned and (full or samples):
            look = look_at(session, planned, full=full, samples=samples)
            known = estimates(session, planned, look, terms_of(session, charges, job_limit))
        result = describe(session, planned, target, known)
        if exports is not None:
            result = exporting.noted(session, result, planned, exports)
        try:
            guards.refuse_upgrade(session, pending, from_base=from_base)
            guards.refuse_without_transactions(session, planned)
            guards.refuse_stream_on_records(session, planned)
            guards.refuse_unreviewed(session)
            if exports is not None and planned:
                exporting.refuse(session, planned, exports)
        except MigratorError as exc:
            # A finding refuses an upgrade whether or not something is pending; the rest is a matter of how it is run.
            is_finding = exc.exit_code == guards.FINDINGS
            if not result.exit_code and (planned or is_finding):
                result = replace(result, blocked_by=f"[{exc.code}] {exc.message}", next=exc.hint or result.next)
                return replace(result, state="refused", exit_code=exc.exit_code) if is_finding else result
        return result

    def upgrade(
        self,
        target: str = "head",
        *,
        from_base: bool = False,
        allow_out_of_order: bool = False,
        yes: bool = False,
        no_wait: bool = False,
        wait_timeout: float | None = None,
        lock_timeout: float | None = None,
        expect_one: bool = False,
        plan: Mapping[str, Any] | None = None,
        offline: bool = False,
        allow_gate: bool = False,
        workers: int = 1,
        app_ready: bool = False,
        spark: str | None = None,
        from_export: Path | None = None,
        from_export_check: Path | None = None,
    ) -> RunResult:
        """`workers` processes, or the executors of the Spark master `spark`, work on the data steps.

        `from_export`: the folder of an export that the data step of its table reads in place of scans;
        `from_export_check`: where the later one is, or will be, that its check reads.
        """
        guards.refuse_downwards(target)
        limits = self.session.settings.limits
        options = Options(
            no_wait=no_wait,
            wait_timeout=limits.wait_timeout if wait_timeout is None else wait_timeout,
            lock_timeout=limits.lock_timeout if lock_timeout is None else lock_timeout,
            offline=offline,
            allow_gate=allow_gate,
            workers=Workers(workers, spark),
            app_ready=app_ready,
            exports=exporting.opened(self.session, from_export, from_export_check),
        )
        return upgrading.upgrade(
            self.session,
            target,
            options,
            from_base=from_base,
            allow_out_of_order=allow_out_of_order,
            yes=yes,
            expect_one=expect_one,
            plan=plan,
        )

    def status(self) -> StatusResult:
        return reading.status(self.session)

    def check(self) -> CheckResult:
        return reading.check(self.session)

    def declared(self, of: Literal["live", "head", "applied", "files"]) -> Mapping[str, DeclaredTable]:
        """Alias -> its table: as it stands, with what is pending, or as the applied revisions leave it."""
        return shapes.declared(self.session, of)

    def diff(self, of: Literal["applied", "files"] = "applied") -> DiffResult:
        """What files say against what stands, field by field. Never writes."""
        return differing.against_files(self.session, of)

    def diff_with(self, env: str, other: Mapping[str, DeclaredTable]) -> DiffResult:
        """What stands here against what stands in another environment. Never writes."""
        return differing.against_other(self.session, env, other)

    def violations(
        self, index: str, table: str | None = None, listing: Callable[[Violator], None] | None = None
    ) -> ViolationsResult:
        """Every item that INDEX cannot take goes to `listing`; the result holds the first of them. Never writes."""
        return looking.violations(self.session, index, table, listing)

    def patterns(self, names: Sequence[str] = ()) -> PatternsResult:
        """Access patterns, all or those so named, with their examples asked of the environment. Never writes."""
        return check_with_examples(self.session, choose(self.session.patterns, names))

    def doctor(self, target: str = "head") -> DoctorResult:
        """Whether what an upgrade needs is there. Asks, never tries, never writes."""
        guards.refuse_downwards(target)
        return examination.doctor(self.session, target)

    def iam(self, command: str = "upgrade", target: str = "head") -> IamResult:
        """The least-privilege policy of a command, for the revisions that it would work on. Never writes."""
        return iam.policy(self.session, command, target)

    # --- the way back, and the gate

    def downgrade(self, target: str, *, drop_adopted: bool = False, lock_timeout: float | None = None) -> RunResult:
        return takeback.downgrade(self.session, target, self._options(drop_adopted, lock_timeout))

    def rollback(
        self, revision: str | None, *, drop_adopted: bool = False, lock_timeout: float | None = None
    ) -> RunResult:
        return takeback.rollback(self.session, revision, self._options(drop_adopted, lock_timeout))

    def contract(self, revision: str | None, *, yes: bool = False, lock_timeout: float | None = None) -> RunResult:
        return stages.contract(self.session, revision, self._options(False, lock_timeout), yes=yes)

    def cutover(self, revision: str | None, *, yes: bool = False, lock_timeout: float | None = None) -> RunResult:
        return stages.cutover(self.session, revision, self._options(False, lock_timeout), yes=yes)

    def mirror_run(self, revision: str | None, *, lock_timeout: float | None = None) -> MirrorResult:
        """Keep the twins of a rewrite until it is over. Raises Interrupted on a signal."""
        return mirroring.run(self.session, revision, self._options(False, lock_timeout))

    def mirror_status(self, revision: str | None) -> MirrorResult:
        return mirroring.status(self.session, revision)

    def verify(self, revision: str | None, *, repair: bool = False, lock_timeout: float | None = None) -> RunResult:
        """Compare both sides of a key rewrite in progress; with `repair`, make the twins follow."""
        return verifying.verify(self.session, revision, self._options(False, lock_timeout), repair=repair)

    def _options(self, drop_adopted: bool, lock_timeout: float | None) -> Options:
        limits = self.session.settings.limits
        return Options(
            drop_adopted=drop_adopted,
            wait_timeout=limits.wait_timeout,
            lock_timeout=limits.lock_timeout if lock_timeout is None else lock_timeout,
        )

    # --- records

    def stamp(self, target: str, *, purge: bool = False) -> NoteResult:
        return mending.stamp(self.session, target, purge=purge)

    def repair(self, *, checksum: str | None = None, restored: bool = False, drift: bool = False) -> NoteResult:
        return mending.repair(self.session, checksum=checksum, restored=restored, drift=drift)

    def failed_list(self, revision: str | None = None) -> FailedResult:
        return mending.failed_list(self.session, revision)

    def failed_retry(self, revision: str | None = None) -> RunResult:
        return mending.failed_retry(self.session, revision, self._options(False, None))

    def failed_skip(self, revision: str, keys: list[str], because: str) -> FailedResult:
        return mending.failed_skip(self.session, revision, keys, because)

    def lock_show(self, observe_seconds: float = 0.0) -> LockResult:
        return mending.lock_show(self.session, observe_seconds)

    # --- live control

    def pause(self, *, seconds: float | None = None, because: str = "") -> ControlResult:
        return controlling.pause(self.session, seconds, because)

    def resume(self) -> ControlResult:
        return controlling.resume(self.session)

    def throttle(self, *, write_units: str = "", read_units: str = "", seconds: float | None = None) -> ControlResult:
        """Budgets as the configuration writes them: `500`, `25%`; without any, back to the configured ones."""
        return controlling.throttle(self.session, write_units, read_units, seconds)

    def cancel(self, *, because: str = "") -> ControlResult:
        return controlling.cancel(self.session, because)

    # --- the lock of a dead run

    def lock_release(self, owner: str) -> LockResult:
        return mending.lock_release(self.session, owner)
