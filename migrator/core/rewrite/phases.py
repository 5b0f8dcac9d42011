"""The phases of a key rewrite, and what each asks of writers and readers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

Phase: TypeAlias = Literal["expand", "dual-write", "cutover", "contract", "done"]
Side: TypeAlias = Literal["old", "new"]

PHASES: tuple[Phase, ...] = get_args(Phase)
"""In order. Two runs of an application are never more than one phase apart: see `Rules`."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What a phase asks of an application.

    Each phase differs from its neighbours so little that writers of both may be at work at once: nobody reads a side
    that somebody else does not write.
    """

    authority: Side
    """The side that decides, and that is read."""
    writes_twin: bool
    """Whether a write goes to both sides, in one transaction."""
    creates_twin: bool
    """Whether a twin that is missing is put. In contract it is not: what the tool has deleted stays deleted, and what
    still stands there is kept equal, so that an old item that differs was written by someone who knows no phase."""


RULES: dict[Phase, Rules] = {
    "expand": Rules("old", writes_twin=False, creates_twin=False),
    "dual-write": Rules("old", writes_twin=True, creates_twin=True),
    "cutover": Rules("new", writes_twin=True, creates_twin=True),
    "contract": Rules("new", writes_twin=True, creates_twin=False),
    "done": Rules("new", writes_twin=False, creates_twin=False),
}


def rules(phase: Phase, *, moves: bool = True) -> Rules:
    """What a phase asks. A rewrite that moves nothing has no cutover: its old side stays the authority throughout."""
    if moves:
        return RULES[phase]
    both = phase == "dual-write"
    return Rules("old", writes_twin=both, creates_twin=both)


_WITHOUT_CUTOVER: tuple[Phase, ...] = ("expand", "dual-write", "done")


def are_adjacent(one: Phase, other: Phase, *, moves: bool = True) -> bool:
    """Whether a change from one to the other is a single step: no more than two adjacent phases are live at once."""
    order = PHASES if moves else _WITHOUT_CUTOVER
    return one in order and other in order and abs(order.index(one) - order.index(other)) == 1


def other(side: Side) -> Side:
    return "new" if side == "old" else "old"
