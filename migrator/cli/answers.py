"""Results of the commands that work on files alone or on the sandbox."""

from __future__ import annotations

from dataclasses import dataclass

from migrator.core.lint import PlacedFinding
from migrator.runner.results import Result


@dataclass(frozen=True, slots=True)
class RevisionLine:
    """One migration file in the history."""

    revision: str
    down_revisions: tuple[str, ...]
    message: str
    path: str
    is_head: bool
    status: str = ""
    """As `status` has it; "" where nobody asked the environment."""
    is_current: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionsResult(Result):
    """Of history, heads, current. `state`: empty | one-head | several-heads."""

    revisions: tuple[RevisionLine, ...]


@dataclass(frozen=True, slots=True)
class OperationLine:
    kind: str
    """The operation's class."""
    text: str
    """As in the file, without what is left at its default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionResult(Result):
    """Of show."""

    revision: RevisionLine
    checksum: str
    content_hash: str
    modules: tuple[str, ...]
    operations: tuple[OperationLine, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesResult(Result):
    """Of init, revision, merge: which files were made and which stood there already."""

    created: tuple[str, ...]
    kept: tuple[str, ...] = ()
    revision: str = ""
    paste: str = ""
    """What to paste into a file that is kept as it is."""
    notes: tuple[str, ...] = ()
    """Of what was read and left alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportResult(Result):
    """Of export. `state`: exported."""

    format: str
    tables: tuple[str, ...]
    """Aliases."""
    document: str
    """The text; "" where it went to a file."""
    written_to: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LintResult(Result):
    """Of lint. `state`: clean | findings."""

    findings: tuple[PlacedFinding, ...]
    allowed: tuple[PlacedFinding, ...] = ()
    """What comments in the files allow, each with its reason."""
    files: int = 0
    report: str = ""
    """The file that the report was written to."""


@dataclass(frozen=True, slots=True)
class FaultLine:
    """One fault of a sandbox; `fault` is what `sandbox fault add` takes."""

    id: int
    fault: str
    met: int
    struck: int
    is_over: bool
    """Whether it will not strike again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultsResult(Result):
    """Of the sandbox fault commands. `state`: added | listed | cleared."""

    endpoint: str
    faults: tuple[FaultLine, ...] = ()
    cleared: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxResult(Result):
    """Of the sandbox commands. `state`: running | stopped | loaded | reset."""

    endpoint: str = ""
    pid: int | None = None
    index_build_seconds: float | None = None
    items: int = 0
    lines: tuple[str, ...] = ()
