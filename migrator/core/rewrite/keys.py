"""What a key alone tells of its item's place on the other side, before anything is read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from migrator.core.item import Key, same_item
from migrator.core.rewrite.form import Form
from migrator.core.rewrite.images import Image
from migrator.core.rewrite.phases import Side, other
from migrator.core.rewrite.route import Route
from migrator.core.view import ItemView


def is_of_keys(route: Route) -> bool:
    """Whether keys alone say which items have a twin, and where."""
    return route.is_static and route.mark is None


def across(route: Route, side: Side, key: Key) -> Key | None:
    """The key on the other side, for a route of keys alone; None where the key is not one of its side."""
    bare = replace(route, set=Form(), keep=None)
    image = bare.image_of(side, key)
    if not isinstance(image, Image):
        return None
    back = bare.image_of(other(side), image.key)
    return image.key if isinstance(back, Image) and same_item(back.key, key) else None


def derived_old_keys(route: Route, key: Key) -> Iterator[Key]:
    """The old keys that a new one tells, whether or not an item there leads here; none where it takes more to know."""
    if route.mark is None:
        view = ItemView(key)
        yield from route._old_keys(route._new_fields(view), view)
