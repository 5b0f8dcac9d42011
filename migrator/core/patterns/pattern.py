"""An access pattern as a file declares it: what the caller holds, where it asks, and what comes back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, assert_never

from migrator.core.item import AttributeValue, Item, type_of
from migrator.core.patterns.question import Operator, Question, Term
from migrator.core.template import Template

Operand: TypeAlias = Template | AttributeValue
"""A value, or a text with fields for what the caller holds."""
Answer: TypeAlias = str | Item
"""An item of an answer: as its text, or as some of its attributes."""


@dataclass(frozen=True, slots=True)
class Condition:
    """One comparison of a key condition or a filter; `operands` are two for "between", else one."""

    attribute: str
    operator: Operator
    operands: tuple[Operand, ...]

    def __str__(self) -> str:
        shown = [_shown(operand) for operand in self.operands]
        match self.operator:
            case "begins_with":
                return f"begins_with({self.attribute}, {shown[0]})"
            case "between":
                return f"{self.attribute} between {shown[0]} and {shown[1]}"
            case "=" | "<" | "<=" | ">" | ">=":
                return f"{self.attribute} {self.operator} {shown[0]}"
        assert_never(self.operator)

    def filled(self, given: Item) -> Term:
        """With what the caller holds. Raises ValueError where it holds too little."""
        return Term(self.attribute, self.operator, tuple(_filled(operand, given) for operand in self.operands))


@dataclass(frozen=True, slots=True)
class Cardinality:
    """How many items an answer has; `most` None is any number."""

    least: int = 0
    most: int | None = None

    def __contains__(self, count: int) -> bool:
        return self.least <= count and (self.most is None or count <= self.most)

    def __str__(self) -> str:
        if self.least == self.most:
            return str(self.least)
        return f"{self.least}..{'' if self.most is None else self.most}"


@dataclass(frozen=True, slots=True)
class Example:
    """What a caller holds once, and what it must get: `answer` in order, and none of `absent`."""

    given: Item
    answer: tuple[Answer, ...] | None = None
    """None: only how many there are is known."""
    absent: tuple[Answer, ...] = ()


@dataclass(frozen=True, slots=True)
class AccessPattern:
    """One question of the application."""

    name: str
    question: str = ""
    table: str = ""
    """Alias; "" is the project's default table."""
    index: str = ""
    """"" is the table itself."""
    operation: Literal["", "get", "query", "scan"] = ""
    """"": a Get where the conditions are the table's whole key, else a Query."""
    holds: tuple[str, ...] = ()
    key: tuple[Condition, ...] = ()
    filter: tuple[Condition, ...] = ()
    order: Literal["", "ascending", "descending"] = ""
    limit: int | None = None
    expect: Cardinality = Cardinality()
    returns: tuple[str, ...] = ()
    """Attributes that the caller needs of each item; none: whatever comes."""
    is_consistent: bool = False
    since: str = ""
    """The revision from which on it must be served; "": from the first one that serves it."""
    until: str = ""
    """The revision that retires it."""
    show: Template | None = None
    """An item of an answer as text."""
    examples: tuple[Example, ...] = ()
    line: int = 1
    """Where it stands in its file."""

    @property
    def place(self) -> str:
        """`index Relationships` or `the table`."""
        return f"index {self.index}" if self.index else "the table"

    @property
    def operands(self) -> Iterator[Operand]:
        return (operand for condition in (*self.key, *self.filter) for operand in condition.operands)

    def asked(self, given: Item, table: str) -> Question:
        """The Query of the physical `table` for what a caller holds."""
        return Question(
            table,
            tuple(condition.filled(given) for condition in self.key),
            self.index,
            tuple(condition.filled(given) for condition in self.filter),
            self.order == "descending",
            self.is_consistent,
        )

    def type_of(self, operand: Operand) -> str | None:
        """The type that the operand has; None where only the caller knows it."""
        if not isinstance(operand, Template):
            return type_of(operand)
        if len(operand.parts) > 1:
            return "S"
        name = operand.references[0]
        known: set[str] = {type_of(value) for one in self.examples if (value := name.find(one.given)) is not None}
        return known.pop() if len(known) == 1 else None


def by_key(terms: tuple[Term, ...]) -> Mapping[str, AttributeValue]:
    """The key that equalities name."""
    return {term.attribute: term.values[0] for term in terms}


def _filled(operand: Operand, given: Item) -> AttributeValue:
    return operand.render(given) if isinstance(operand, Template) else operand


def _shown(operand: Operand) -> str:
    if isinstance(operand, Template):
        return f'"{operand.source}"'
    ((kind, content),) = operand.items()
    return f'"{content}"' if kind == "S" else str(content)
