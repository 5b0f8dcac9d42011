"""Milliseconds in the attribute that items expire by: it takes seconds."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from migrator.core.findings import Severity
from migrator.core.item import AttributeValue
from migrator.core.rules.release import PlacedOperation, Release
from migrator.core.rules.rule import Remark, Rule
from migrator.core.settings import TimeToLive
from migrator.core.steps import ChangeSetting, CreateTable, PutItems, Step, TransformItems
from migrator.core.template import Template

LATEST = 10**11
"""Seconds: the year 5138. No expiry is meant to be later."""


def judge(release: Release) -> Iterator[Remark]:
    """A remark for each constant in a TTL attribute that is too large for seconds."""
    for one in release.todo():
        expiring = _expiring(release, one.alias)
        for step in one.steps:
            for name, value in _constants(step):
                if name in expiring and (number := value.get("N")) is not None and Decimal(number) > LATEST:
                    yield Remark(
                        one,
                        f"{name} = {number} is the time that items of {one.alias} expire by, and looks like "
                        "milliseconds: it is read as seconds, thousands of years away, so they never expire",
                        f"divide by 1000: {int(Decimal(number)) // 1000}",
                    )
            yield from _sampled(release, one, step)


def _sampled(release: Release, one: PlacedOperation, step: Step) -> Iterator[Remark]:
    """The items that stand there when TTL is switched on."""
    sample = release.samples.get(one.alias)
    if sample is None:
        return
    for setting in _settings(step):
        if not isinstance(setting, TimeToLive) or setting.attribute is None:
            continue
        numbers = [item[setting.attribute].get("N") for item in sample.items if setting.attribute in item]
        late = [number for number in numbers if number is not None and Decimal(number) > LATEST]
        if late:
            yield Remark(
                one,
                f"{len(late)} of {len(numbers)} sampled items have a {setting.attribute} above {LATEST:,}, which looks "
                "like milliseconds: it is read as seconds, thousands of years away, so they never expire",
                f"a Backfill that divides {setting.attribute} by 1000, and the application too, before TTL is on",
            )


def _expiring(release: Release, alias: str) -> set[str]:
    """The attributes that any migration lets items of the table expire by."""
    return {
        setting.attribute
        for one in release.operations
        if one.alias == alias
        for step in one.steps
        for setting in _settings(step)
        if isinstance(setting, TimeToLive) and setting.attribute is not None
    }


def _settings(step: Step) -> tuple[object, ...]:
    match step:
        case ChangeSetting(setting=setting):
            return (setting,)
        case CreateTable(settings=settings):
            return settings
        case _:
            return ()


def _constants(step: Step) -> Iterator[tuple[str, AttributeValue]]:
    match step:
        case TransformItems(transform=work):
            yield from ((name, value) for name, value in work.set.items() if not isinstance(value, Template))
        case PutItems(items=items):
            yield from (pair for item in items for pair in item.items())
        case _:
            return


RULE = Rule(
    "ttl-milliseconds",
    Severity.WARNING,
    "The attribute that items expire by is set to milliseconds.",
    judge,
)
