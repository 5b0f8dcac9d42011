"""A key that two different items can have, because of how it is put together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from migrator.core.ambiguity import Ambiguity, ambiguities, collides, folding
from migrator.core.findings import Severity
from migrator.core.rewrite.form import Form
from migrator.core.rewrite.route import Route
from migrator.core.rewrite.steps import PrepareRewrite
from migrator.core.rules.release import PlacedOperation, Release
from migrator.core.rules.rule import Remark, Rule
from migrator.core.rules.unpadded_number import known_numbers
from migrator.core.steps import TransformItems
from migrator.core.template import Template

SHORT = 2
"""Characters of a delimiter that a value may well hold by chance, where it has no letter."""


def judge(release: Release) -> Iterator[Remark]:
    """A remark for each template or function that gives a key of an index, or by a rewrite of the table, ambiguously.

    A delimiter counts in partition keys: two groups of items that are to be apart would be one.
    """
    for one in release.todo():
        for step in one.steps:
            if isinstance(step, PrepareRewrite):
                for route in step.rewrite.routes:
                    yield from _of_route(release, one, route)
            if not isinstance(step, TransformItems):
                continue
            work = step.transform
            for name, value in work.set.items():
                role = _role(release, one.alias, name)
                if role and isinstance(value, Template):
                    yield from _of_template(release, one, name, value, role)
            if work.function is not None and _writes_keys(release, one, step):
                yield from _of_function(one, work.function)


def _of_route(release: Release, one: PlacedOperation, route: Route) -> Iterator[Remark]:
    """Of a rewrite every key attribute counts: what two items give alike is one item."""
    if isinstance(route.key, Form):
        for name, template in route.key.templates.items():
            yield from _of_template(release, one, name, template, "partition")
    else:
        yield from _of_function(one, route.key)


def _of_function(one: PlacedOperation, function: Callable[..., Any]) -> Iterator[Remark]:
    if found := folding(function):
        yield Remark(
            one,
            f"{getattr(function, '__name__', 'the function')}() calls {', '.join(found)}: texts that differ in case, "
            "blanks or form may become one key",
            "keep the value as it is in the key, or make sure that no two items differ in that alone",
        )


def _of_template(release: Release, one: PlacedOperation, name: str, template: Template, role: str) -> Iterator[Remark]:
    sample = release.samples.get(one.alias)
    for found in ambiguities(template, known_numbers(release, one.alias)):
        if found.kind == "delimiter" and (role != "partition" or not _is_likely(found)):
            continue
        yield Remark(
            one,
            f"set {name}: {found.message}",
            "put a delimiter between them that no value holds, such as #USER#; or key the index by several attributes: "
            "partition_key=[…]",
        )
    if sample is not None and (met := [item for item in sample.items if collides(template, item)]):
        yield Remark(
            one,
            f"set {name}: in {len(met)} of {len(sample.items):,} sampled items {collides(template, met[0])} holds a "
            f"delimiter of {template.source!r}: another item can have the same {name}",
            "another delimiter, or a key of several attributes: partition_key=[…]",
        )


def _is_likely(found: Ambiguity) -> bool:
    return len(found.delimiter) <= SHORT and not any(char.isalpha() for char in found.delimiter)


def _role(release: Release, alias: str, name: str) -> str:
    """What the attribute is in the indexes of the table at any time: "partition", "sort" or ""."""
    roles = set()
    for one in release.operations:
        for table in (one.table, one.after) if one.alias == alias else ():
            for index in table.indexes.values() if table is not None else ():
                roles |= {"partition" for key in index.partition_key if key.name == name}
                roles |= {"sort" for key in index.sort_key if key.name == name}
    return "partition" if "partition" in roles else "sort" if roles else ""


def _writes_keys(release: Release, one: PlacedOperation, step: TransformItems) -> bool:
    """Whether the function names an attribute that is a key of an index."""
    code = getattr(step.transform.function, "__code__", None)
    named = {constant for constant in getattr(code, "co_consts", ()) if isinstance(constant, str)}
    named |= {part for group in getattr(code, "co_consts", ()) if isinstance(group, tuple) for part in group}
    return any(isinstance(name, str) and _role(release, one.alias, name) for name in named)


RULE = Rule(
    "template-ambiguity",
    Severity.WARNING,
    "Two different items can get one key.",
    judge,
)
