"""Whether a shape of a table can answer a pattern by a Get or a Query on a key (facts §1.6)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from migrator.core.findings import Finding, Severity
from migrator.core.patterns.pattern import AccessPattern, Condition
from migrator.core.schema import Index, KeyAttribute, Table
from migrator.core.template import Template

RULES = {
    "pattern-table-missing": "The table of the pattern does not exist at this revision.",
    "pattern-index-missing": "The index of the pattern does not exist at this revision.",
    "pattern-scan": "The pattern reads the whole table or index.",
    "pattern-not-a-key": "A key condition names an attribute that is not in the key.",
    "pattern-partition-key": "A partition key attribute is not given by equality.",
    "pattern-sort-key": "Sort key conditions skip an attribute, or one follows a condition that is no equality.",
    "pattern-key-type": "A value of another type than the key takes.",
    "pattern-not-a-get": "A Get needs the whole key of the table, by equality.",
    "pattern-filter-on-key": "A filter names a key attribute, which the service refuses.",
    "pattern-filter-selects": "A filter chooses the items, after they were read and paid for.",
    "pattern-not-projected": "The index does not hold an attribute that the caller needs.",
    "pattern-consistent-index": "An index cannot be read consistently.",
    "pattern-not-held": "A condition needs a value that the caller does not hold.",
    "pattern-cardinality": "The answer cannot have, or has not, as many items as expected.",
    "pattern-order": "An order is asked for where there is no sort key.",
}
"""What a pattern may be found to be, with one line each."""


def judge(pattern: AccessPattern, table: Table | None) -> tuple[Finding, ...]:
    """What keeps the table from serving the pattern (errors), and what does not but should be seen (warnings)."""
    found = [*_not_held(pattern)]
    if table is None:
        return (*found, _error("pattern-table-missing", f"table {pattern.table or 'of the project'} is not there"))
    if not pattern.index:
        return (*found, *_keyed(pattern, table.key, (table.partition_key,), table.key[1:]), *_plain(pattern))
    index = table.indexes.get(pattern.index)
    if index is None:
        known = ", ".join(sorted(table.indexes)) or "none"
        message = f"table {table.alias} has no index {pattern.index} (it has: {known})"
        return (*found, _error("pattern-index-missing", message, "add it (AddIndex), or correct index ="))
    found += _keyed(pattern, table.key, index.partition_key, index.sort_key)
    found += _of_index(pattern, index, table)
    return (*found, *_plain(pattern))


def serves(pattern: AccessPattern, table: Table | None) -> bool:
    """Whether nothing keeps the table from answering it."""
    return not any(finding.severity is Severity.ERROR for finding in judge(pattern, table))


def is_get(pattern: AccessPattern, table: Table) -> bool:
    """Whether it is a Get on this table: by its own word, or by naming the table's whole key."""
    if pattern.operation:
        return pattern.operation == "get"
    equal = {condition.attribute for condition in pattern.key if condition.operator == "="}
    return not pattern.index and not pattern.filter and equal == set(table.key_names)


# --- keys -------------------------------------------------------------------------------------------------------------


def _keyed(
    pattern: AccessPattern,
    table_key: Sequence[KeyAttribute],
    partition: Sequence[KeyAttribute],
    sort: Sequence[KeyAttribute],
) -> Iterator[Finding]:
    if pattern.operation == "scan" or not pattern.key:
        named = ", ".join(key.name for key in partition)
        yield _error(
            "pattern-scan",
            f"it reads all of {pattern.place}: no condition on its partition key ({named})",
            "ask by a key that the caller holds: add an index whose partition key it is",
        )
        return
    given = {condition.attribute: condition for condition in pattern.key}
    keys = (*partition, *sort)
    for name in given.keys() - {key.name for key in keys}:
        yield _error(
            "pattern-not-a-key",
            f"{name} is in no key of {pattern.place} (its key is {', '.join(key.name for key in keys)})",
            "move it to filter =, which selects after reading; or add an index with it",
        )
    yield from _partition(pattern, partition, given)
    yield from _sort(pattern, sort, given)
    yield from _types(keys, given, pattern)
    if pattern.operation == "get":
        equal = {name for name, condition in given.items() if condition.operator == "="}
        names = [key.name for key in table_key]
        if pattern.index or equal != set(names):
            yield _error(
                "pattern-not-a-get",
                f"a Get takes the table's whole key by equality ({', '.join(names)})"
                + (", and reads no index" if pattern.index else ""),
                'give the whole key, or operation = "query"',
            )
    if not sort and pattern.order:
        yield _warning(
            "pattern-order",
            f"{pattern.place} has no sort key, so its items come in no {pattern.order} order",
            "leave order out, or add an index with a sort key",
        )
    yield from _filters(pattern, keys)
    if (pattern.operation == "get" or _is_whole(given, table_key, pattern)) and pattern.expect.least > 1:
        yield _error(
            "pattern-cardinality",
            f"the whole key of the table names one item, and {pattern.expect} are expected",
            "leave out a part of the sort key, or correct expect =",
        )


def _is_whole(given: dict[str, Condition], table_key: Sequence[KeyAttribute], pattern: AccessPattern) -> bool:
    equal = {name for name, condition in given.items() if condition.operator == "="}
    return not pattern.index and equal == {key.name for key in table_key}


def _partition(
    pattern: AccessPattern, partition: Sequence[KeyAttribute], given: dict[str, Condition]
) -> Iterator[Finding]:
    absent = [key.name for key in partition if key.name not in given]
    unequal = [key.name for key in partition if key.name in given and given[key.name].operator != "="]
    if absent:
        yield _error(
            "pattern-partition-key",
            f"{pattern.place} is asked without {', '.join(absent)}: every part of a partition key must be given",
            "the caller must hold it, or another index must begin with what it holds",
        )
    if unequal:
        shown = ", ".join(str(given[name]) for name in unequal)
        yield _error(
            "pattern-partition-key",
            f"{shown}: a partition key is asked for by equality alone",
            "give the exact value; a range is for the sort key",
        )


def _sort(pattern: AccessPattern, sort: Sequence[KeyAttribute], given: dict[str, Condition]) -> Iterator[Finding]:
    """Left to right without a gap; what is no equality stands last."""
    ended, gap = "", ""
    for key in sort:
        condition = given.get(key.name)
        if condition is None:
            gap = gap or key.name
            continue
        if gap:
            yield _error(
                "pattern-sort-key",
                f"{condition} leaves out {gap}: the sort key of {pattern.place} is asked from left to right "
                f"({', '.join(one.name for one in sort)})",
                f"give {gap} too, or add an index whose sort key begins with {key.name}",
            )
        if ended:
            yield _error(
                "pattern-sort-key",
                f"{condition} follows {ended}, which is no equality: nothing may come after such a condition",
                f"make {ended} an equality, or order the sort key of an index so that the range comes last",
            )
        if condition.operator != "=":
            ended = ended or str(condition)


def _types(keys: Sequence[KeyAttribute], given: dict[str, Condition], pattern: AccessPattern) -> Iterator[Finding]:
    for key in keys:
        condition = given.get(key.name)
        if condition is None:
            continue
        if condition.operator == "begins_with" and key.type == "N":
            yield _error(
                "pattern-key-type", f"{condition}: {key.name} is a number, which begins with nothing", "use a range"
            )
            continue
        kinds = {kind for operand in condition.operands if (kind := pattern.type_of(operand)) is not None}
        if wrong := sorted(kinds - {key.type}):
            yield _error(
                "pattern-key-type",
                f"{condition}: {key.name} is of type {key.type}, and the value of type {', '.join(wrong)}",
                "a number has no quotes; binary is { base64 = … }",
            )


def _filters(pattern: AccessPattern, keys: Sequence[KeyAttribute]) -> Iterator[Finding]:
    names = {key.name for key in keys}
    for condition in pattern.filter:
        if condition.attribute in names:
            yield _error(
                "pattern-filter-on-key",
                f"filter {condition}: {condition.attribute} is in the key of {pattern.place}, where no filter may be",
                "make it a key condition",
            )
    if pattern.filter:
        yield _warning(
            "pattern-filter-selects",
            f"filter {' and '.join(map(str, pattern.filter))} selects after reading: what it drops is read and paid "
            "for, and pages may come back empty",
            f"an index with {', '.join(dict.fromkeys(one.attribute for one in pattern.filter))} in its key reads only "
            "the answer",
        )


# --- the rest ---------------------------------------------------------------------------------------------------------


def _of_index(pattern: AccessPattern, index: Index, table: Table) -> Iterator[Finding]:
    if pattern.is_consistent:
        yield _error(
            "pattern-consistent-index",
            f"index {index.name} is read eventually consistently, and consistent = true is asked for",
            "read the table by its key, or accept an answer that is a moment old",
        )
    if index.projection.type == "ALL":
        return
    held = {*index.projection.attributes, *table.key_names, *(key.name for key in index.keys)}
    if absent := sorted({*pattern.returns, *(one.attribute for one in pattern.filter)} - held):
        yield _error(
            "pattern-not-projected",
            f"index {index.name} projects {index.projection}, which lacks {', '.join(absent)}: no query of it fetches "
            "them",
            "a new index that projects them; a projection cannot be changed in place",
        )


def _plain(pattern: AccessPattern) -> Iterator[Finding]:
    if pattern.limit is not None and pattern.expect.least > pattern.limit:
        yield _error(
            "pattern-cardinality",
            f"at least {pattern.expect.least} items are expected, and limit = {pattern.limit} reads no more",
            "correct expect = or limit =",
        )


def _not_held(pattern: AccessPattern) -> Iterator[Finding]:
    needed = {name for operand in pattern.operands if isinstance(operand, Template) for name in operand.attributes}
    if absent := sorted(needed - set(pattern.holds)):
        yield _error(
            "pattern-not-held",
            f"its conditions need {', '.join(absent)}, and the caller holds {', '.join(pattern.holds) or 'nothing'}",
            "add it to holds =, if the caller really has it before it asks",
        )


def _error(rule: str, message: str, hint: str | None = None) -> Finding:
    return Finding(rule, Severity.ERROR, message, hint)


def _warning(rule: str, message: str, hint: str) -> Finding:
    return Finding(rule, Severity.WARNING, message, hint)
