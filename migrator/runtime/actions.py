"""Actions of a transaction: the application's own expressions, joined with guards of ours."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from migrator.core.expression import MAX_EXPRESSION_BYTES, MAX_OPERATORS
from migrator.core.item import AttributeValue, Item, same
from migrator.core.rewrite.reconcile import Place
from migrator.core.rewrite.route import PIN
from migrator.runtime.calls import Call
from migrator.runtime.errors import NotExpressible


@dataclass(slots=True)
class Body:
    """One action under construction. Placeholders of ours are apart from any of the application's."""

    place: Place
    kind: str
    members: dict[str, Any] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    values: dict[str, AttributeValue] = field(default_factory=dict)
    terms: list[str] = field(default_factory=list)
    call: Call | None = None
    """Whose condition is among the terms."""

    def name(self, attribute: str) -> str:
        for placeholder, named in self.names.items():
            if named == attribute and placeholder.startswith("#mgr"):
                return placeholder
        placeholder = f"#mgr{len(self.names)}"
        self.names[placeholder] = attribute
        return placeholder

    def value(self, value: AttributeValue) -> str:
        placeholder = f":mgr{len(self.values)}"
        self.values[placeholder] = value
        return placeholder

    def of_call(self, call: Call, *, condition: bool = True, update: bool = False) -> Body:
        """Take over the application's expressions with the names and values that they use."""
        texts = [call.request.get("ConditionExpression") if condition else None]
        if condition and texts[0]:
            self.terms.append(f"({texts[0]})")
            self.call = call
        if update and call.request.get("UpdateExpression"):
            texts.append(call.request["UpdateExpression"])
            self.members["UpdateExpression"] = call.request["UpdateExpression"]
        used = set(re.findall(r"[#:][A-Za-z0-9_]+", " ".join(text for text in texts if text)))
        self.names |= {name: named for name, named in call.names.items() if name in used}
        self.values |= {name: value for name, value in call.values.items() if name in used}
        return self

    def exists(self) -> Body:
        self.terms.append(f"attribute_exists({self.name(next(iter(self.place.key)))})")
        return self

    def absent(self) -> Body:
        self.terms.append(f"attribute_not_exists({self.name(next(iter(self.place.key)))})")
        return self

    def as_read(self, item: Item | None, names: Iterable[str]) -> Body:
        """That the item is there, or not, as it was read: its attributes of these names."""
        if item is None:
            return self.absent()
        self.exists()
        for name in sorted(set(names) - set(self.place.key)):
            value = item.get(name)
            if value is None:
                self.terms.append(f"attribute_not_exists({self.name(name)})")
            else:
                self.terms.append(f"{self.name(name)} = {self.value(value)}")
        return self

    def change(self, before: Item, after: Item) -> Body:
        """Set and remove what differs."""
        names = sorted({*before, *after} - set(self.place.key))
        sets = [name for name in names if name in after and not same(before.get(name), after[name])]
        removes = [name for name in names if name not in after]
        clauses = []
        if sets:
            clauses.append("SET " + ", ".join(f"{self.name(name)} = {self.value(after[name])}" for name in sets))
        if removes:
            clauses.append("REMOVE " + ", ".join(self.name(name) for name in removes))
        self.members["UpdateExpression"] = " ".join(clauses)
        return self

    def unpinned(self) -> Body:
        """Also take the pin off: whoever set it notices that the item was written."""
        text = self.members.get("UpdateExpression", "")
        pin = self.name(PIN)
        found = re.search(r"(?<![#:\w])REMOVE\s", text, re.IGNORECASE)
        apart = f"{text} REMOVE {pin}".strip()
        self.members["UpdateExpression"] = (
            f"{text[: found.end()]}{pin}, {text[found.end() :]}" if found is not None else apart
        )
        return self

    def action(self) -> dict[str, Any]:
        """As TransactWriteItems takes it. Raises NotExpressible for more than an expression holds."""
        condition = " AND ".join(self.terms)
        longest = max(len(condition), len(self.members.get("UpdateExpression", "")))
        if longest > MAX_EXPRESSION_BYTES or 2 * len(self.terms) > MAX_OPERATORS:
            raise NotExpressible(
                f"{self.place.table}: an item with so many attributes cannot be guarded as it was read",
                hint="change fewer attributes at a time, or leave this item until the rewrite is done",
            )
        found: dict[str, Any] = {"TableName": self.place.table, **self.members}
        if self.kind != "Put":
            found["Key"] = dict(self.place.key)
        if condition:
            found |= {"ConditionExpression": condition, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
        if self.names:
            found["ExpressionAttributeNames"] = self.names
        if self.values:
            found["ExpressionAttributeValues"] = self.values
        return {self.kind: found}


def put(place: Place, item: Item) -> Body:
    return Body(place, "Put", {"Item": dict(item)})


def check(place: Place) -> Body:
    return Body(place, "ConditionCheck")


def delete(place: Place) -> Body:
    return Body(place, "Delete")


def update(place: Place) -> Body:
    return Body(place, "Update")
