"""The application's own questions in memory: the items that an index would hold, in its order, page by page."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, assert_never

from migrator.core.item import Item, Key, key_of, type_of
from migrator.core.patterns.question import Question, Term
from migrator.core.ports import Page
from migrator.core.schema import Index
from migrator.errors import ServiceError
from migrator.testing.hooks import Hook, Hooked
from migrator.testing.items import MemoryItems
from migrator.testing.rows import order_of

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class MemoryQueries(Hooked):
    """The Queries port over MemoryItems. Operation for hooks: `queries.ask`."""

    def __init__(
        self, items: MemoryItems, indexes: Callable[[str], Iterable[Index]], on_call: list[Hook] | None = None
    ):
        super().__init__(items.lock, on_call)
        self._items = items
        self._indexes = indexes

    def ask(self, question: Question, *, start: Key | None = None, limit: int | None = None) -> Page:
        return self.call("queries.ask", lambda: self._page(question, start, limit), table=question.table)

    def _page(self, question: Question, start: Key | None, limit: int | None) -> Page:
        table_key = self._items.key_names(question.table)
        sort, key = self._keys(question, table_key)
        found = [
            item
            for item in self._items.all(question.table)
            if all(name in item for name in key) and all(_holds(item, term) for term in question.key)
        ]
        found.sort(key=lambda item: [order_of(item[name]) for name in (*sort, *table_key)])
        if question.is_descending:
            found.reverse()
        names = tuple(dict.fromkeys((*table_key, *key)))
        if start is not None:
            places = [key_of(item, names) for item in found]
            if dict(start) in places:
                found = found[places.index(dict(start)) + 1 :]
        page = found if limit is None else found[:limit]
        following = key_of(page[-1], names) if limit is not None and len(page) == limit else None
        return Page([item for item in page if all(_holds(item, term) for term in question.filter)], following)

    def _keys(self, question: Question, table_key: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The sort key attributes, and all key attributes, of what is asked."""
        if not question.index:
            return tuple(table_key[1:]), tuple(table_key)
        for index in self._indexes(question.table):
            if index.name == question.index:
                return tuple(key.name for key in index.sort_key), tuple(key.name for key in index.keys)
        raise ServiceError("validation", f"The table does not have the specified index: {question.index}")


def _holds(item: Item, term: Term) -> bool:
    value = item.get(term.attribute)
    if value is None or any(type_of(value) != type_of(given) for given in term.values):
        return False
    own, *bounds = [order_of(one) for one in (value, *term.values)]
    match term.operator:
        case "begins_with":
            return bool(own.startswith(bounds[0]))
        case "between":
            return bool(bounds[0] <= own <= bounds[1])
        case "=" | "<" | "<=" | ">" | ">=":
            return _COMPARISONS[term.operator](own, bounds[0])
    assert_never(term.operator)
