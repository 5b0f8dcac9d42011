"""Items that an index cannot take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from migrator.runner.results.base import Result, Where


@dataclass(frozen=True, slots=True)
class KeyProblem:
    """Why one key attribute of an item keeps it out of an index."""

    attribute: str
    code: str
    """index-key-null | index-key-type | index-key-empty | index-key-size."""
    reason: str


@dataclass(frozen=True, slots=True)
class Violator:
    key: Mapping[str, Any]
    """DynamoDB JSON."""
    problems: tuple[KeyProblem, ...]


@dataclass(frozen=True, slots=True)
class IndexKey:
    attribute: str
    type: Literal["S", "N", "B"]
    role: Literal["partition", "sort"]


@dataclass(frozen=True, slots=True)
class ProblemCount:
    attribute: str
    code: str
    items: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ViolationsResult(Result):
    """`state`: clean | violators. Exit 3 for violators."""

    where: Where
    index: str
    alias: str
    table: str
    """Physical."""
    table_key: tuple[str, ...]
    keys: tuple[IndexKey, ...]
    revision: str
    """The one that declares the index, or "" for one that is only live."""
    is_pending: bool
    """Whether that revision is still to be applied."""
    scanned: int
    indexable: int
    """Items that are, or would be, in the index."""
    sparse: int
    """Items that lack a key attribute and so stay out; that is no violation."""
    violating: int
    read_units: float
    problems: tuple[ProblemCount, ...]
    """By attribute and code; an item with two problems counts in both."""
    violators: tuple[Violator, ...]
    """The first of them."""
    listed_in: str = ""
    """The file that lists all of them."""
    generated: str = ""
    """The migration file that repairs them."""
