"""An index whose partition key has few values: all its writes go to as few partitions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from migrator.core.findings import Severity
from migrator.core.item import Item, canonical
from migrator.core.rules.release import PlacedOperation, Release, Sample
from migrator.core.rules.rule import Remark, Rule
from migrator.core.schema import Index
from migrator.core.steps import CreateIndex, TransformItems
from migrator.core.template import Template

FEW = 10
"""Values."""
ENOUGH = 100
"""Sampled items of an index that say something about its values."""


def judge(release: Release) -> Iterator[Remark]:
    """A remark at each added index whose partition key the files set to a constant, or has few values in a sample."""
    for one in release.todo():
        for step in one.steps:
            if not isinstance(step, CreateIndex):
                continue
            keys = [key.name for key in step.index.partition_key]
            constants = _constants(release, one.alias)
            if keys and all(constants.get(name) for name in keys):
                yield _remark(one, step.index, f"the files set {', '.join(keys)} to one value for every item")
            elif (sample := release.samples.get(one.alias)) and (said := _sampled(sample, step.index, keys)):
                yield _remark(one, step.index, said)


def _remark(one: PlacedOperation, index: Index, said: str) -> Remark:
    return Remark(
        one,
        f"index {index.name} of {one.alias}: {said}; items of one value share a partition, which takes 1,000 write "
        "units a second whatever the table has",
        "put an attribute of many values first, or spread a value over several: STATUS#{status}#0 to #9",
    )


def _constants(release: Release, alias: str) -> dict[str, bool]:
    """Attribute -> whether every backfill that sets it sets it to a constant."""
    found: dict[str, bool] = {}
    for one in release.operations:
        for step in one.steps if one.alias == alias else ():
            if isinstance(step, TransformItems):
                for name, value in step.transform.set.items():
                    is_constant = not isinstance(value, Template) or not value.references
                    found[name] = found.get(name, True) and is_constant
    return found


def _sampled(sample: Sample, index: Index, keys: Sequence[str]) -> str:
    names = {key.name for key in index.keys}
    inside: list[Item] = [item for item in sample.items if names <= item.keys()]
    values = {tuple(canonical(item[name]) for name in keys) for item in inside}
    if len(inside) < ENOUGH or len(values) > FEW:
        return ""
    count = "1 value" if len(values) == 1 else f"{len(values)} values"
    return f"{len(inside):,} sampled items have {count} of {', '.join(keys)}"


RULE = Rule(
    "low-cardinality-partition-key",
    Severity.WARNING,
    "An index has a partition key of few values.",
    judge,
)
