"""What a data step does to one item: decided purely, from the item as read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from typing import Literal, TypeAlias

from migrator.core.change import Change, Check
from migrator.core.expression import guard_is_too_large
from migrator.core.function import BadResult, Function, from_function, takes_lookup
from migrator.core.item import (
    MAX_PARTITION_KEY_BYTES,
    MAX_SORT_KEY_BYTES,
    AttributeValue,
    BadValue,
    Item,
    from_python,
    same,
    type_of,
    value_size,
)
from migrator.core.raised import place_of
from migrator.core.schema import KeyType, Schema
from migrator.core.template import Reference, Template
from migrator.core.texts import Texts, compared, texts_of
from migrator.core.view import ItemView, Lookup, LookupTooWide, ReadItems, WholeItemRead, refuse_wide
from migrator.core.where import Where, selects
from migrator.errors import ENDING, MigratorError

IndexKeys: TypeAlias = Mapping[str, Mapping[str, tuple[KeyType, Literal["partition", "sort"]]]]
"""Attribute -> index -> (type, role): what index keys demand of a value (`Table.index_key_types`)."""


@dataclass(frozen=True, slots=True)
class Transform:
    """Templates, constants, removals, renames and copies, or one function.

    `missing`: what a template does whose attribute is absent. `version`: an attribute that every writer changes;
    it is guarded and raised by one, and allows the function to read the whole item.
    """

    where: Where = field(default_factory=dict)
    set: Mapping[str, Template | AttributeValue] = field(default_factory=dict)
    remove: tuple[str, ...] = ()
    rename: Mapping[str, str] = field(default_factory=dict)
    function: Function | None = None
    missing: Literal["fail", "skip", "remove"] = "fail"
    version: str | None = None
    once: bool = False
    copy: Mapping[str, str] = field(default_factory=dict)
    """Old name -> new name: the first half of a rename, which leaves the old one."""

    @property
    def targets(self) -> frozenset[str] | None:
        """The attributes that are written, or None where only running the function tells."""
        if self.function is not None:
            return None
        return self._written | ({self.version} if self.version else frozenset[str]())

    @property
    def _written(self) -> frozenset[str]:
        return frozenset({*self.set, *self.remove, *self.rename, *self.rename.values(), *self.copy.values()})

    @property
    def is_provably_idempotent(self) -> bool:
        """Whether f(f(x)) = f(x) follows from the templates alone: none reads what the step writes."""
        if self.function is not None or self.version is not None:
            return False
        reads = frozenset[str]().union(
            *(template.attributes for template in self.set.values() if isinstance(template, Template))
        )
        return not (reads | self.copy.keys()) & self._written

    @property
    def is_templates_alone(self) -> bool:
        """Whether nothing is written but what templates and constants say, of attributes that they do not write."""
        return self.is_provably_idempotent and not (self.remove or self.rename or self.copy)

    @property
    def takes_lookup(self) -> bool:
        """Whether the function may look up other items: what it finds is guarded by a transaction."""
        return self.function is not None and takes_lookup(self.function)

    @property
    def can_be_undone_by_removal(self) -> bool:
        """Whether removing what was written restores every item that held none of it before."""
        only_adds = bool(self.set or self.copy) and not (self.remove or self.rename)
        return only_adds and self.function is None and not (self.once or self.version)


# --- decisions --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NotSelected:
    """`where` does not select the item."""


@dataclass(frozen=True, slots=True)
class Unchanged:
    """The item is already right."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A template's attribute is absent and `missing="skip"`: the item stays as it is."""

    absent: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The item cannot be changed: why, by a stable code."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Decided:
    """One guarded change. `repeats` says that it rests on a collection whose growth cannot be guarded."""

    change: Change
    repeats: bool = False


_NOT_SELECTED, _UNCHANGED = NotSelected(), Unchanged()
Decision: TypeAlias = NotSelected | Unchanged | Skipped | Failed | Decided


@dataclass(frozen=True, slots=True)
class Decider:
    """Decides for the items of one table; `read` serves the lookups of functions."""

    transform: Transform
    table: str
    key_names: tuple[str, ...]
    index_keys: IndexKeys
    read: ReadItems
    _looks_up: bool = field(init=False, repr=False, compare=False)
    _is_idempotent: bool = field(init=False, repr=False, compare=False)
    """Declared or proven: not to be checked item by item."""

    _pairs: tuple[tuple[str, str], ...] = field(init=False, repr=False, compare=False)
    """Old name and new name of each rename and copy."""

    _texts: Texts = field(init=False, repr=False, compare=False)
    """Target and parts of each template, where the step is nothing but templates of text; else empty."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "_texts", texts_of(self.transform.set) if self.transform.is_templates_alone else ())
        pairs = (*self.transform.rename.items(), *self.transform.copy.items())
        object.__setattr__(self, "_pairs", pairs)
        # Once, not for each of millions of items.
        object.__setattr__(self, "_looks_up", self.transform.takes_lookup)
        proven = self.transform.once or self.transform.is_provably_idempotent
        object.__setattr__(self, "_is_idempotent", proven)

    @classmethod
    def of(cls, transform: Transform, alias: str, before: Schema, after: Schema, read: ReadItems) -> Decider:
        """For a step of a revision: what index keys demand is taken from before and after the whole revision."""
        alias = before.alias(alias)
        earlier, later = before.table(alias).index_key_types(), after.table(alias).index_key_types()
        index_keys = {name: {**earlier.get(name, {}), **later.get(name, {})} for name in {*earlier, *later}}
        return cls(transform, alias, before.table(alias).key_names, index_keys, read)

    def decide(self, item: Item) -> Decision:
        """At most one guarded change. Never raises for what an item or the function on it did: that is Failed."""
        return judged(self._decide, item)

    def _decide(self, item: Item) -> Decision:
        view = ItemView(item, may_read_whole=self.transform.version is not None)
        if not selects(self.transform.where, view):
            return _NOT_SELECTED
        if self._texts:
            read = view.reads
            texts = compared(self._texts, item, read)
            if texts is not None:
                return self._of_texts(read, texts)
        lookup = Lookup(self.read, self.table, item, view) if self._looks_up else None
        outcome = self._wanted(view, lookup)
        if not isinstance(outcome, dict):
            return outcome
        wanted = {name: value for name, value in outcome.items() if not same(item.get(name), value)}
        if not wanted:
            return _UNCHANGED
        refused = self._refusal(wanted)
        if refused is not None:
            return refused
        change = self._change(item, wanted, view, lookup)
        repeats = lookup is not None and lookup.used_collections
        if not self._is_idempotent:
            again = self._second(change.applied_to(item), lookup)
            if again is not None:
                return again
        if guard_is_too_large(change, self.key_names):
            return Failed("guard-too-large", f"{len(change.guard)} attributes to guard exceed the service's limits")
        return Decided(change, repeats=repeats)

    def _of_texts(
        self, read: dict[str, AttributeValue | None], wanted: Mapping[str, AttributeValue]
    ) -> Unchanged | Failed | Decided:
        """What `_decide` comes to for templates of text: by far the most frequent steps, and most of their items."""
        if not wanted:
            return _UNCHANGED
        refused = self._refusal(wanted)
        if refused is not None:
            return refused
        for name in self.key_names:
            read.pop(name, None)
        change = Change(read, wanted)
        if guard_is_too_large(change, self.key_names):
            return Failed("guard-too-large", f"{len(read)} attributes to guard exceed the service's limits")
        return Decided(change)

    def decide_undo(self, item: Item) -> Decision:
        """Take the written attributes off again, where they still are as the step writes them.

        An item that holds none of them, or of which can no longer be told what the step would write, is left.
        """
        return judged(self._decide_undo, item)

    def _decide_undo(self, item: Item) -> Decision:
        targets = self.transform.targets or frozenset()
        if not targets & item.keys():
            return Unchanged()
        bare = {name: value for name, value in item.items() if name not in targets}
        view = ItemView(bare)
        if not selects(self.transform.where, view):
            return NotSelected()
        outcome = self._wanted(view, None)
        if not isinstance(outcome, dict):
            return Unchanged()
        ours = frozenset(name for name, value in outcome.items() if value is not None and same(item.get(name), value))
        if not ours:
            return Unchanged()
        # As the item really is: what was read of the bare one may be a target that the application has changed.
        guard = {name: item.get(name) for name in {*view.reads, *ours} if name not in self.key_names}
        return Decided(Change(guard, remove=ours))

    def _wanted(self, view: ItemView, lookup: Lookup | None) -> dict[str, AttributeValue | None] | Skipped | Failed:
        """Attribute -> wanted value, None for removal; the version attribute is left out."""
        transform = self.transform
        if transform.function is not None:
            try:
                return from_function(transform.function, view, lookup)
            except BadResult as exc:
                return Failed("transform-result", str(exc))
        wanted: dict[str, AttributeValue | None] = dict.fromkeys(transform.remove)
        for old, new in self._pairs:
            was, there = view.wire(old), view.wire(new)
            if was is not None and there is not None and not same(was, there):
                return Failed("rename-conflict", f"both {old!r} and {new!r} are present and differ")
            if was is not None:
                wanted[new] = was
        wanted |= dict.fromkeys(transform.rename)
        for name, value in transform.set.items():
            if not isinstance(value, Template):
                wanted[name] = value
                continue
            found = [_read(reference, view) for reference in value.references]
            if None not in found:
                try:
                    wanted[name] = value.rendered(found)  # type: ignore[arg-type]
                except ValueError as exc:
                    return Failed("template-type", f"{name}: {exc}")
                continue
            absent = value.references[found.index(None)]
            if transform.missing == "remove":
                wanted[name] = None
            elif transform.missing == "skip":
                return Skipped(str(absent))
            else:
                return Failed(
                    "template-attribute-absent",
                    f"{name}: the template reads {absent}, which the item lacks "
                    "(missing='skip' leaves such items, missing='remove' removes the target)",
                )
        return wanted

    def _change(
        self, item: Item, wanted: Mapping[str, AttributeValue | None], view: ItemView, lookup: Lookup | None
    ) -> Change:
        guard = view.reads
        for name in wanted:
            guard[name] = item.get(name)
        sets = {name: value for name, value in wanted.items() if value is not None}
        version = self.transform.version
        if version is not None:
            guard[version] = item.get(version)
            sets[version] = _raised(item.get(version))
        checks: tuple[Check, ...] = ()
        if lookup is not None:
            checks = lookup.checks
            refuse_wide(checks)
        for name in self.key_names:
            guard.pop(name, None)
        removals = frozenset(name for name, value in wanted.items() if value is None)
        return Change(guard=guard, set=sets, remove=removals, checks=checks)

    def _second(self, changed: Item, lookup: Lookup | None) -> Failed | None:
        """Whether the step, applied to its own result, would change or fail it: what lookups found is the same."""
        view = ItemView(changed, may_read_whole=self.transform.version is not None)
        if not selects(self.transform.where, view):
            return None
        again = self._wanted(view, None if lookup is None else lookup.seen_from(view))
        if isinstance(again, Failed):
            # The second pass of the engine would meet this on every item that the first has changed.
            return Failed(
                "not-idempotent",
                f"applied to its own result the step fails ({again.message}): let `where` select only unchanged items",
            )
        if isinstance(again, Skipped):
            return None
        moved = sorted(name for name, value in again.items() if not same(changed.get(name), value))
        if not moved:
            return None
        return Failed(
            "not-idempotent",
            f"applied to its own result the step changes {', '.join(moved)} again: declare it once=True",
        )

    def _refusal(self, wanted: Mapping[str, AttributeValue | None]) -> Failed | None:
        for name, value in wanted.items():
            if name in self.key_names:
                return Failed("table-key", f"{name} is the table's key: a data step cannot change it")
            if value is not None:
                for index, (kind, role) in self.index_keys.get(name, {}).items():
                    problem = index_key_problem(value, kind, role)
                    if problem is not None:
                        return Failed(problem[0], f"{name}: {problem[1]}, and it is a key of index {index}")
        return None


def decide_deletion(where: Where, key_names: Sequence[str], item: Item) -> Decision:
    """Whether an item is to be deleted, and as guarded by what: the guard of the change, which sets nothing."""
    return judged(partial(_decide_deletion, where, key_names), item)


def _decide_deletion(where: Where, key_names: Sequence[str], item: Item) -> Decision:
    view = ItemView(item)
    if not selects(where, view):
        return NotSelected()
    # All that the journal keeps is guarded, so that what comes back is what went; of an item too wide for one guard,
    # what `where` read.
    whole, read = ({k: v for k, v in part.items() if k not in key_names} for part in (item, view.reads))
    if guard_is_too_large(Change(whole | read), key_names):
        return Decided(Change(read))
    return Decided(Change(whole | read))


def judged(decide: Callable[[Item], Decision], item: Item) -> Decision:
    """What `decide` says of an item. What the item is, or a function of the user's did on it, fails this item alone."""
    try:
        return decide(item)
    except (WholeItemRead, LookupTooWide, BadValue) as exc:
        return Failed(exc.code, exc.message + (f" ({exc.hint})" if exc.hint else ""))
    except MigratorError:
        raise
    except (Exception, *ENDING) as exc:  # noqa: BLE001 - a function of the user's, on one item: others go on
        return Failed("transform-error", place_of(exc))


def index_key_problem(
    value: AttributeValue, kind: KeyType, role: Literal["partition", "sort"]
) -> tuple[str, str] | None:
    """Why a value cannot be an index key: (code, reason), or None (facts §3)."""
    found = type_of(value)
    if found == "NULL":
        return "index-key-null", "NULL"
    if found != kind:
        return "index-key-type", f"type {found} where the index wants {kind}"
    if kind in ("S", "B") and not value[kind]:
        return "index-key-empty", "an empty value"
    limit = MAX_PARTITION_KEY_BYTES if role == "partition" else MAX_SORT_KEY_BYTES
    size = value_size(value)
    if size > limit:
        return "index-key-size", f"{size} bytes, over the {limit} of a {role} key"
    return None


def _read(reference: Reference, view: ItemView) -> AttributeValue | None:
    value = view.wire(reference.attribute)
    if value is None or not reference.path:
        return value
    return reference.find({reference.attribute: value})


def _raised(version: AttributeValue | None) -> AttributeValue:
    if version is None:
        return {"N": "1"}
    number = Decimal(version["N"]) if type_of(version) == "N" else None
    if number is None or number != int(number):
        raise BadValue("version-type", "the version attribute holds something else than a whole number")
    return from_python(int(number) + 1)
