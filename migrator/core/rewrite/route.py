"""Which item belongs to which: one total function of an item, shared by copier, mirror, dual writer and verify."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from migrator.core.item import (
    MAX_ITEM_BYTES,
    AttributeValue,
    BadValue,
    Item,
    Key,
    from_python,
    item_size,
    key_of,
    key_text,
    same,
    same_item,
)
from migrator.core.rewrite.form import Fields, Form, Missing
from migrator.core.rewrite.images import Image, NoImage, Problem
from migrator.core.rewrite.phases import Side
from migrator.core.rewrite.values import called, key_problem, of_type, selected
from migrator.core.schema import KeyAttribute
from migrator.core.view import ItemView, WholeItemRead
from migrator.core.where import Where

__all__ = ["MARK", "PIN", "Image", "KeyFunction", "NoImage", "Problem", "Route"]

MARK = "__migrator_source__"
"""The attribute by which a twin names its source, where its key does not tell: stripped at contract."""

PIN = "__migrator_moving__"
"""The attribute by which a writer of the application that carries a whole item over notices that another has written
meanwhile. It is on no image, and no difference: whoever set it takes it off."""

KeyFunction: TypeAlias = Callable[[ItemView], Mapping[str, Any]]


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

    # --- from old to new ----------------------------------------------------------------------------------------------

    def twin_of(self, item: Item) -> Image | NoImage | Problem:
        """The new form of an old item. An item that maps to its own key has no twin: it is of the new form already.

        A Problem where the twin would not lead back to this very item, or would itself be taken for an old one.
        """
        made = self._made_of(item)
        return self._asserted(item, made) if isinstance(made, Image) else made

    def _made_of(self, item: Item, *, is_marked_old: bool = False) -> Image | NoImage | Problem:
        """The new form, whether or not it leads back."""
        view = ItemView(item)
        if self.is_within_one_table and not is_marked_old and self._marked(view) is not None:
            return NoImage(frozenset(view.reads))
        try:
            return self._forward(item, view)
        except Missing as exc:
            return Problem("template-attribute-absent", str(exc), frozenset(view.reads))
        except (WholeItemRead, BadValue) as exc:
            return Problem(exc.code, exc.message, frozenset(view.reads))

    def _forward(self, item: Item, view: ItemView) -> Image | NoImage | Problem:
        if not selected(self.where, view):
            return NoImage(frozenset(view.reads))
        fields = self.old.parse(view)
        if fields is None:
            return NoImage(frozenset(view.reads))
        made = self._new_key(fields, view)
        if isinstance(made, Problem):
            return made
        old_key = key_of(item, self.source_names)
        if self.is_within_one_table and same_item(made, old_key):
            return NoImage(frozenset(view.reads))
        further = self.set.render(fields, view)
        kept = {n: value for n, value in item.items() if n != PIN and (self.keep is None or n in self.keep)}
        if self.is_within_one_table:
            kept = {name: value for name, value in kept.items() if name not in self.source_names}
        for name in {*further, *made, *([self.mark] if self.mark else [])}:
            # Its absence is relied on: one that stood there would be lost.
            view.wire(name)
        twin = {**kept, **further, **made}
        if self.mark is not None:
            twin[self.mark] = {"M": {"table": {"S": self.source}, "key": {"M": dict(old_key)}}}
        return Image(twin, made, frozenset(view.reads))

    def _new_key(self, fields: Fields, view: ItemView) -> dict[str, AttributeValue] | Problem:
        made: dict[str, AttributeValue]
        if callable(self.key):
            given = called(self.key, view)
            if not isinstance(given, Mapping):
                return Problem("bad-key-function", "the function gives no mapping of key attribute to value")
            made = {name: from_python(value, name) for name, value in given.items()}
            if not made.keys() <= set(self.target_names):
                (name, *_) = sorted(made.keys() - set(self.target_names))
                return Problem("no-key-attribute", f"the function gives {name}, which is no key of {self.target}")
        else:
            made = self.key.render(fields, view)
        for one in self.target_key:
            value = made.get(one.name) or view.wire(one.name)
            if value is None:
                return Problem("key-attribute-absent", f"the item has no {one.name}, a key attribute of {self.target}")
            made[one.name] = value
        key = {name: made[name] for name in self.target_names}
        problem = key_problem(self.target_key, key, "new")
        return key if problem is None else Problem(*problem)

    def _asserted(self, item: Item, made: Image) -> Image | Problem:
        """What every twin must be: attributable to its source, with nothing of it lost, and no old item itself."""
        origin = self._origin_of(made.item)
        reads = made.reads | (origin.reads - {*self.target_names, *self.set.names, str(self.mark)})
        if not isinstance(origin, Image) or not same_item(origin.key, key_of(item, self.source_names)):
            whose = f"for that of {key_text(origin.key)}" if isinstance(origin, Image) else "for no twin at all"
            return Problem("source-not-derivable", f"its new form {key_text(made.key)} would be taken {whose}", reads)
        lost = [str(self.mark)] if self.mark in item else []
        lost += sorted(
            name
            for name in {*item, *origin.item} - {PIN}
            if (self.keep is None or name in self.keep or name in origin.item)
            and not same(origin.item.get(name), item.get(name))
        )
        if lost:
            message = f"the item has an attribute {lost[0]} of its own, which its new form would lose"
            return Problem("attribute-in-use", message, reads)
        if item_size(made.item) > MAX_ITEM_BYTES:
            return Problem("twin-too-large", f"its new form takes more than {MAX_ITEM_BYTES} bytes", reads)
        if self.is_within_one_table and not self.keeps_mark:
            bare = {name: value for name, value in made.item.items() if name != self.mark}
            again = self._made_of(bare)
            reads |= again.reads - {*self.target_names, *self.set.names, str(self.mark)}
            if not isinstance(again, NoImage):
                message = f"its new form {key_text(made.key)} would be taken for an old item and moved again"
                return Problem("twin-is-selected", message, reads)
        return Image(made.item, made.key, reads)

    # --- from new to old ----------------------------------------------------------------------------------------------

    def source_of(self, item: Item) -> Image | NoImage | Problem:
        """The old form of a new item; NoImage where it is none of this route's, or where no old key can be derived.

        A Problem where the old table would not take it, or where its new form would be another than this item.
        """
        origin = self._attributed(item)
        if not isinstance(origin, Image):
            return origin
        problem = key_problem(self.source_key, origin.key, "old")
        if problem is None and item_size(origin.item) > MAX_ITEM_BYTES:
            problem = ("twin-too-large", f"its old form takes more than {MAX_ITEM_BYTES} bytes")
        if problem is not None:
            return Problem(*problem, origin.reads)
        if self.keep is not None and self._marked(ItemView(item)) is not None:
            # What its key was made of may not be kept: the mark's word is taken.
            return origin
        back = self.twin_of(origin.item)
        reads = origin.reads | back.reads
        if isinstance(back, Problem):
            return Problem(back.code, back.message, reads)
        key = key_of(item, self.target_names)
        if not isinstance(back, Image) or not same_item(back.key, key):
            message = f"its key {key_text(key)} is not the one that its attributes give"
            return Problem("key-contradicts", message, reads)
        return Image(origin.item, origin.key, reads)

    def attributed(self, side: Side, item: Item) -> Image | NoImage | Problem:
        """Whose twin an item that stands on `side` is, whatever else may be wrong with it: only `key` counts."""
        return self._made_of(item) if side == "old" else self._attributed(item)

    def _attributed(self, item: Item) -> Image | NoImage:
        reads: frozenset[str] = frozenset()
        if self.is_within_one_table and self._marked(ItemView(item)) is None:
            # An item that is selected, and would move, is an old one, whatever its key looks like.
            selected_too = self._made_of(item)
            reads = selected_too.reads
            if not isinstance(selected_too, NoImage):
                return NoImage(reads)
        origin = self._origin_of(item)
        if isinstance(origin, Image):
            return Image(origin.item, origin.key, origin.reads | reads)
        return NoImage(origin.reads | reads)

    def _origin_of(self, item: Item) -> Image | NoImage:
        """The old item that a new one was made from: named by its mark, or one that leads to this very key."""
        view = ItemView(item)
        fields = self._new_fields(view)
        reads: frozenset[str] = frozenset()
        marked = self._marked(view)
        if marked is None and self.mark is not None:
            # A route has a mark because a key does not tell: nor does it where the mark names another source.
            return NoImage(frozenset(view.reads))
        for old_key in self._old_keys(fields, view) if marked is None else [marked]:
            old = self._restored(item, view, fields or {}, old_key)
            if old is None:
                continue
            if marked is not None:
                return Image(old, old_key, frozenset(view.reads))
            there = self._made_of(old, is_marked_old=True)
            reads |= there.reads
            if isinstance(there, Image) and same_item(there.key, key_of(item, self.target_names)):
                return Image(old, old_key, frozenset(view.reads) | reads)
        return NoImage(frozenset(view.reads) | reads)

    def _new_fields(self, view: ItemView) -> Fields | None:
        """What key and further attributes were rendered from; None for a key that is not of the new form."""
        if callable(self.key):
            return dict(self.set.parse(view) or {})
        fields = self.key.parse(view)
        return None if fields is None else {**(self.set.parse(view) or {}), **fields}

    def _restored(self, item: Item, view: ItemView, fields: Fields, old_key: Key) -> Item | None:
        lost = {PIN, *self.set.names, *([self.mark] if self.mark else [])}
        lost |= {name for name in self.target_names if self.is_within_one_table or not self.stays(name)}
        try:
            restored = self.old.render(fields, view, self.old.names - set(self.source_names))
        except Missing:
            return None
        return {**{name: value for name, value in item.items() if name not in lost}, **restored, **old_key}

    def _marked(self, view: ItemView) -> Key | None:
        value = None if self.mark is None else view.wire(self.mark)
        content = {} if value is None else value.get("M") or {}
        table, key = content.get("table", {}).get("S"), content.get("key", {}).get("M")
        if table != self.source or key is None or set(key) != set(self.source_names):
            return None
        return {name: key[name] for name in self.source_names}

    def _old_keys(self, fields: Fields | None, view: ItemView) -> Iterator[Key]:
        """Old keys that may have led here: what the new key says is asked before what attributes say."""
        if fields is None:
            return
        given: list[Key] = []
        for by_fields in (True, False):
            found = self._old_key(fields, view, by_fields=by_fields)
            if found is not None and found not in given:
                given.append(found)
                yield found

    def _old_key(self, fields: Fields, view: ItemView, *, by_fields: bool) -> Key | None:
        try:
            found = self.old.render(fields if by_fields else {}, view, self.source_names)
        except Missing:
            return None
        for one in self.source_key:
            if one.name in found:
                continue
            parsed = fields.get(one.name) if self._is_parsed(one.name) else None
            kept = view.wire(one.name) if self.stays(one.name) else None
            value = (of_type(parsed, one.type) or kept) if by_fields else (kept or of_type(parsed, one.type))
            if value is None:
                return None
            found[one.name] = value
        return {name: found[name] for name in self.source_names}

    # --- what can be known without an item ----------------------------------------------------------------------------

    def _is_parsed(self, name: str) -> bool:
        """Whether the new key tells this attribute of the old key."""
        return isinstance(self.key, Form) and name in self.key.fields and name not in self.old.fields

    def stays(self, name: str) -> bool:
        """Whether the twin has this attribute as the old item had it."""
        if name in self.target_names:
            if not isinstance(self.key, Form) or name in self.old.fields:
                return False
            return name not in self.key.names or self.key.templates[name].source == f"{{{name}}}"
        return name not in self.set.names and (self.keep is None or name in self.keep)

    def is_derivable(self, name: str) -> bool:
        """Whether a new item tells this attribute of an old key."""
        if name not in self.old.names:
            return self._is_parsed(name) or self.stays(name)
        told = self.set.fields | (self.key.fields if isinstance(self.key, Form) else frozenset())
        references = self.old.templates[name].references
        return all(str(one) in told or self.stays(one.attribute) for one in references)

    @property
    def has_way_back(self) -> bool:
        """Whether an old key can be derived for an item that was born on the new side."""
        return self.mark is None and all(self.is_derivable(name) for name in self.source_names)

    @property
    def decisive(self) -> frozenset[str] | None:
        """Attributes of an old item, beside its key, whose change may move its twin or change what is rewritten in it.

        None where functions decide: then any may.
        """
        if callable(self.where) or callable(self.key):
            return None
        used = {
            one.attribute for form in (self.key, self.set) for one in form.references if str(one) not in self.old.fields
        }
        if self.mark is None:
            # Of these the twin's source is derived.
            told = self.key.fields | self.set.fields
            used |= {one.attribute for one in self.old.references if str(one) not in told}
        made = {*self.key.names, *self.set.names, *self.old.names, *([self.mark] if self.mark else [])}
        return frozenset({*self.where, *used, *made, *self.target_names} - set(self.source_names))

    @property
    def is_static(self) -> bool:
        """Whether key and selection depend on the old key alone: then no change of an item moves its twin."""
        if callable(self.where) or callable(self.key):
            return False
        names = set(self.source_names)
        used = {one.attribute for one in self.key.references if str(one) not in self.old.fields}
        if self.mark is None:
            told = self.key.fields | self.set.fields
            used |= {one.attribute for one in self.old.references if str(one) not in told}
        return {*self.where, *self.old.names, *used} <= names and {*self.target_names} <= names | self.key.names

    # --- both ways ----------------------------------------------------------------------------------------------------

    def image_of(self, side: Side, item: Item) -> Image | NoImage | Problem:
        """What an item of `side` is on the other side."""
        return self.twin_of(item) if side == "old" else self.source_of(item)

    def side_of(self, alias: str, item: Item) -> Side | None:
        """The side that an item of a table is on; None where it is none of this route's business."""
        if alias == self.source and not isinstance(self._made_of(item), NoImage):
            return "old"
        if alias != self.target:
            return None
        if not isinstance(self._attributed(item), NoImage) or (alias == self.source and self._is_born_new(item)):
            return "new"
        return None

    def _is_born_new(self, item: Item) -> bool:
        """Selected, and at the very key that its attributes give: made on the new side, with no old form."""
        view = ItemView(item)
        try:
            fields = self.old.parse(view) if selected(self.where, view) else None
            made = None if fields is None else self._new_key(fields, view)
        except (Missing, WholeItemRead, BadValue):
            return False
        return not isinstance(made, Problem | None) and same_item(made, key_of(item, self.target_names))

    def decides(self, side: Side, name: str) -> bool:
        """Whether an attribute of a twin on `side` follows its authority. What is not kept stays as it is on the old
        side; a mark or a pin is not the application's, and says nothing about the authority."""
        if side == "new" or name == PIN:
            return name not in (self.mark, PIN)
        return self.keep is None or name in self.keep or name in self.old.names

    def describe(self, side: Side, key: Key) -> str:
        return f"{self.table(side)} {key_text(key)}"
