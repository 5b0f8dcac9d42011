"""What the commands call, as protocols: `migrator.wiring` is the house, its Runner does the work."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Literal, Protocol

from migrator.config import Settings
from migrator.core.declared import DeclaredTable
from migrator.core.events import Report
from migrator.core.graph import Graph
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


class Project(Protocol):
    """One environment of one configuration, from files only."""

    @property
    def settings(self) -> Settings: ...

    @property
    def graph(self) -> Graph: ...


class Runner(Protocol):
    """The commands that talk to AWS. Times are seconds."""

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
    ) -> PlanResult: ...

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
    ) -> RunResult: ...

    def downgrade(self, target: str, *, drop_adopted: bool = False, lock_timeout: float | None = None) -> RunResult: ...

    def rollback(
        self, revision: str | None, *, drop_adopted: bool = False, lock_timeout: float | None = None
    ) -> RunResult: ...

    def contract(self, revision: str | None, *, yes: bool = False, lock_timeout: float | None = None) -> RunResult: ...

    def cutover(self, revision: str | None, *, yes: bool = False, lock_timeout: float | None = None) -> RunResult: ...

    def mirror_run(self, revision: str | None, *, lock_timeout: float | None = None) -> MirrorResult: ...

    def mirror_status(self, revision: str | None) -> MirrorResult: ...

    def verify(self, revision: str | None, *, repair: bool = False, lock_timeout: float | None = None) -> RunResult: ...

    def status(self) -> StatusResult: ...

    def check(self) -> CheckResult: ...

    def declared(self, of: Literal["live", "head", "applied", "files"]) -> Mapping[str, DeclaredTable]:
        """Alias -> its table: as it stands, with what is pending, or as the applied revisions leave it."""
        ...

    def diff(self, of: Literal["applied", "files"]) -> DiffResult: ...

    def diff_with(self, env: str, other: Mapping[str, DeclaredTable]) -> DiffResult: ...

    def violations(
        self, index: str, table: str | None, listing: Callable[[Violator], None] | None
    ) -> ViolationsResult: ...

    def patterns(self, names: Sequence[str] = ()) -> PatternsResult: ...
    def doctor(self, target: str) -> DoctorResult: ...

    def iam(self, command: str, target: str) -> IamResult: ...

    def stamp(self, target: str, *, purge: bool = False) -> NoteResult: ...

    def repair(self, *, checksum: str | None, restored: bool, drift: bool) -> NoteResult: ...

    def failed_list(self, revision: str | None) -> FailedResult: ...

    def failed_retry(self, revision: str | None) -> RunResult: ...

    def failed_skip(self, revision: str, keys: list[str], because: str) -> FailedResult: ...

    def lock_show(self, observe_seconds: float) -> LockResult: ...

    def lock_release(self, owner: str) -> LockResult: ...

    def pause(self, *, seconds: float | None, because: str) -> ControlResult: ...

    def resume(self) -> ControlResult: ...

    def throttle(self, *, write_units: str, read_units: str, seconds: float | None) -> ControlResult: ...

    def cancel(self, *, because: str) -> ControlResult: ...

    def stop(self, signal_number: int) -> None:
        """Asks the running command to checkpoint and stop. Called from another thread."""
        ...


class House(Protocol):
    """The composition root."""

    def open_project(self, config: Path | None, env: str | None, variables: Mapping[str, str]) -> Project:
        """Reads files only."""
        ...

    def open_targets(
        self, config: Path | None, env: str | None, variables: Mapping[str, str], patterns: Sequence[str]
    ) -> Sequence[tuple[str, Project]]:
        """Each target of the environment that the patterns name. Reads files only."""
        ...

    def open_runner(self, project: Any, report: Report, *, read_only: bool = False) -> AbstractContextManager[Runner]:
        """A read-only one holds a client that cannot mutate."""
        ...

    def draft_from_table(self, project: Any, name: str) -> str:
        """The operations of a first migration that describes the live table, as Python source."""
        ...

    def live_table(self, project: Any, name: str) -> DeclaredTable:
        """Any table of the environment's account by its name in DynamoDB, as it stands."""
        ...

    def iam_from_files(self, project: Any, command: str, target: str, why: str) -> IamResult:
        """The policy of a command as if nothing were applied; `why` is said with it."""
        ...
