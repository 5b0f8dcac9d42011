"""Where in its file an operation stands, and what the file's comments allow there."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """The lines of one operation, from 1, the last one included."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Allowance:
    """`# migrator: allow RULE because REASON`: what a reviewer is to see instead of a finding."""

    line: int
    covers: int
    """The line it speaks of: its own, or the first one below where it stands on a line of its own."""
    rules: tuple[str, ...]
    reason: str
    """"" where none is given; such a one allows nothing."""

    def reaches(self, place: Place) -> bool:
        return place.first <= self.covers <= place.last
