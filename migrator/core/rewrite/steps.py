"""What a rewrite asks of the engine, as steps. Each converges: run again, it does what is left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from migrator.core.rewrite.phases import Phase
from migrator.core.rewrite.rewrite import Rewrite

SLOT = "0"
"""A revision holds one rewrite: its phases are the revision's."""


@dataclass(frozen=True, slots=True)
class PrepareRewrite:
    """Before the first write: every item that could not be rewritten, every collision, and the phase record, in expand.

    `slot` names the rewrite among those of its revision: its phase record is `phase#REVISION#SLOT`.
    """

    rewrite: Rewrite
    slot: str

    @property
    def table(self) -> str:
        return self.rewrite.sources[0]

    @property
    def title(self) -> str:
        return f"look for what could not be rewritten in {', '.join(self.rewrite.sources)}; phase expand"


@dataclass(frozen=True, slots=True)
class EnterPhase:
    """Change the phase by one and wait until every reader of the record has heard of it; nothing if it is there.

    As a way back (`undoes`) nothing either where the phase is before `phase` already.
    """

    rewrite: Rewrite
    slot: str
    phase: Phase
    undoes: bool = False

    @property
    def table(self) -> str:
        return self.rewrite.sources[0]

    @property
    def title(self) -> str:
        return f"{'back to' if self.undoes else 'enter'} phase {self.phase} and wait until every instance knows"


@dataclass(frozen=True, slots=True)
class CopyTwins:
    """Scan the authority's side and reconcile every item's twin."""

    rewrite: Rewrite
    slot: str

    @property
    def table(self) -> str:
        return self.rewrite.sources[0]

    @property
    def title(self) -> str:
        return f"copy items of {', '.join(self.rewrite.sources)} to their new keys in {', '.join(self.rewrite.targets)}"


@dataclass(frozen=True, slots=True)
class VerifyTwins:
    """Compare both ways, by content, in the phase that stands; record that it was clean, or refuse (exit 6)."""

    rewrite: Rewrite
    slot: str
    when: Literal["copied", "cutover", "contract"]

    @property
    def table(self) -> str:
        return self.rewrite.sources[0]

    @property
    def title(self) -> str:
        return f"verify that both sides correspond ({self.when})"


@dataclass(frozen=True, slots=True)
class DropOldSide:
    """Delete the old items that are as their twins are; one that differs was written by a stray: kept, reported."""

    rewrite: Rewrite
    slot: str

    @property
    def table(self) -> str:
        return self.rewrite.sources[0]

    @property
    def title(self) -> str:
        return f"delete the old items of {', '.join(self.rewrite.sources)}"


@dataclass(frozen=True, slots=True)
class ReleaseAttributes:
    """Remove from the items what their twins have taken over and hold equal; what differs is kept, reported."""

    rewrite: Rewrite
    slot: str

    @property
    def table(self) -> str:
        return self.rewrite.sources[0]

    @property
    def title(self) -> str:
        names = dict.fromkeys(name for route in self.rewrite.routes for name in route.keep or ())
        return f"remove {', '.join(names)} from the items of {', '.join(self.rewrite.sources)} whose siblings hold them"


@dataclass(frozen=True, slots=True)
class RemoveTwins:
    """The way back from dual-write: delete the twins that belong to an old item, guarded as they were read."""

    rewrite: Rewrite
    slot: str

    @property
    def table(self) -> str:
        return self.rewrite.targets[0]

    @property
    def title(self) -> str:
        return f"remove the twins from {', '.join(self.rewrite.targets)}"


@dataclass(frozen=True, slots=True)
class CloseRewrite:
    """End of the rewrite: marks are stripped from the twins (`done`), or the phase record says it never was."""

    rewrite: Rewrite
    slot: str
    outcome: Literal["done", "rolled-back"]

    @property
    def table(self) -> str:
        return self.rewrite.targets[0]

    @property
    def title(self) -> str:
        return "the rewrite is done" if self.outcome == "done" else "the rewrite is taken back"


@dataclass(frozen=True, slots=True)
class AwaitMirror:
    """Wait until a mirror is seen to follow the phase; `drained`: until it has read every change there is."""

    rewrite: Rewrite
    slot: str
    drained: bool

    @property
    def table(self) -> str:
        return self.rewrite.sources[0]

    @property
    def title(self) -> str:
        return (
            "wait until the mirror has read every change"
            if self.drained
            else "wait until the mirror is seen to be live"
        )


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
