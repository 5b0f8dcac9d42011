"""Whether applying a step to its own result would change it again, as far as the file alone tells.

The engine checks the same in memory for each item; here the author hears of it before the first write.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from migrator.core.findings import Finding
from migrator.core.item import AttributeValue, from_python, same
from migrator.core.template import Reference, Template
from migrator.core.transform import Transform
from migrator.core.where import Absent, BeginsWith, Exists, OneOf
from migrator.operations.tables import error

_HINT = (
    "declare once=True (a journal then keeps each item from being changed twice), or let `where` select only items "
    "that the step has not changed yet"
)


def idempotence_findings(work: Transform) -> tuple[Finding, ...]:
    """An error for each template that reads what the step writes, unless the step is `once` or deselects its result."""
    if work.function is not None or work.once or callable(work.where) or _deselects_its_result(work, work.where):
        return ()
    removed = {*work.remove, *work.rename}
    given = {*work.set, *work.rename.values()} | ({work.version} if work.version else set())
    found = []
    for target, value in work.set.items():
        if not isinstance(value, Template) or _copies_itself(target, value):
            continue
        reads = sorted(value.attributes & given)
        if reads:
            found.append(
                error(
                    "non-idempotent",
                    f"set {target}: its template reads {', '.join(reads)}, which the step writes",
                    _HINT,
                )
            )
        lost = sorted(value.attributes & removed)
        if lost and work.missing != "skip":
            found.append(
                error(
                    "non-idempotent",
                    f"set {target}: its template reads {', '.join(lost)}, which the step removes: a second pass would "
                    f"{'fail' if work.missing == 'fail' else f'remove {target}'}",
                    f"add where={{{lost[0]!r}: Exists()}}, or missing='skip'",
                )
            )
    return tuple(found)


def _copies_itself(target: str, template: Template) -> bool:
    return template.parts == (Reference(target),)


def _deselects_its_result(work: Transform, where: Mapping[str, Any]) -> bool:
    """Whether one condition of `where` fails on every item that the step has changed."""
    for name, condition in where.items():
        if name in work.remove or name in work.rename:
            if not isinstance(condition, Absent):
                return True
        elif name in work.set and _excludes(condition, work.set[name], may_remove=work.missing == "remove"):
            return True
    return False


def _excludes(condition: object, value: Template | AttributeValue, *, may_remove: bool) -> bool:
    """Whether an attribute set to `value` never meets `condition`."""
    if isinstance(value, Template):
        if isinstance(condition, Absent):
            return not may_remove
        first = value.parts[0]
        return (
            isinstance(condition, BeginsWith)
            and isinstance(first, str)
            and not first.startswith(condition.prefix)
            and not condition.prefix.startswith(first)
        )
    match condition:
        case Absent():
            return True
        case Exists():
            return False
        case BeginsWith(prefix):
            return "S" not in value or not value["S"].startswith(prefix)
        case OneOf(values):
            return not any(same(value, from_python(one)) for one in values)
    return not same(value, from_python(condition))
