"""Which item belongs to which: one total function of an item, shared by copier, mirror, dual writer and verify."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from migrator.core.item import AttributeValue, Item, Key, from_python, key_of, key_text, same_item
from migrator.core.rewrite.form import Form, Missing
from migrator.core.rewrite.phases import Side
from migrator.core.schema import KeyAttribute
from migrator.core.transform import index_key_problem
from migrator.core.view import ItemView
from migrator.core.where import Where, selects

MARK = "__migrator_source__"
"""The attribute by which a twin names its source, where its key does not tell: stripped at contract."""

_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?(E[-+]?[0-9]+)?")
_OF_KEYS = {
    "index-key-null": "new-key-null",
    "index-key-type": "new-key-type",
    "index-key-empty": "new-key-empty",
    "index-key-size": "new-key-size",
}

KeyFunction: TypeAlias = Callable[[ItemView], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Image:
    """What an item of one side is on the other."""

    item: Item
    key: Key
    reads: frozenset[str]
    """Attributes of the given item that say whether it has an image, where that is, and what is rewritten in it."""


@dataclass(frozen=True, slots=True)
class NoImage:
    """The item has none: it is not selected, or not made by this route. `reads` as in Image."""

    reads: frozenset[str]


@dataclass(frozen=True, slots=True)
class Problem:
    """The item is selected, and yet its image cannot be made."""

    code: str
    message: str
    reads: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Route:
    """How the items of one source table, that `where` selects, lie in the target.

    `key` gives the new key attributes (those it does not name stay as they are). `old` gives the form of attributes on
    the old side: it is parsed for fields that `key` and `set` use, and rendered on the way back. `set` gives further
    attributes that the new side has; one that the old side has in another form is in `old` too. `keep` names the
    attributes that the twin has, None for all. Tables are named by alias.
    """

    source: str
    target: str
    source_key: tuple[KeyAttribute, ...]
    target_key: tuple[KeyAttribute, ...]
    where: Where = field(default_factory=dict)
    key: Form | KeyFunction = field(default_factory=Form)
    old: Form = field(default_factory=Form)
    set: Form = field(default_factory=Form)
    keep: tuple[str, ...] | None = None
    mark: str | None = None
    """The attribute of the twin that names its source, or None where the key and what is kept tell."""
    keeps_mark: bool = False
    """Whether `mark` is the application's own and stays."""

    @property
    def source_names(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.source_key)

    @property
    def target_names(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.target_key)

    def names(self, side: Side) -> tuple[str, ...]:
        """The key attributes of a side's table."""
        return self.source_names if side == "old" else self.target_names

    def table(self, side: Side) -> str:
        """The alias of a side's table."""
        return self.source if side == "old" else self.target

    @property
    def is_within_one_table(self) -> bool:
        return self.source == self.target

    @property
    def is_static(self) -> bool:
        """Whether key and selection depend on the old key alone: then no change of an item moves its twin."""
        if callable(self.where) or callable(self.key):
            return False
        names = set(self.source_names)
        parsed = self.old.fields if self.old.names <= names else frozenset[str]()
        used = {one.attribute for form in (self.key,) for t in form.templates.values() for one in t.references}
        return set(self.where) <= names and self.old.names <= names | self.set.names and used - parsed <= names

    # --- from old to new ----------------------------------------------------------------------------------------------

    def twin_of(self, item: Item) -> Image | NoImage | Problem:
        """The new form of an old item. An item that maps to its own key has no twin: it is of the new form already."""
        view = ItemView(item)
        try:
            return self._twin_of(item, view)
        except Missing as exc:
            return Problem("template-attribute-absent", str(exc), frozenset(view.reads))

    def _twin_of(self, item: Item, view: ItemView) -> Image | NoImage | Problem:
        if not selects(self.where, view):
            return NoImage(frozenset(view.reads))
        fields = self.old.parse(view)
        if fields is None:
            return NoImage(frozenset(view.reads))
        made = self._new_key(fields, view)
        if isinstance(made, Problem):
            return made
        further = self.set.render(fields, view)
        old_key = key_of(item, self.source_names)
        if self.is_within_one_table and same_item(made, old_key):
            return NoImage(frozenset(view.reads))
        for name in sorted({*made, *further, *([self.mark] if self.mark else [])} - set(self.source_names)):
            if name in item and name not in self.old.names:
                return Problem("attribute-in-use", f"the item has an attribute {name} of its own, which would be lost")
        kept = {name: value for name, value in item.items() if self.keep is None or name in self.keep}
        if self.is_within_one_table:
            kept = {name: value for name, value in kept.items() if name not in self.source_names}
        twin = {**kept, **further, **made}
        if self.mark is not None:
            twin[self.mark] = {"M": {"table": {"S": self.source}, "key": {"M": dict(old_key)}}}
        return Image(twin, made, frozenset(view.reads))

    def _new_key(self, fields: Mapping[str, AttributeValue], view: ItemView) -> dict[str, AttributeValue] | Problem:
        if callable(self.key):
            made = {name: from_python(value, name) for name, value in self.key(view).items()}
        else:
            made = self.key.render(fields, view)
        for position, one in enumerate(self.target_key):
            value = made.get(one.name) or view.wire(one.name)
            if value is None:
                return Problem("key-attribute-absent", f"the item has no {one.name}, a key attribute of {self.target}")
            problem = index_key_problem(value, one.type, "sort" if position else "partition")
            if problem is not None:
                return Problem(_OF_KEYS[problem[0]], f"{one.name}: {problem[1]}")
            made[one.name] = value
        return {name: made[name] for name in self.target_names}

    # --- from new to old ----------------------------------------------------------------------------------------------

    def source_of(self, item: Item) -> Image | NoImage | Problem:
        """The old form of a new item; NoImage where it is none of this route's, or where no old key can be derived."""
        view = ItemView(item)
        try:
            old = self._source_of(item, view)
        except Missing:
            old = None
        if old is None:
            return NoImage(frozenset(view.reads))
        # What it was made from must lead here: else it is an item of another kind, or one that has moved on.
        there = self.twin_of(old)
        key = key_of(item, self.target_names)
        reads = frozenset(view.reads) | there.reads
        if isinstance(there, Problem):
            return Problem(there.code, there.message, reads)
        if isinstance(there, NoImage) or not same_item(there.key, key):
            return NoImage(reads)
        return Image(old, key_of(old, self.source_names), reads)

    def _source_of(self, item: Item, view: ItemView) -> Item | None:
        fields = self.key.parse(view) if isinstance(self.key, Form) else {}
        if fields is None:
            return None
        old_key = self._marked(view) or self._old_key(fields, view)
        if old_key is None:
            return None
        lost = {*self.set.names, *([self.mark] if self.mark else [])}
        lost |= set(self.target_names)
        restored = self.old.render(fields, view, self.old.names - set(self.source_names))
        return {**{name: value for name, value in item.items() if name not in lost}, **restored, **old_key}

    def _marked(self, view: ItemView) -> Key | None:
        value = None if self.mark is None else view.wire(self.mark)
        content = {} if value is None else value.get("M") or {}
        table, key = content.get("table", {}).get("S"), content.get("key", {}).get("M")
        if table != self.source or key is None or set(key) != set(self.source_names):
            return None
        return {name: key[name] for name in self.source_names}

    def _old_key(self, fields: Mapping[str, AttributeValue], view: ItemView) -> Key | None:
        found = self.old.render(fields, view, self.source_names)
        for name in self.source_names:
            if name in found:
                continue
            if name in fields:
                found[name] = _as(self.source_key[self.source_names.index(name)], fields[name])
            elif self._stays(name) and (value := view.wire(name)) is not None:
                found[name] = value
            else:
                return None
        return {name: found[name] for name in self.source_names}

    def _stays(self, name: str) -> bool:
        """Whether the twin has the old key's attribute as it was."""
        if name in self.target_names:
            return isinstance(self.key, Form) and (
                name not in self.key.names or self.key.templates[name].source == f"{{{name}}}"
            )
        return self.keep is None or name in self.keep

    @property
    def has_way_back(self) -> bool:
        """Whether an old key can be derived for an item that was born on the new side."""
        derived = self.old.names
        fields = self.key.fields if isinstance(self.key, Form) else frozenset[str]()
        return all(name in derived or self._stays(name) or name in fields for name in self.source_names)

    # --- both ways ----------------------------------------------------------------------------------------------------

    def image_of(self, side: Side, item: Item) -> Image | NoImage | Problem:
        """What an item of `side` is on the other side."""
        return self.twin_of(item) if side == "old" else self.source_of(item)

    def side_of(self, alias: str, item: Item) -> Side | None:
        """The side that an item of a table is on; None where it is none of this route's business."""
        if alias == self.target and not isinstance(self.source_of(item), NoImage):
            return "new"
        if alias != self.source:
            return None
        found = self.twin_of(item)
        if isinstance(found, NoImage):
            return "new" if alias == self.target and self._is_born_new(item) else None
        return "old"

    def _is_born_new(self, item: Item) -> bool:
        """Selected, and at the very key that its attributes give: made on the new side, with no old form."""
        view = ItemView(item)
        try:
            fields = self.old.parse(view) if selects(self.where, view) else None
            made = None if fields is None else self._new_key(fields, view)
        except Missing:
            return False
        return not isinstance(made, Problem | None) and same_item(made, key_of(item, self.target_names))

    def describe(self, side: Side, key: Key) -> str:
        return f"{self.table(side)} {key_text(key)}"


def _as(attribute: KeyAttribute, value: AttributeValue) -> AttributeValue:
    """A parsed field as the key attribute that it was: text that a number was rendered to is that number again."""
    if attribute.type == "N" and "S" in value:
        return {"N": value["S"]} if _NUMBER.fullmatch(value["S"]) else value
    return value
