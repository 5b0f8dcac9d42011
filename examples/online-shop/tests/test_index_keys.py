"""The functions of 20200702090000 on single items: no sandbox, no table."""

import pytest

from migrator.testing import decide

ORDER = {"PK": "o#1", "SK": "c#7", "EntityType": "order", "Date": "2020-06-21T19:10:00"}
ORDER_ITEM = {"PK": "o#1", "SK": "p#5", "EntityType": "orderItem", "Quantity": 2}
KEYS = {
    "GSI1-PK": "p#5",
    "GSI1-SK": "2020-06-21T19:10:00",
    "GSI2-PK": "c#7",
    "GSI2-SK": "2020-06-21T19:10:00",
}


@pytest.fixture
def order_items(migrator_graph):
    """The operation that gives order items their keys."""
    return migrator_graph["20200702090000"].operations[2]


@pytest.fixture
def indexes(migrator_graph):
    return migrator_graph["20200703090000"].operations


def test_an_order_item_gets_its_keys_from_the_order_beside_it(order_items, indexes):
    decision = decide(order_items, ORDER_ITEM, beside=[ORDER], indexes=indexes)
    assert decision.set == KEYS
    assert decision.looked_up == ('PK="o#1" SK="c#7"',)


def test_an_order_item_that_has_its_keys_is_left_alone(order_items):
    assert decide(order_items, {**ORDER_ITEM, **KEYS}, beside=[ORDER]).outcome == "unchanged"


def test_an_order_item_without_its_order_is_a_failed_item_and_not_a_guess(order_items):
    decision = decide(order_items, ORDER_ITEM)
    assert (decision.outcome, decision.code) == ("failed", "transform-error")
    assert "LookupError in order_of(), line" in decision.reason


def test_an_order_is_not_selected(order_items):
    assert decide(order_items, ORDER).outcome == "not-selected"
