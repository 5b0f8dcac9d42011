"""Index keys, by type of entity."""

from migrator import Backfill, ItemView, Lookup

revision, down_revision = "20200702090000", "20200701090000"


def order_of(lookup: Lookup) -> ItemView:
    """The order stands in the same item collection as its items and its invoice; its sort key is the customer."""
    for beside in lookup.collection():
        if beside.get("EntityType") == "order":
            return beside
    raise LookupError("no order stands beside it")


def keys_of_order_item(item: ItemView, lookup: Lookup) -> dict[str, str]:
    """Found by product and by customer, both by the date of the order."""
    order = order_of(lookup)
    return {"GSI1-PK": item["SK"], "GSI1-SK": order["Date"], "GSI2-PK": order["SK"], "GSI2-SK": order["Date"]}


def keys_of_invoice(item: ItemView, lookup: Lookup) -> dict[str, str]:
    """Found by its own id, and by customer and its date."""
    return {
        "GSI1-PK": item["SK"],
        "GSI1-SK": item["SK"],
        "GSI2-PK": order_of(lookup)["SK"],
        "GSI2-SK": item["Date"],
    }


# The way back is a journal: other items hold these attributes already, so removing them would not tell whose they are.
operations = [
    Backfill(where={"EntityType": "warehouseItem"}, set={"GSI2-PK": "{SK}", "GSI2-SK": "{PK}"}, undo="journal"),
    Backfill(
        where={"EntityType": "shipment"},
        set={"GSI1-PK": "{SK}", "GSI1-SK": "{SK}", "GSI2-SK": "{SK}"},
        undo="journal",
    ),
    Backfill(where={"EntityType": "orderItem"}, transform=keys_of_order_item),
    Backfill(where={"EntityType": "invoice"}, transform=keys_of_invoice),
]
