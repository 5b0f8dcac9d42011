"""Guarded updates as PartiQL statements: only those whose guard is certain to mean the same there.

`UPDATE "t" SET "a"=? REMOVE "b" WHERE "PK"=? AND "x"=? AND "y" IS MISSING`: it never creates an item (facts §6).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from migrator.core.change import TextUpdate, Update, Write
from migrator.wire.lazy import encode

MAX_STATEMENTS = 25
MAX_STATEMENT_CHARACTERS = 8192
MAX_BATCH_BYTES = 4_000_000

_CERTAIN = frozenset({"S", "N", "B", "BOOL"})
"""The types whose equality in a WHERE is that of a condition expression; sets, documents and NULL go by UpdateItem."""
_NAME = re.compile(r"[A-Za-z0-9_:#@$-]+\Z")
"""Names that stand between quotation marks without a doubt: none with a dot, a bracket or a quotation mark."""

Shape = tuple[object, ...]
_encode_text = msgspec.json.Encoder().encode


class Statement(NamedTuple):
    """One statement of a batch, as bytes. `shape` is what its text is made of."""

    body: bytes
    shape: Shape


@dataclass(slots=True)
class Statements:
    """Texts, kept by what they name. Threads share it: what two of them make at once is the same."""

    _beginnings: dict[Shape, bytes | None] = field(default_factory=dict)

    def of(self, table: str, write: Write) -> Statement | None:
        """None where a batch cannot carry this write, or not with certainty."""
        if isinstance(write, TextUpdate):
            return self._of_texts(table, write)
        if write.__class__ is not Update:
            return None
        assert isinstance(write, Update)
        key, change = write.key, write.change
        parameters = [*change.set.values(), *key.values()]
        guarded: list[tuple[str, bool]] = []
        for name, value in change.guard.items():
            if value is None:
                guarded.append((name, False))
                continue
            for kind in value:
                if kind not in _CERTAIN:
                    return None
            guarded.append((name, True))
            parameters.append(value)
        shape = (table, tuple(change.set), change.remove, tuple(key), tuple(guarded))
        try:
            beginning = self._beginnings[shape]
        except KeyError:
            beginning = self._beginnings[shape] = _beginning(table, tuple(change.set), change.remove, key, guarded)
        if beginning is None:
            return None
        try:
            return Statement(beginning + encode(parameters) + b"}", shape)
        except UnicodeEncodeError:
            return None

    def _of_texts(self, table: str, write: TextUpdate) -> Statement | None:
        shape = (table, write.form.id)
        try:
            beginning = self._beginnings[shape]
        except KeyError:
            form, key = write.form, dict.fromkeys(write.form.key_names)
            made = _beginning(table, form.sets, frozenset(), key, list(form.guarded))
            beginning = self._beginnings[shape] = None if made is None else made + b'[{"S":'
        if beginning is None:
            return None
        try:
            return Statement(beginning + b'},{"S":'.join(map(_encode_text, write.texts)) + b"}]}", shape)
        except UnicodeEncodeError:
            return None

    def refuse(self, shape: Shape) -> None:
        """The service takes no statement of this shape: from now on its writes go by themselves."""
        self._beginnings[shape] = None


def batch(statements: list[bytes]) -> bytes:
    """The body of one BatchExecuteStatement."""
    return b'{"ReturnConsumedCapacity":"INDEXES","Statements":[' + b",".join(statements) + b"]}"


def _beginning(
    table: str,
    sets: tuple[str, ...],
    remove: frozenset[str],
    key: Mapping[str, object],
    guarded: list[tuple[str, bool]],
) -> bytes | None:
    names = [name for name, _ in guarded]
    if not all(map(_NAME.match, [*sets, *remove, *key, *names])) or not (sets or remove) or {*names} & key.keys():
        return None
    clauses = [f'SET "{name}"=?' for name in sets] + [f'REMOVE "{name}"' for name in sorted(remove)]
    terms = [f'"{name}"=?' for name in key]
    terms += [f'"{name}"=?' if present else f'"{name}" IS MISSING' for name, present in guarded]
    text = f'UPDATE "{table}" {" ".join(clauses)} WHERE {" AND ".join(terms)}'
    if len(text) > MAX_STATEMENT_CHARACTERS:
        return None
    return b'{"Statement":' + encode(text) + b',"Parameters":'
