"""What a rewrite asks of the engine, as steps. Each converges: run again, it does what is left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from migrator.core.rewrite.phases import Phase
from migrator.core.rewrite.rewrite import Rewrite

SLOT = "0"
"""A revision holds one rewrite: its phases are the revision's."""


@dataclass(frozen=True, slots=True)
class _OfRewrite:
    """`slot` names the rewrite among those of its revision: its phase record is `phase#REVISION#SLOT`."""

    rewrite: Rewrite
    slot: str

    @property
    def table(self) -> str:
        """Of the several that it touches, the first source."""
        return self.rewrite.sources[0]

    @property
    def from_tables(self) -> str:
        return ", ".join(self.rewrite.sources)

    @property
    def to_tables(self) -> str:
        return ", ".join(self.rewrite.targets)


@dataclass(frozen=True, slots=True)
class PrepareRewrite(_OfRewrite):
    """Before the first write: each item that could not be rewritten, every collision; the phase record, in expand."""

    @property
    def title(self) -> str:
        return f"look for what could not be rewritten in {self.from_tables}; phase expand"


@dataclass(frozen=True, slots=True)
class EnterPhase(_OfRewrite):
    """Change the phase by one and wait until every reader of the record has heard of it; nothing if it is there.

    As a way back (`undoes`) nothing either where the phase is before `phase` already.
    """

    phase: Phase
    undoes: bool = False

    @property
    def title(self) -> str:
        return f"{'back to' if self.undoes else 'enter'} phase {self.phase} and wait until every instance knows"


@dataclass(frozen=True, slots=True)
class AwaitMirror(_OfRewrite):
    """Wait until a mirror is seen to follow the phase; `drained`: until it has read every change there is."""

    drained: bool

    @property
    def title(self) -> str:
        return f"wait until the mirror {'has read every change' if self.drained else 'is seen to be live'}"


@dataclass(frozen=True, slots=True)
class CopyTwins(_OfRewrite):
    """Scan the authority's side and reconcile every item's twin."""

    @property
    def title(self) -> str:
        return f"copy items of {self.from_tables} to their new keys in {self.to_tables}"


@dataclass(frozen=True, slots=True)
class VerifyTwins(_OfRewrite):
    """Compare both ways, by content, in the phase that stands; record that it was clean, or refuse (exit 6)."""

    when: Literal["copied", "cutover", "contract"]

    @property
    def title(self) -> str:
        return f"verify that both sides correspond ({self.when})"


@dataclass(frozen=True, slots=True)
class DropOldSide(_OfRewrite):
    """Delete the old items that are as their twins are; one that differs was written by a stray: kept, reported."""

    @property
    def title(self) -> str:
        return f"delete the old items of {self.from_tables}"


@dataclass(frozen=True, slots=True)
class ReleaseAttributes(_OfRewrite):
    """Remove from the items what their twins have taken over and hold equal; what differs is kept, reported."""

    @property
    def title(self) -> str:
        names = dict.fromkeys(name for route in self.rewrite.routes for name in route.keep or ())
        return f"remove {', '.join(names)} from the items of {self.from_tables} whose siblings hold them"


@dataclass(frozen=True, slots=True)
class RemoveTwins(_OfRewrite):
    """The way back from dual-write: delete the twins that belong to an old item, guarded as they were read."""

    @property
    def title(self) -> str:
        return f"remove the twins from {self.to_tables}"


@dataclass(frozen=True, slots=True)
class CloseRewrite(_OfRewrite):
    """End of the rewrite: marks are stripped from the twins (`done`), or the phase record says it never was."""

    outcome: Literal["done", "rolled-back"]

    @property
    def title(self) -> str:
        return "the rewrite is done" if self.outcome == "done" else "the rewrite is taken back"


RewriteStep: TypeAlias = (
    PrepareRewrite
    | AwaitMirror
    | EnterPhase
    | CopyTwins
    | VerifyTwins
    | DropOldSide
    | ReleaseAttributes
    | RemoveTwins
    | CloseRewrite
)
