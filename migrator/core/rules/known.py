"""Every rule id that lint may give, with one line each: operations' own, those over several operations, lint's own."""

from __future__ import annotations

from collections.abc import Mapping

from migrator.core.rules import RULES

OF_OPERATIONS: Mapping[str, str] = {
    "adopt": "What is to be made stands already, equal, and will be adopted.",
    "ambiguous-template": "A template of a rewritten key that can be read in two ways.",
    "attribute-type-conflict": "An attribute is a key with two types on one table.",
    "duplicate-key": "Two items to put have one key.",
    "expires-items": "TTL will delete every item whose time is past.",
    "index-differs": "An index of that name has another definition.",
    "index-key-empty": "An empty value as the key of an index.",
    "index-key-null": "NULL as the key of an index.",
    "index-key-size": "A key of an index that is too long.",
    "index-key-type": "A value of another type than a key of an index takes.",
    "index-name": "Not a name that an index can have.",
    "item-too-large": "An item to put has over 400 KB.",
    "key-by-function": "A new key is made by a function: nothing is proven of it from the file.",
    "key-may-collide": "Nothing proves that two items cannot come to one new key.",
    "key-attribute-name": "The name of a key attribute is empty or too long.",
    "key-empty": "An item to put has an empty key.",
    "key-missing": "An item to put lacks a key of the table.",
    "key-null": "An item to put has NULL as a key.",
    "key-size": "An item to put has a key that is too long.",
    "key-type": "An item to put has a key of another type than the table's.",
    "leaves-index": "Items lose a key of an index and leave it.",
    "no-key-attribute": "A new key names what is no key of the table, or leaves one out.",
    "no-partition-key": "An index without a partition key.",
    "no-sort-key": "The table has no sort key: no item has another beside it.",
    "no-way-back": "What is born on the new side of a rewrite has no old key.",
    "non-idempotent": "A template reads what its step writes, so that a second pass would change items again.",
    "protection-off": "The table may then be deleted by one call.",
    "recovery-off": "The table's earlier states are then gone.",
    "repeated-key-attribute": "An attribute is twice in one key.",
    "selection-not-proven": "Nothing proves that a new form is not selected once more.",
    "table-differs": "A table of that name has another key or other indexes.",
    "table-key": "The step would change a key of the table.",
    "throughput-missing": "A provisioned table needs units for this.",
    "too-many-indexes": "More indexes than a table may have.",
    "too-many-key-attributes": "More key attributes than an index may have.",
    "too-many-projected-attributes": "More projected attributes than an index, or a table's indexes, may list.",
    "twins-in-one-table": "Until contract readers would meet each item of a rewrite twice.",
    "ttl-type": "The attribute to expire by is a key of another type than number.",
    "unknown-index": "No such index at this revision.",
    "unknown-table": "The operation's table is not known at this revision.",
    "wrong-billing-mode": "Throughput that does not go with the table's billing mode.",
}
"""Of `lint()` in `migrator/operations`; what each means stands in docs/errors.md."""

UNKNOWN_SHAPE = "unknown-shape"
UNUSED_ALLOWANCE = "unused-allowance"
NO_REASON = "allowance-without-reason"

OF_LINT: Mapping[str, str] = {
    UNKNOWN_SHAPE: "No migration creates the table, so rules that need its shape were not applied.",
    UNUSED_ALLOWANCE: "A comment allows what nothing here finds.",
    NO_REASON: "A comment allows a rule and gives no reason.",
}

OVER_OPERATIONS: Mapping[str, str] = {rule.id: rule.summary for rule in RULES}

KNOWN: Mapping[str, str] = {**OF_OPERATIONS, **OVER_OPERATIONS, **OF_LINT}


def page(rule: str) -> str:
    """Where in docs/ the rule is explained."""
    if rule in OVER_OPERATIONS or rule in OF_LINT:
        return f"lint/rules.md#{rule}"
    return "errors.md#findings-exit-3"
