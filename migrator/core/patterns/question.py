"""A read as the service takes it: a Get or a Query with every value filled in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from migrator.core.item import AttributeValue

Operator: TypeAlias = Literal["=", "<", "<=", ">", ">=", "between", "begins_with"]
OPERATORS: tuple[Operator, ...] = get_args(Operator)


@dataclass(frozen=True, slots=True)
class Term:
    """One comparison: `values` are two for "between", else one."""

    attribute: str
    operator: Operator
    values: tuple[AttributeValue, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """A Query of a table or of one of its indexes. `table` is a physical name."""

    table: str
    key: tuple[Term, ...]
    index: str = ""
    filter: tuple[Term, ...] = ()
    is_descending: bool = False
    is_consistent: bool = False
