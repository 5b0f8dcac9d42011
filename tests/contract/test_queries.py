"""What the Queries port promises, whatever engine is behind it."""

from __future__ import annotations

from decimal import Decimal

import pytest

from migrator.core.item import Item
from migrator.core.patterns.question import Operator, Question, Term
from migrator.core.schema import Index, KeyAttribute, N, Table, key_attributes
from migrator.errors import MigratorError
from tests.contract.adapters import Adapter

SHAPE = Table(
    "app",
    KeyAttribute("PK"),
    KeyAttribute("SK", "N"),
    {"ByName": Index("ByName", key_attributes("team"), key_attributes([N("rank")]))},
)
TEAMS = [("a", 1, "red", 30), ("a", 2, "red", 4), ("b", 1, "red", None), ("a", 10, "blue", 1), ("c", 3, "red", 12)]


@pytest.fixture
def table(adapter: Adapter) -> str:
    name = adapter.make(SHAPE)
    for partition, number, team, rank in TEAMS:
        item: dict[str, dict[str, str]] = {"PK": {"S": partition}, "SK": {"N": str(number)}, "team": {"S": team}}
        adapter.put(name, item if rank is None else {**item, "rank": {"N": str(rank)}})
    return name


def term(attribute: str, operator: Operator, *values: str | int) -> Term:
    return Term(attribute, operator, tuple({"N" if isinstance(one, int) else "S": str(one)} for one in values))


def sorts(items: object, name: str = "SK") -> list[Decimal]:
    return [Decimal(item[name]["N"]) for item in items]  # type: ignore[attr-defined]


def test_a_partition_comes_in_order_of_numbers_either_way(adapter: Adapter, table: str) -> None:
    key = (term("PK", "=", "a"),)
    assert sorts(adapter.queries.ask(Question(table, key, is_consistent=True)).items) == [1, 2, 10]
    assert sorts(adapter.queries.ask(Question(table, key, is_descending=True)).items) == [10, 2, 1]


@pytest.mark.parametrize(
    ("operator", "values", "found"),
    [
        ("=", (2,), [2]), ("<", (2,), [1]), ("<=", (2,), [1, 2]), (">", (2,), [10]), (">=", (2,), [2, 10]),
        ("between", (2, 10), [2, 10]),
    ],
)  # fmt: skip
def test_each_comparison_of_a_sort_key(
    adapter: Adapter, table: str, operator: Operator, values: tuple[int, ...], found: list[int]
) -> None:
    key = (term("PK", "=", "a"), term("SK", operator, *values))
    assert sorts(adapter.queries.ask(Question(table, key)).items) == found


def test_an_index_holds_only_items_with_its_whole_key_in_its_order(adapter: Adapter, table: str) -> None:
    question = Question(table, (term("team", "=", "red"),), "ByName")
    assert sorts(adapter.queries.ask(question).items, "rank") == [4, 12, 30]


def test_pages_go_on_from_each_other_and_end(adapter: Adapter, table: str) -> None:
    question = Question(table, (term("team", "=", "red"),), "ByName")
    found: list[Item] = []
    start = None
    for _ in range(5):
        page = adapter.queries.ask(question, start=start, limit=1)
        assert len(page.items) <= 1
        found += page.items
        start = page.next
        if start is None:
            break
    assert start is None
    assert sorts(found, "rank") == [4, 12, 30]


def test_a_filter_drops_what_was_read(adapter: Adapter, table: str) -> None:
    key, kept = (term("PK", "=", "a"),), (term("team", "begins_with", "bl"),)
    assert sorts(adapter.queries.ask(Question(table, key, filter=kept)).items) == [10]
    page = adapter.queries.ask(Question(table, key, filter=kept), limit=1)
    assert (list(page.items), page.next is None) == ([], False)


def test_an_index_that_is_not_there_is_an_error(adapter: Adapter, table: str) -> None:
    with pytest.raises(MigratorError):
        adapter.queries.ask(Question(table, (term("PK", "=", "a"),), "None"))
