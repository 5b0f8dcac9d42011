"""What a crew and its worker processes say to each other over a pipe."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from typing import TypeAlias

from migrator.core.events import Event
from migrator.distributed.job import SegmentJob
from migrator.engine.crew import SegmentNews
from migrator.engine.pages import Halted
from migrator.errors import Interrupted, LeaseLost, MigratorError, said

# --- to the worker ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Begin:
    job: SegmentJob
    renewed_at: float
    """When the lease was last renewed, on the clock of this machine, which counts time spent suspended."""


@dataclass(frozen=True, slots=True)
class Take:
    segment: int


@dataclass(frozen=True, slots=True)
class Renewed:
    at: float


@dataclass(frozen=True, slots=True)
class Halt:
    """Stop where it can be continued."""


ToWorker: TypeAlias = Begin | Take | Renewed | Halt

# --- to the crew ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Told:
    """An event of the worker."""

    event: Event


@dataclass(frozen=True, slots=True)
class Done:
    segment: int


@dataclass(frozen=True, slots=True)
class Failed:
    """What stopped a segment. Errors themselves do not travel: they hold what cannot be pickled."""

    segment: int
    kind: str
    code: str
    message: str
    hint: str | None
    exit_code: int

    @staticmethod
    def of(segment: int, error: BaseException) -> Failed:
        if isinstance(error, MigratorError):
            kind = next((name for name, one in _KINDS.items() if isinstance(error, one)), "")
            return Failed(segment, kind, error.code, error.message, error.hint, error.exit_code)
        where = traceback.format_exception(error)[-3:]
        text = f"a worker failed: {said(error)}: {' '.join(' '.join(where).split())}"
        return Failed(segment, "", "worker-failed", text, "this is a fault of the tool: please report it", 1)

    def error(self) -> MigratorError:
        if self.kind == "Halted":
            return Halted()
        kind = _KINDS.get(self.kind, MigratorError)
        return kind(self.code, self.message, hint=self.hint, exit_code=self.exit_code)


_KINDS: dict[str, type[MigratorError]] = {"Halted": Halted, "Interrupted": Interrupted, "LeaseLost": LeaseLost}

ToCrew: TypeAlias = Told | SegmentNews | Done | Failed
