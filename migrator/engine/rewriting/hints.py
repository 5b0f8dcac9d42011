"""What a record of a stream says of a rewrite: which pairs are to be looked at. Its images are never applied."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from migrator.core.item import Item, Key, fingerprint
from migrator.core.rewrite.phases import Side, other
from migrator.core.rewrite.rewrite import Rewrite
from migrator.core.rewrite.route import Image, Route
from migrator.core.streams import ChangeRecord
from migrator.engine.rewriting.pairs import Job


def jobs_of_changes(rewrite: Rewrite, authority: Side, table: str, records: Sequence[ChangeRecord]) -> list[Job]:
    """The pairs that changes of a table concern, each once, with every place where a twin may have stood."""
    found: dict[tuple[int, str], Job] = {}
    for record in records:
        for number, route in enumerate(rewrite.routes):
            for job in _jobs(route, authority, table, record):
                place = (number, fingerprint(job.key))
                known = found.get(place)
                hints = job.hints if known is None else _each_once((*known.hints, *job.hints))
                guess = job.guess if job.guess is not None or known is None else known.guess
                found[place] = Job(route, authority, job.key, hints, guess)
    return list(found.values())


def _jobs(route: Route, authority: Side, table: str, record: ChangeRecord) -> Iterable[Job]:
    images = [image for image in (record.old, record.new) if image is not None]
    if table == route.table(authority):
        keys = [twin.key for twin in _images(route, authority, images or [record.key])]
        # Where the twin of an earlier image stood; the item itself says where that of the present one does.
        yield Job(route, authority, record.key, hints=_each_once(keys), guess=keys[-1] if keys else None)
    if table == route.table(other(authority)):
        # A write to a twin: an echo of our own, or one of somebody who knows no phase.
        for origin in _images(route, other(authority), images or [record.key]):
            yield Job(route, authority, origin.key, hints=(record.key,))


def _images(route: Route, side: Side, items: Iterable[Item]) -> list[Image]:
    found = (route.image_of(side, item) for item in items)
    return [image for image in found if isinstance(image, Image)]


def _each_once(keys: Iterable[Key]) -> tuple[Key, ...]:
    return tuple({fingerprint(key): key for key in keys}.values())
