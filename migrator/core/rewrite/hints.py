"""What a record of a stream says of a rewrite: which pairs are to be looked at. Its images are never applied."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from migrator.core.item import Item, Key, fingerprint
from migrator.core.rewrite.keys import across, is_of_keys
from migrator.core.rewrite.phases import Side, other
from migrator.core.rewrite.reconcile import Place
from migrator.core.rewrite.rewrite import Rewrite
from migrator.core.rewrite.route import Image, Route
from migrator.core.streams import ChangeRecord

WITH_OLD_IMAGES = ("NEW_AND_OLD_IMAGES", "OLD_IMAGE")
"""Views of a stream that tell where a twin may have stood that is to go."""
PROBE = "probe#"
"""What the rest of a probe's partition key begins with, after the prefix of control records."""


@dataclass(frozen=True, slots=True)
class Job:
    """One pair: the key of the item on the authority's side; where its twin may stand.

    `hints` are keys on the twin's side of which a twin is taken away that does not belong there any more; `guess` is
    where the twin is looked for first.
    """

    route: Route
    authority: Side
    key: Key
    hints: tuple[Key, ...] = ()
    guess: Key | None = None

    @property
    def home(self) -> Place:
        return Place(self.route.table(self.authority), self.key)

    @property
    def places(self) -> tuple[Place, ...]:
        """What is read first."""
        twins = self.route.table(other(self.authority))
        keys = [*([] if self.guess is None else [self.guess]), *self.hints]
        return (self.home, *(Place(twins, key) for key in keys))


def view_suffices(rewrite: Rewrite, view: str) -> bool:
    """Whether records of this view tell all pairs that a change concerns."""
    return view in WITH_OLD_IMAGES or all(is_of_keys(route) for route in rewrite.routes)


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
    if table == route.table(authority):
        keys = _across(route, authority, record)
        # Where the twin of an earlier image stood; the item itself says where that of the present one does.
        yield Job(route, authority, record.key, hints=_each_once(keys), guess=keys[-1] if keys else None)
    if table == route.table(other(authority)):
        # A write to a twin: an echo of our own, or one of somebody who knows no phase.
        for origin in _across(route, other(authority), record):
            yield Job(route, authority, origin, hints=(record.key,))


def _across(route: Route, side: Side, record: ChangeRecord) -> list[Key]:
    """Keys on the other side, of each image; of the key where that tells, whatever else the item lacks."""
    if is_of_keys(route):
        told = across(route, side, record.key)
        return [] if told is None else [told]
    images: list[Item] = [image for image in (record.old, record.new) if image is not None]
    made = (route.image_of(side, image) for image in images or [record.key])
    return [image.key for image in made if isinstance(image, Image)]


def _each_once(keys: Iterable[Key]) -> tuple[Key, ...]:
    return tuple({fingerprint(key): key for key in keys}.values())


def partition_name(rewrite: Rewrite, table: str) -> str:
    """The partition key of one of the rewrite's tables."""
    for route in rewrite.routes:
        for side in ("old", "new"):
            if route.table(side) == table:
                return route.names(side)[0]
    raise ValueError(f"{table} is no table of the rewrite")


def probe_of(record: ChangeRecord, partition: str, prefix: str) -> str:
    """The nonce of the probe that a record is of, "" for any other record."""
    text = str(record.key[partition].get("S", ""))
    return text.removeprefix(prefix + PROBE) if text.startswith(prefix + PROBE) else ""
