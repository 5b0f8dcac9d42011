"""A step as items pass through it: what it makes of each, and what that costs. The closed `match` is `stage_of`.

An item goes through the steps of a plan one after the other, so that a step is judged on items as the ones before it
leave them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, assert_never

from migrator.core.change import Change, Check
from migrator.core.costs import ENTRY_OVERHEAD, entry, entry_units, write_units
from migrator.core.item import Item, fingerprint, item_size, key_of, key_text, same_item
from migrator.core.rewrite.rewrite import Rewrite
from migrator.core.rewrite.steps import (
    AwaitMirror,
    CloseRewrite,
    CopyTwins,
    DropOldSide,
    EnterPhase,
    PrepareRewrite,
    ReleaseAttributes,
    RemoveTwins,
    VerifyTwins,
)
from migrator.core.schema import Index
from migrator.core.steps import (
    ChangeSetting,
    CreateIndex,
    CreateTable,
    DeleteIndex,
    DeleteItems,
    PutItems,
    RebuildCounters,
    Restore,
    RunFunction,
    Step,
    TransformItems,
    UndoItems,
    UpdateIndex,
    needs_transactions,
)
from migrator.core.transform import (
    Decided,
    Decider,
    Decision,
    Failed,
    NotSelected,
    Unchanged,
    decide_deletion,
)
from migrator.engine.indexable import problems
from migrator.runner.estimates.lookups import LookupMeter
from migrator.runner.estimates.stage import FENCE_UNITS, Stage
from migrator.runner.estimates.tally import Example
from migrator.runner.estimates.twins import Copying, Dropping, Preparing, Releasing, Twins, Verifying

JOURNAL_BYTES = 500
"""About what a journal record holds beside the attributes it keeps: its key, the item's key twice, its frame."""


@dataclass(slots=True)
class Transforming(Stage):
    """A backfill: lookups are read once for the decision and once more by the check pass."""

    decider: Decider | None = None
    lookups: LookupMeter | None = None
    journalled: bool = False
    in_transaction: bool = False

    def take(self, item: Item) -> Item | None:
        assert self.decider is not None
        decided = self.judged(item, self.decider.decide(item))
        if self.lookups is not None:
            for resource, units in self.lookups.drained().items():
                self.tally.add(f"lookup:{resource}", units * (1 + self.passes_after))
        if decided is None:
            return item
        change = decided.change
        after = change.applied_to(item)
        self.write(item, after, factor=2 if self.in_transaction else 1)
        if self.in_transaction:
            self.tally.add("bookkeeping", FENCE_UNITS)
        for check in change.checks:
            self.tally.add(f"write:{check.table}", 2 * self._checked_units(check))
        if self.journalled:
            self.tally.add("journal-reads")
            kept = {name: item[name] for name in {*change.set, *change.remove} if name in item}
            self.tally.add("bookkeeping", journal_units(item, self.key_names, kept, change.set))
        self.show(item, after)
        return after

    def _checked_units(self, check: Check) -> float:
        # By the whole item, of which the check names only what was read; not less than that.
        return write_units(None if self.lookups is None else self.lookups.last(check.table, check.key))


@dataclass(slots=True)
class Deleting(Stage):
    decide: Callable[[Item], Decision] = lambda _item: NotSelected()

    def take(self, item: Item) -> Item | None:
        if self.judged(item, self.decide(item)) is None:
            return item
        self.write(item, None, factor=2)
        self.tally.add("bookkeeping", FENCE_UNITS + journal_units(item, self.key_names, item, {}))
        self.show(item, {})
        return None


@dataclass(slots=True)
class Putting(Stage):
    items: Mapping[str, Item] = field(default_factory=dict)
    """By the fingerprint of the key."""
    there: set[str] = field(default_factory=set)

    def take(self, item: Item) -> Item | None:
        key = fingerprint(key_of(item, self.key_names))
        wanted = self.items.get(key)
        if wanted is not None:
            self.there.add(key)
            self.tally.is_fixed = True
            if same_item(wanted, item):
                self.judged(item, Unchanged())
            else:
                self.judged(item, Failed("item-exists", "an item with this key stands there and differs"))
            self.tally.is_fixed = False
        return item

    def brought(self) -> Sequence[Item]:
        found = [item for key, item in self.items.items() if key not in self.there]
        for item in found:
            self.judged(item, Decided(Change({})))
            self.write(None, item, factor=2)
            self.tally.add("bookkeeping", FENCE_UNITS + journal_units(item, self.key_names, {}, item))
            self.show({name: item[name] for name in self.key_names}, item)
        return found


@dataclass(slots=True)
class Indexing(Stage):
    """An index build: the service writes the entries, and this tool looks for items that could not be indexed."""

    index: Index | None = None

    def take(self, item: Item) -> Item | None:
        index, tally = self.index, self.tally
        assert index is not None
        tally.add("scanned")
        found = problems(item, index)
        for problem in found:
            example = Example(key_text(key_of(item, self.key_names)), problem.reason)
            tally.problem("unindexable", problem.code, problem.attribute, example)
        if found:
            tally.add("unindexable")
            return item
        made = entry(index, item, self.key_names)
        if made is None:
            tally.add("sparse")
            return item
        tally.add("entries")
        tally.add("entry-bytes", item_size(made) + ENTRY_OVERHEAD)
        tally.add(f"write:{self.table}/{index.name}", entry_units(index, None, made))
        self._enter(index, None, made)
        return item


@dataclass(frozen=True, slots=True)
class Around:
    """What a stage is made from beside its step."""

    base: Mapping[str, Any]
    """The fields of Stage."""
    decider: Callable[[TransformItems, LookupMeter], Decider]
    lookups: Callable[[], LookupMeter]
    twins: Callable[[Rewrite], Twins]


def stage_of(step: Step, around: Around) -> Stage:
    """The stage of a step."""
    base = around.base
    match step:
        case TransformItems():
            meter = around.lookups()
            looks_before = step.undo == "auto" and step.transform.can_be_undone_by_removal
            repeats = ("what it looks up is read as it is now: earlier steps may change it",)
            return Transforming(
                **base,
                passes_before=1 + looks_before,
                passes_after=int(step.check == "pass"),
                decider=around.decider(step, meter),
                lookups=meter,
                journalled=step.is_journalled,
                in_transaction=needs_transactions(step),
                unknown=repeats if step.transform.takes_lookup else (),
            )
        case DeleteItems():
            decide = partial(decide_deletion, step.where, tuple(base["key_names"]))
            return Deleting(**base, passes_before=1, passes_after=int(step.check == "pass"), decide=decide)
        case PutItems():
            names = tuple(base["key_names"])
            return Putting(**base, items={fingerprint(key_of(item, names)): item for item in step.items})
        case CreateIndex() if any(index.name == step.index.name for index in base["indexes"]):
            return Stage(**base, unknown=(f"{step.index.name} stands there already: it is adopted if it is equal",))
        case CreateIndex():
            return Indexing(**base, passes_before=1, index=step.index)
        case RunFunction():
            return Stage(**base, unknown=("what the function reads and writes: it is code of yours",), is_unknown=True)
        case RebuildCounters():
            missing = ("which counters are wrong, and how large their item collections are",)
            return Stage(**base, passes_before=1, passes_after=1, unknown=missing, is_unknown=True)
        case UndoItems():
            return Stage(**base, unknown=("how many items the journal takes back",), is_unknown=True)
        case EnterPhase() | AwaitMirror() | CloseRewrite():
            return Stage(**base)
        case RemoveTwins():
            return Stage(**base, unknown=("how many items have a twin by then",), is_unknown=True)
        case PrepareRewrite() | CopyTwins() | VerifyTwins() | DropOldSide() | ReleaseAttributes() if (
            len(step.rewrite.sources) > 1 or len(step.rewrite.targets) > 1
        ):
            return Stage(**base, unknown=("what it costs: several tables are read or written",), is_unknown=True)
        case PrepareRewrite():
            return Preparing(**base, passes_before=1, twins=around.twins(step.rewrite))
        case CopyTwins():
            live = "" if step.rewrite.application == "stopped" else "; less where the application has written twins"
            unknown = (f"its share of conflicts with live writers{live}",)
            twins = around.twins(step.rewrite)
            # The new side is gone through first, for twins of an earlier attempt: in a table of its own it is empty.
            return Copying(**base, passes_before=1 + (twins.table == base["table"]), twins=twins, unknown=unknown)
        case VerifyTwins():
            return Verifying(**base, passes_before=1, twins=around.twins(step.rewrite))
        case DropOldSide():
            return Dropping(**base, passes_before=1, twins=around.twins(step.rewrite))
        case ReleaseAttributes():
            return Releasing(**base, passes_before=1, twins=around.twins(step.rewrite))
        case CreateTable() | DeleteIndex() | UpdateIndex() | ChangeSetting() | Restore():
            return Stage(**base)
    assert_never(step)


def journal_units(item: Item, key_names: Sequence[str], before: Item, after: Item) -> float:
    """Write units of the journal record of one change, in its transaction."""
    size = JOURNAL_BYTES + 2 * item_size(key_of(item, key_names)) + item_size(before) + item_size(after)
    return 2.0 * max(1, -(-size // 1024))
