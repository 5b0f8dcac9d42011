"""Conditions: of writes and of filters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias

from migrator.core.item import AttributeValue, Item, same, type_of
from migrator.runtime.expressions.tokens import BadExpression, Words

Operand: TypeAlias = Callable[[Item], AttributeValue | None]
Test: TypeAlias = Callable[[Item], bool]


@dataclass(frozen=True, slots=True)
class Condition:
    """`reads` are the attributes whose value the condition asks for, `asks` those that it asks for being there."""

    holds: Test
    reads: frozenset[str]
    asks: frozenset[str]

    @classmethod
    def parse(cls, text: str, names: Mapping[str, str], values: Mapping[str, AttributeValue]) -> Condition:
        """Raises BadExpression."""
        parser = _Parser(Words(text, names, values))
        test = parser.either()
        parser.words.end()
        return cls(test, frozenset(parser.reads), frozenset(parser.asks))


class _Parser:
    def __init__(self, words: Words):
        self.words = words
        self.reads: set[str] = set()
        self.asks: set[str] = set()

    def either(self) -> Test:
        tests = [self.both()]
        while self.words.skip("OR"):
            tests.append(self.both())
        return tests[0] if len(tests) == 1 else lambda item: any(test(item) for test in tests)

    def both(self) -> Test:
        tests = [self.single()]
        while self.words.skip("AND"):
            tests.append(self.single())
        return tests[0] if len(tests) == 1 else lambda item: all(test(item) for test in tests)

    def single(self) -> Test:
        if self.words.skip("NOT"):
            test = self.single()
            return lambda item: not test(item)
        if self.words.skip("("):
            test = self.either()
            self.words.expect(")")
            return test
        if self.words.after_next == "(" and self.words.next.lower() != "size":
            return self.function()
        return self.comparison(self.operand())

    def function(self) -> Test:
        name = self.words.take().lower()
        self.words.expect("(")
        if name in ("attribute_exists", "attribute_not_exists"):
            path = self.words.path()
            (self.reads if path.steps else self.asks).add(path.top)
            self.words.expect(")")
            wanted = name == "attribute_exists"
            return lambda item: (path.find(item) is not None) == wanted
        first = self.operand()
        self.words.expect(",")
        second = self.operand()
        self.words.expect(")")
        found = {"attribute_type": _is_of_type, "begins_with": _begins, "contains": _contains}.get(name)
        if found is None:
            raise BadExpression(f"there is no function {name}")
        return lambda item: found(first(item), second(item))

    def operand(self) -> Operand:
        if self.words.next.startswith(":"):
            value = self.words.value()
            return lambda _: value
        if self.words.next.lower() == "size" and self.words.after_next == "(":
            self.words.take()
            self.words.expect("(")
            inner = self.operand()
            self.words.expect(")")
            return lambda item: _size(inner(item))
        path = self.words.path()
        self.reads.add(path.top)
        return path.find

    def comparison(self, left: Operand) -> Test:
        if self.words.skip("BETWEEN"):
            low = self.operand()
            self.words.expect("AND")
            high = self.operand()
            return lambda item: _compares(left(item), ">=", low(item)) and _compares(left(item), "<=", high(item))
        if self.words.skip("IN"):
            self.words.expect("(")
            values = [self.operand()]
            while self.words.skip(","):
                values.append(self.operand())
            self.words.expect(")")
            return lambda item: any(_compares(left(item), "=", one(item)) for one in values)
        sign = self.words.take()
        if sign not in ("=", "<>", "<", "<=", ">", ">="):
            raise BadExpression(f"{sign!r} compares nothing")
        right = self.operand()
        return lambda item: _compares(left(item), sign, right(item))


def _compares(left: AttributeValue | None, sign: str, right: AttributeValue | None) -> bool:
    if sign == "<>":
        # What is absent is unequal to everything.
        return left is None or right is None or not same(left, right)
    if left is None or right is None:
        return False
    if sign == "=":
        return same(left, right)
    kind = type_of(left)
    if kind != type_of(right) or kind not in ("S", "N", "B"):
        return False
    one, other = _ordered(left), _ordered(right)
    return bool({"<": one < other, "<=": one <= other, ">": one > other, ">=": one >= other}[sign])


def _ordered(value: AttributeValue) -> Any:
    """Numbers by value, the rest by bytes."""
    ((kind, content),) = value.items()
    return Decimal(content) if kind == "N" else (content.encode() if kind == "S" else bytes(content))


def _size(value: AttributeValue | None) -> AttributeValue | None:
    if value is None:
        return None
    ((kind, content),) = value.items()
    if kind in ("N", "BOOL", "NULL"):
        return None
    return {"N": str(len(content))}


def _is_of_type(value: AttributeValue | None, kind: AttributeValue | None) -> bool:
    return value is not None and kind is not None and type_of(value) == kind.get("S")


def _begins(value: AttributeValue | None, prefix: AttributeValue | None) -> bool:
    if value is None or prefix is None or type_of(value) != type_of(prefix) or type_of(value) not in ("S", "B"):
        return False
    return bool(_ordered(value).startswith(_ordered(prefix)))


def _contains(value: AttributeValue | None, wanted: AttributeValue | None) -> bool:
    if value is None or wanted is None:
        return False
    ((kind, content),) = value.items()
    if kind in ("S", "B"):
        return type_of(wanted) == kind and _ordered(wanted) in _ordered(value)
    if kind in ("SS", "NS", "BS"):
        return any(same({kind[0]: entry}, wanted) for entry in content)
    return kind == "L" and any(same(entry, wanted) for entry in content)
