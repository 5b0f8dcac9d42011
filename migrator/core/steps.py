"""What the engine can do, as values: the closed union `Step`. A new kind of effect starts here.

Tables are named by alias. Every step may run twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, assert_never

from migrator.core.item import Item
from migrator.core.rewrite.steps import (
    AwaitMirror,
    CloseRewrite,
    CopyTwins,
    DropOldSide,
    EnterPhase,
    PrepareRewrite,
    ReleaseAttributes,
    RemoveTwins,
    RewriteStep,
    VerifyTwins,
)
from migrator.core.schema import Index, Table
from migrator.core.settings import Setting
from migrator.core.transform import Transform
from migrator.core.where import Where


def _count(number: int, one: str, several: str) -> str:
    return f"{number} {one if number == 1 else several}"


@dataclass(frozen=True, slots=True)
class CreateTable:
    """Create the table with its indexes in one call, or adopt one that is equal."""

    table: str
    shape: Table
    settings: tuple[Setting, ...] = ()

    @property
    def title(self) -> str:
        keys = ", ".join(map(str, self.shape.key))
        count = len(self.shape.indexes)
        return f"create table {self.table} ({keys})" + (f" with {_count(count, 'index', 'indexes')}" if count else "")


@dataclass(frozen=True, slots=True)
class CreateIndex:
    """Bring the index to ready: create, adopt or wait. Items that could not be indexed are listed first."""

    table: str
    index: Index
    unindexable: Literal["refuse", "allow"] = "refuse"

    @property
    def title(self) -> str:
        keys = " / ".join(", ".join(map(str, part)) for part in (self.index.partition_key, self.index.sort_key) if part)
        return f"build index {self.index.name} on {self.table} ({keys}), projection {self.index.projection}"


@dataclass(frozen=True, slots=True)
class DeleteIndex:
    """Delete the index and wait until it has vanished. As a way back it leaves an adopted index alone."""

    table: str
    index: str
    undoes: bool = False
    """Part of a rollback: delete only what this revision created."""

    @property
    def title(self) -> str:
        return f"delete index {self.index} of {self.table}"


@dataclass(frozen=True, slots=True)
class UpdateIndex:
    """Set an index's throughput: only what `index` names."""

    table: str
    index: Index

    @property
    def title(self) -> str:
        wanted = [
            f"{name} {units}"
            for name, units in (
                ("provisioned", self.index.provisioned),
                ("on-demand maximum", self.index.on_demand_maximum),
                ("warm", self.index.warm),
            )
            if units is not None
        ]
        return f"set throughput of index {self.index.name} of {self.table}: {'; '.join(wanted)}"


@dataclass(frozen=True, slots=True)
class ChangeSetting:
    table: str
    setting: Setting

    @property
    def title(self) -> str:
        return f"set {self.setting} on {self.table}"


@dataclass(frozen=True, slots=True)
class Restore:
    """Put back what the history holds of an object before this revision: `index:NAME` or `setting:NAME`."""

    table: str
    object: str

    @property
    def title(self) -> str:
        return f"restore {self.object} of {self.table} as it was before"


@dataclass(frozen=True, slots=True)
class TransformItems:
    """Scan -> where -> transform -> at most one guarded write an item; then a second pass that must find nothing.

    `undo`: "auto" lets a rollback remove the written attributes if a full scan before the first write found them on no
    item; "journal" keeps before and after of each item; "none" makes the step irreversible.
    """

    table: str
    transform: Transform
    undo: Literal["auto", "journal", "none"] = "auto"
    check: Literal["pass", "none"] = "pass"
    label: str = "backfill"

    @property
    def is_journalled(self) -> bool:
        """Whether each write goes with a journal record: for the way back, or to keep `once`."""
        return self.transform.once or self.undo == "journal"

    @property
    def title(self) -> str:
        transform = self.transform
        if transform.function is not None:
            what = f"by {getattr(transform.function, '__name__', 'a function')}()"
        else:
            parts = []
            if transform.set:
                parts.append("set " + ", ".join(transform.set))
            if transform.copy:
                parts.append("copy " + ", ".join(f"{old} to {new}" for old, new in transform.copy.items()))
            if transform.rename:
                parts.append("rename " + ", ".join(f"{old} to {new}" for old, new in transform.rename.items()))
            if transform.remove:
                parts.append("remove " + ", ".join(transform.remove))
            what = "; ".join(parts)
        return f"{self.label} {self.table}: {what}"


@dataclass(frozen=True, slots=True)
class PutItems:
    """Put items where none are. One that stands there equal is adopted; a different one fails."""

    table: str
    items: tuple[Item, ...]

    @property
    def title(self) -> str:
        return f"put {_count(len(self.items), 'item', 'items')} into {self.table}"


@dataclass(frozen=True, slots=True)
class DeleteItems:
    """Delete the selected items, each journalled first."""

    table: str
    where: Where
    check: Literal["pass", "none"] = "pass"

    @property
    def title(self) -> str:
        return f"delete items of {self.table}"


@dataclass(frozen=True, slots=True)
class RebuildCounters:
    """Set `attribute` of the items that `where` selects to what `count` selects of their item collection, again and
    again until none differs. `sum` names an attribute to add up, "" counts."""

    table: str
    attribute: str
    where: Where
    count: Where
    sum: str = ""

    @property
    def title(self) -> str:
        what = f"the sum of {self.sum}" if self.sum else "the number"
        return f"rebuild {self.attribute} of {self.table} as {what} of the items beside it"


@dataclass(frozen=True, slots=True)
class UndoItems:
    """Take back a data step of this revision: by its journal, or by removing what it wrote and is still as written."""

    table: str
    of: TransformItems | PutItems | DeleteItems
    step: int
    """The position of the step it takes back, in its operation's `apply`."""

    @property
    def title(self) -> str:
        return f"undo: {self.of.title}"


@dataclass(frozen=True, slots=True)
class RunFunction:
    """Call the user's function with a guarded table."""

    table: str
    function: Callable[[Any], None] = field(repr=False)

    @property
    def title(self) -> str:
        return f"run {getattr(self.function, '__name__', 'a function')}() on {self.table}"


Step: TypeAlias = (
    CreateTable
    | CreateIndex
    | DeleteIndex
    | UpdateIndex
    | ChangeSetting
    | Restore
    | TransformItems
    | PutItems
    | DeleteItems
    | RebuildCounters
    | UndoItems
    | RunFunction
    | RewriteStep
)
DataStep: TypeAlias = TransformItems | PutItems | DeleteItems | RebuildCounters | UndoItems | RunFunction | RewriteStep


def tables_of(step: Step) -> tuple[str, ...]:
    """The aliases of the tables that a step touches; "" is the default table."""
    return step.rewrite.tables if isinstance(step, RewriteStep) else (step.table,)


def needs_transactions(step: Step) -> bool:
    """Whether the engine writes the step's items by transactions: each with its journal record, or with its lookups."""
    match step:
        case TransformItems():
            return step.is_journalled or step.transform.takes_lookup
        case PutItems() | DeleteItems():
            return True
        case CopyTwins() | VerifyTwins() | DropOldSide() | ReleaseAttributes() | RemoveTwins():
            return True
        case PrepareRewrite() | AwaitMirror() | EnterPhase() | CloseRewrite():
            return False
        case UndoItems(of=TransformItems() as of):
            return of.is_journalled
        case UndoItems():
            return True
        case (
            CreateTable()
            | CreateIndex()
            | DeleteIndex()
            | UpdateIndex()
            | ChangeSetting()
            | Restore()
            | RebuildCounters()
            | RunFunction()
        ):
            return False
    assert_never(step)
