"""Local times: they neither sort nor compare, and an hour a year comes twice."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

from migrator.core.findings import Severity
from migrator.core.rules.release import Release
from migrator.core.rules.rule import Remark, Rule
from migrator.core.rules.written import written_texts
from migrator.core.steps import RunFunction, Step, TransformItems

_CLOCK = r"(?:\d{4}-\d\d-\d\d[ T]|\A |T)\d\d:\d\d(?::\d\d(?:\.\d+)?)?"
"""A time after its date, or after what a template puts before it; "09:30-10:30" alone is a span of time."""
_OFFSET = re.compile(rf"(?:\A|{_CLOCK})(?P<offset>[+-](?:0\d|1[0-4]):[0-5]\d)(?!\d)")
_HOURS = re.compile(r"%[HI]")
_ZONED = re.compile(r"%z|(?:Z|\+00:00)\Z")


def judge(release: Release) -> Iterator[Remark]:
    """A remark for each operation that writes a time with an offset, or a format without a zone, or code that does."""
    for one in release.todo():
        signs = dict.fromkeys(sign for step in one.steps for sign in _signs(step))
        if signs:
            yield Remark(
                one,
                f"{'; '.join(signs)}: local times do not sort with those of another offset, and one hour comes twice "
                "when clocks go back",
                "store UTC in one width (2026-11-30T17:22:04Z) and turn it into local time where it is shown",
            )


def _signs(step: Step) -> Iterator[str]:
    for written in written_texts(step):
        if sign := local_sign(written.text):
            yield f"{written.where}: {sign}"
    match step:
        case TransformItems(transform=work) if work.function is not None:
            yield from _signs_of(work.function)
        case RunFunction(function=function):
            yield from _signs_of(function)
        case _:
            pass


def _signs_of(function: Callable[..., Any]) -> Iterator[str]:
    """What the constants and names of a function betray; what it calls is not followed."""
    code = getattr(function, "__code__", None)
    name = getattr(function, "__name__", "the function")
    if not isinstance(code, CodeType):
        return
    documentation = function.__doc__
    for part in _codes(code):
        if "localtime" in part.co_names:
            yield f"{name}(): localtime"
        for constant in part.co_consts:
            if isinstance(constant, str) and constant != documentation and (sign := local_sign(constant)):
                yield f"{name}(): {sign}"


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def local_sign(text: str) -> str:
    """What in the text speaks of a local time: an offset other than zero, or hours formatted without a zone; or ""."""
    match = _OFFSET.search(text)
    if match is not None and match["offset"][1:] != "00:00":
        return f"the offset {match['offset']}"
    if _HOURS.search(text) and not _ZONED.search(text):
        return f"the format {text!r} has hours and no zone"
    return ""


RULE = Rule(
    "local-time",
    Severity.WARNING,
    "A time is written with an offset, or formatted without a zone.",
    judge,
)
