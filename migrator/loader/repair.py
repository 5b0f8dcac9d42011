"""The source of a migration that repairs what an index cannot take: drafted for a person, who reads it first."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import indent, wrap
from typing import Literal

from migrator.core.item import MAX_PARTITION_KEY_BYTES, MAX_SORT_KEY_BYTES
from migrator.core.schema import KeyType
from migrator.loader.literals import WIDTH, listing, quoted

Role = Literal["partition", "sort"]

_KINDS = {"S": "str", "N": "Decimal", "B": "bytes"}
_LIMITS = {"partition": MAX_PARTITION_KEY_BYTES, "sort": MAX_SORT_KEY_BYTES}
_FATES = {
    "index-key-null": "the attribute is removed",
    "index-key-type": "converted where that is exact, else moved to {name}_unindexed",
    "index-key-empty": "the attribute is removed",
    "index-key-size": "moved to {name}_unindexed",
}
_CONVERSIONS = {
    "N": '''\
NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\\.[0-9]*[1-9])?")


def as_number(value):
    """The number that a string spells, the only way there is: not "05" or "1.50"."""
    if not isinstance(value, str) or value == "-0" or not NUMBER.fullmatch(value):
        return None
    # DynamoDB keeps 38 digits of a number.
    return Decimal(value) if len(re.sub("[^0-9]", "", value)) <= 38 else None
''',
    "S": '''\
def as_string(value):
    """All the digits of a number. As strings, "10" sorts before "9"."""
    return format(value, "f") if isinstance(value, Decimal) else None
''',
}
_MOVE = '''\
def moved(item, name, value):
    """What no conversion keeps goes where no index has its key: nothing is lost."""
    spare = f"{name}_unindexed"
    if spare in item and item[spare] != value:
        raise ValueError(f"{spare} holds something else: decide by hand")
    return {name: None, spare: value}
'''


@dataclass(frozen=True, slots=True)
class Repair:
    """The parts of a migration file: what `write_revision` takes."""

    operations: str
    functions: str
    imports: tuple[str, ...]


def repair_source(
    index: str,
    keys: Sequence[tuple[str, KeyType, Role]],
    found: Mapping[tuple[str, str], int],
    *,
    fixed: Collection[str],
    about: str,
    table: str = "",
) -> Repair | None:
    """A Backfill whose function mends each key attribute, for the problems that were found, by (attribute, code).

    A NULL and an empty value are removed. Numbers and strings are turned into each other where that is exact. Any
    other value moves to another attribute. `fixed` are keys of the table itself, which no update changes: None where
    only they are in the way. `about` says what was seen; `table` is an alias, "" for the default one.
    """
    codes = {key: {code for name, code in found if name == key[0]} for key in keys if key[0] not in fixed}
    mended = {key: those for key, those in codes.items() if any(_branches(*key[1:], those))}
    if not mended:
        return None
    name = "repair_" + (re.sub(r"\W+", "_", index, flags=re.ASCII).strip("_").lower()[:40] or "index")
    body = "".join(_attribute(*key, those) for key, those in mended.items())
    types = sorted({kind for (_, kind, _), those in mended.items() if "index-key-type" in those})
    helpers = [_CONVERSIONS[kind] for kind in types if kind in _CONVERSIONS]
    if "moved(" in body:
        helpers.append(_MOVE)
    main = (
        f"def {name}(item):\n"
        '    """What lets the index take the item: attribute -> new value, None removes it."""\n'
        f"    changes = {{}}\n{indent(body, '    ')}    return changes\n"
    )
    functions = "\n\n".join([*helpers, main])
    imports = {"re": "import re", "Decimal": "from decimal import Decimal"}
    return Repair(
        listing("Backfill(", [f"transform={name}", *([f"table={quoted(table)}"] if table else [])], ")"),
        _comment(index, found, about, fixed) + ("\n\n" if functions.startswith("def") else "\n") + functions,
        tuple(line for word, line in imports.items() if re.search(rf"\b{word}\b", functions)),
    )


def _attribute(name: str, kind: KeyType, role: Role, codes: Collection[str]) -> str:
    """The lines that mend one attribute, each kind of problem that was found in it by itself."""
    lines = [f"name = {quoted(name)}", "if name in item:", "    value = item[name]"]
    for number, (condition, then) in enumerate(_branches(kind, role, codes)):
        lines.append(f"    {'elif' if number else 'if'} {condition}:")
        lines += [f"        {line}" for line in then]
    return "".join(f"{line}\n" for line in lines)


def _branches(kind: KeyType, role: Role, codes: Collection[str]) -> Iterator[tuple[str, list[str]]]:
    """(condition, what follows) of each kind of problem."""
    right = _KINDS[kind]
    move = "changes |= moved(item, name, value)"
    if "index-key-null" in codes:
        yield "value is None", ["# Without it the item is merely not in the index.", "changes[name] = None"]
    if "index-key-type" in codes:
        # NULL is another kind of problem, which nobody saw here.
        other = "" if "index-key-null" in codes else "value is not None and "
        convert = {"S": "as_string", "N": "as_number"}.get(kind)
        exactly = [
            f"exact = {convert}(value)",
            "if exact is None:",
            f"    {move}",
            "else:",
            "    changes[name] = exact",
        ]
        yield f"{other}not isinstance(value, {right})", [move] if convert is None else exactly
    if kind == "N":
        return
    if "index-key-empty" in codes:
        yield f"isinstance(value, {right}) and not value", ["changes[name] = None"]
    if "index-key-size" in codes:
        size = "len(value.encode())" if kind == "S" else "len(value)"
        yield (
            f"isinstance(value, {right}) and {size} > {_LIMITS[role]}",
            [f"# The most bytes of a {role} key. Or cut it, if that will do.", move],
        )


def _comment(index: str, found: Mapping[tuple[str, str], int], about: str, fixed: Collection[str]) -> str:
    lines = [
        f"Drafted by `migrator violations {_plain(index)} --generate`: {about}",
        "READ IT, and change what your application knows better, before you apply it.",
        *(
            f"- {_plain(name)}, {items:,} with {code}: "
            + (
                "NOT REPAIRED, it is a key of the table: write these items anew"
                if name in fixed
                else _FATES[code].format(name=_plain(name))
            )
            for (name, code), items in sorted(found.items())
        ),
        "Writers that still write such values are refused once the index is there.",
    ]
    wrapped = [part for line in lines for part in wrap(line, WIDTH - 2, subsequent_indent="  ", break_on_hyphens=False)]
    return "".join(f"# {line}\n" for line in wrapped)


def _plain(text: str) -> str:
    """A name as it may stand in a comment: on its line."""
    return "".join(char for char in text if char.isprintable())
