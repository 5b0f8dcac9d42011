"""Update expressions: what SET, REMOVE, ADD and DELETE make of an item."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import TypeAlias

from migrator.core.item import AttributeValue, Item, canonical, number_text, type_of
from migrator.runtime.expressions.paths import BadPath, Path, with_value, without
from migrator.runtime.expressions.tokens import BadExpression, Words

Source: TypeAlias = Callable[[Item], AttributeValue]
_EXACT = Context(prec=38)


class NotApplicable(ValueError):
    """The update does not fit the item: the service would refuse it as ValidationException, with these words."""


@dataclass(frozen=True, slots=True)
class UpdateText:
    """An update expression that was read. `writes` and `reads` are top-level attributes."""

    sets: tuple[tuple[Path, Source], ...]
    removes: tuple[Path, ...]
    adds: tuple[tuple[Path, AttributeValue], ...]
    deletes: tuple[tuple[Path, AttributeValue], ...]
    reads: frozenset[str]

    @property
    def writes(self) -> frozenset[str]:
        paths = [path for path, _ in (*self.sets, *self.adds, *self.deletes)]
        return frozenset(path.top for path in (*paths, *self.removes))

    @property
    def needs(self) -> frozenset[str]:
        """The attributes on whose former value the outcome depends."""
        within = {path.top for path, _ in self.sets if path.steps} | {path.top for path in self.removes if path.steps}
        return self.reads | within | {path.top for path, _ in (*self.adds, *self.deletes)}

    @classmethod
    def parse(cls, text: str, names: Mapping[str, str], values: Mapping[str, AttributeValue]) -> UpdateText:
        """Raises BadExpression."""
        parser = _Parser(Words(text, names, values))
        parser.clauses()
        return cls(
            tuple(parser.sets),
            tuple(parser.removes),
            tuple(parser.adds),
            tuple(parser.deletes),
            frozenset(parser.reads),
        )

    def applied_to(self, item: Item) -> dict[str, AttributeValue]:
        """The item as it will be; {} of the key alone where it was absent. Raises NotApplicable."""
        try:
            return self._applied_to(item)
        except BadPath as exc:
            raise NotApplicable("The document path provided in the update expression is invalid for update") from exc

    def _applied_to(self, item: Item) -> dict[str, AttributeValue]:
        # Everything is read of the item as it was; positions in lists are removed before any is added.
        values = [(path, source(item)) for path, source in self.sets]
        made = without(item, self.removes)
        for path, value in values:
            made = with_value(made, path, value)
        for path, value in self.adds:
            made = with_value(made, path, _added(path.find(item), value))
        for path, value in self.deletes:
            before = path.find(item)
            if before is None:
                continue
            left = _without_members(before, value)
            made = without(made, [path]) if left is None else with_value(made, path, left)
        return made


class _Parser:
    def __init__(self, words: Words):
        self.words = words
        self.sets: list[tuple[Path, Source]] = []
        self.removes: list[Path] = []
        self.adds: list[tuple[Path, AttributeValue]] = []
        self.deletes: list[tuple[Path, AttributeValue]] = []
        self.reads: set[str] = set()

    def clauses(self) -> None:
        seen: set[str] = set()
        while self.words.next:
            clause = self.words.take().upper()
            if clause in seen or clause not in ("SET", "REMOVE", "ADD", "DELETE"):
                raise BadExpression(f"{clause} is no clause, or the second of its kind")
            seen.add(clause)
            self.action(clause)
            while self.words.skip(","):
                self.action(clause)

    def action(self, clause: str) -> None:
        path = self.words.path()
        match clause:
            case "SET":
                self.words.expect("=")
                self.sets.append((path, self.value()))
            case "REMOVE":
                self.removes.append(path)
            case "ADD":
                self.adds.append((path, self.words.value()))
            case _:
                self.deletes.append((path, self.words.value()))

    def value(self) -> Source:
        left = self.operand()
        if self.words.next not in ("+", "-"):
            return left
        sign = self.words.take()
        right = self.operand()
        return lambda item: _sum(left(item), sign, right(item))

    def operand(self) -> Source:
        if self.words.skip("("):
            inner = self.value()
            self.words.expect(")")
            return inner
        if self.words.next.startswith(":"):
            value = self.words.value()
            return lambda _: value
        if self.words.after_next == "(":
            return self.function()
        path = self.words.path()
        self.reads.add(path.top)
        return lambda item: _found(path, item)

    def function(self) -> Source:
        name = self.words.take().lower()
        self.words.expect("(")
        if name == "if_not_exists":
            path = self.words.path()
            self.reads.add(path.top)
            self.words.expect(",")
            default = self.value()
            self.words.expect(")")
            return lambda item: found if (found := path.find(item)) is not None else default(item)
        if name != "list_append":
            raise BadExpression(f"there is no function {name} in an update")
        first = self.value()
        self.words.expect(",")
        second = self.value()
        self.words.expect(")")
        return lambda item: _joined(first(item), second(item))


def _found(path: Path, item: Item) -> AttributeValue:
    value = path.find(item)
    if value is None:
        raise NotApplicable("The provided expression refers to an attribute that does not exist in the item")
    return value


def _mistyped(what: str) -> NotApplicable:
    return NotApplicable(f"An operand in the update expression has an incorrect data type: {what}")


def _sum(left: AttributeValue, sign: str, right: AttributeValue) -> AttributeValue:
    if "N" not in left or "N" not in right:
        raise _mistyped(sign)
    one, other = Decimal(left["N"]), Decimal(right["N"])
    total = _EXACT.add(one, other) if sign == "+" else _EXACT.subtract(one, other)
    return {"N": number_text(str(total))}


def _joined(first: AttributeValue, second: AttributeValue) -> AttributeValue:
    if "L" not in first or "L" not in second:
        raise _mistyped("list_append")
    return {"L": [*first["L"], *second["L"]]}


def _added(before: AttributeValue | None, value: AttributeValue) -> AttributeValue:
    kind = type_of(value)
    if kind == "N":
        return _sum({"N": "0"} if before is None else before, "+", value)
    if kind not in ("SS", "NS", "BS") or (before is not None and type_of(before) != kind):
        raise _mistyped("ADD")
    members = {canonical({kind[0]: entry}): entry for entry in value[kind]}
    members |= {canonical({kind[0]: entry}): entry for entry in (before or {kind: []})[kind]}
    return {kind: list(members.values())}


def _without_members(before: AttributeValue, value: AttributeValue) -> AttributeValue | None:
    """None where nothing is left: there are no empty sets."""
    kind = type_of(value)
    if kind not in ("SS", "NS", "BS") or type_of(before) != kind:
        raise _mistyped("DELETE")
    gone = {canonical({kind[0]: entry}) for entry in value[kind]}
    left = [entry for entry in before[kind] if canonical({kind[0]: entry}) not in gone]
    return {kind: left} if left else None
