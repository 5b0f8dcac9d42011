"""Condition and update expressions, with every name and value substituted: any attribute name is safe.

Limits (facts §6): an expression is at most 4 KB with 300 operators, checked before anything is sent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from migrator.core.change import Change, Guard
from migrator.core.item import AttributeValue

MAX_EXPRESSION_BYTES = 4096
MAX_OPERATORS = 300
_SURELY_FITS = 100
"""Attributes: each takes at most 34 bytes of an expression, and two operators."""


@dataclass(slots=True)
class Substitutions:
    """The names and values of one request, each mentioned once."""

    names: dict[str, str] = field(default_factory=dict)
    values: dict[str, AttributeValue] = field(default_factory=dict)
    _known: dict[str, str] = field(default_factory=dict)

    def name(self, attribute: str) -> str:
        placeholder = self._known.get(attribute)
        if placeholder is None:
            placeholder = self._known[attribute] = f"#n{len(self.names)}"
            self.names[placeholder] = attribute
        return placeholder

    def value(self, value: AttributeValue) -> str:
        placeholder = f":v{len(self.values)}"
        self.values[placeholder] = value
        return placeholder


def condition(subs: Substitutions, guard: Guard, key_names: Sequence[str]) -> str:
    """The item exists and each guarded attribute is as read; absence is guarded as absence."""
    terms = [f"attribute_exists({subs.name(key_names[0])})"]
    for name, value in guard.items():
        placeholder = subs.name(name)
        if value is None:
            terms.append(f"attribute_not_exists({placeholder})")
        else:
            terms.append(f"{placeholder} = {subs.value(value)}")
    return " AND ".join(terms)


def absent(subs: Substitutions, key_names: Sequence[str]) -> str:
    """No item stands at the key."""
    return f"attribute_not_exists({subs.name(key_names[0])})"


def update(subs: Substitutions, sets: Mapping[str, AttributeValue], remove: Sequence[str]) -> str:
    """SET and REMOVE of top-level attributes."""
    clauses = []
    if sets:
        clauses.append("SET " + ", ".join(f"{subs.name(name)} = {subs.value(value)}" for name, value in sets.items()))
    if remove:
        clauses.append("REMOVE " + ", ".join(subs.name(name) for name in remove))
    return " ".join(clauses)


def guard_is_too_large(change: Change, key_names: Sequence[str]) -> bool:
    """Whether the service would refuse the guard or the update for its size."""
    if len(change.guard) + len(change.set) + len(change.remove) <= _SURELY_FITS:
        return False
    subs = Substitutions()
    guard = condition(subs, change.guard, key_names)
    update_text = update(subs, change.set, sorted(change.remove))
    operators = 2 * len(change.guard) + 1
    return max(len(guard), len(update_text)) > MAX_EXPRESSION_BYTES or operators > MAX_OPERATORS
