"""Items that have nearly reached the 400 KB that one may have."""

from __future__ import annotations

from collections.abc import Iterator

from migrator.core.findings import Severity
from migrator.core.item import MAX_ITEM_BYTES, Item, item_size, key_of, key_text
from migrator.core.rules.release import PlacedOperation, Release
from migrator.core.rules.rule import Remark, Rule
from migrator.core.steps import PutItems, TransformItems

NEAR = MAX_ITEM_BYTES * 9 // 10
"""Bytes."""


def judge(release: Release) -> Iterator[Remark]:
    """A remark at each step that puts such items, or that makes sampled ones larger."""
    for one in release.todo():
        sample = release.samples.get(one.alias)
        for step in one.steps:
            match step:
                case PutItems(items=items):
                    large = [item for item in items if NEAR < item_size(item) <= MAX_ITEM_BYTES]
                    yield from _remark(one, large, f"of {len(items)} items to put")
                case TransformItems(transform=work) if sample and (work.set or work.copy or work.function):
                    large = [item for item in sample.items if item_size(item) > NEAR]
                    yield from _remark(one, large, f"of {len(sample.items):,} sampled items")
                case _:
                    pass


def _remark(one: PlacedOperation, large: list[Item], of: str) -> Iterator[Remark]:
    if not large or one.after is None:
        return
    names = [name for name in one.after.key_names if name in large[0]]
    yield Remark(
        one,
        f"{len(large)} {of} {'has' if len(large) == 1 else 'have'} over {NEAR:,} bytes, such as "
        f"{key_text(key_of(large[0], names))}: an item may have {MAX_ITEM_BYTES:,}, and a write beyond is refused",
        "split what grows off into items of their own, or keep large values in S3",
    )


RULE = Rule(
    "item-near-limit",
    Severity.WARNING,
    "An item is near the 400 KB that one may have.",
    judge,
)
