"""The revision graph: heads, merges, order, and what a target such as `head`, `+1` or `REV-2` names."""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TypeAlias

from migrator.core.plan import Migration
from migrator.errors import UsageError, counted

SYMBOLS = frozenset({"head", "heads", "base"})
"""Words that a target may be; no revision may be called so."""

_Step: TypeAlias = Callable[[str], Iterable[str]]
_RELATIVE = re.compile(r"(?P<anchor>.*?)(?P<offset>[+-][0-9]{1,18})?", re.DOTALL)


class Graph:
    """Migrations joined by `down_revision`. Immutable; refuses what is no graph.

    Raises UsageError `duplicate-revision`, `unknown-parent` or `revision-cycle`, with the files' names.
    """

    __slots__ = ("_children", "_migrations", "_order")

    def __init__(self, migrations: Iterable[Migration]):
        self._migrations: dict[str, Migration] = {}
        for migration in migrations:
            other = self._migrations.setdefault(migration.revision, migration)
            if other is not migration:
                raise UsageError(
                    "duplicate-revision",
                    f"two files have revision {migration.revision!r}: {other.path} and {migration.path}",
                    hint="give the newer file an id of its own, as `migrator revision` does",
                )
        self._children: dict[str, list[str]] = {revision: [] for revision in self._migrations}
        for migration in self._migrations.values():
            for parent in migration.down_revisions:
                if parent not in self._children:
                    raise UsageError(
                        "unknown-parent",
                        f"{migration.path}: down_revision {parent!r} is the revision of no file here",
                        hint="restore that file, or correct down_revision",
                    )
                self._children[parent].append(migration.revision)
        for children in self._children.values():
            children.sort()
        self._order = self._sorted()

    # --- the shape ----------------------------------------------------------------------------------------------------

    @property
    def migrations(self) -> Mapping[str, Migration]:
        """Revision -> migration."""
        return MappingProxyType(self._migrations)

    def __len__(self) -> int:
        return len(self._migrations)

    def __contains__(self, revision: object) -> bool:
        return revision in self._migrations

    def __iter__(self) -> Iterator[Migration]:
        """The migrations in order."""
        return iter(self.order())

    def __getitem__(self, revision: str) -> Migration:
        """Raises UsageError `unknown-revision`. Takes whole ids only; `find` takes prefixes."""
        try:
            return self._migrations[revision]
        except KeyError:
            raise _unknown(revision) from None

    @property
    def heads(self) -> tuple[str, ...]:
        """The revisions that are nobody's parent."""
        return tuple(sorted(revision for revision, children in self._children.items() if not children))

    @property
    def bases(self) -> tuple[str, ...]:
        """The revisions without a parent."""
        return tuple(sorted(r for r, migration in self._migrations.items() if not migration.down_revisions))

    def order(self) -> tuple[Migration, ...]:
        """Parents before children; among those that could come next, the smaller id first."""
        return tuple(self._migrations[revision] for revision in self._order)

    def children(self, revision: str) -> tuple[str, ...]:
        return tuple(self._children[self[revision].revision])

    def ancestors(self, *revisions: str, inclusive: bool = False) -> frozenset[str]:
        """All that these revisions build on."""
        return self._reach(revisions, lambda revision: self[revision].down_revisions, inclusive)

    def descendants(self, *revisions: str, inclusive: bool = False) -> frozenset[str]:
        """All that builds on these revisions."""
        return self._reach(revisions, self.children, inclusive)

    # --- against a history --------------------------------------------------------------------------------------------

    def current(self, applied: Collection[str]) -> tuple[str, ...]:
        """The applied revisions on which no other applied one builds. Ids without a file are left out."""
        known = [revision for revision in applied if revision in self]
        return tuple(sorted(set(known) - self.ancestors(*known)))

    def missing(self, applied: Collection[str]) -> tuple[str, ...]:
        """Applied ids that no file here has."""
        return tuple(sorted(revision for revision in set(applied) if revision not in self))

    def out_of_order(self, applied: Collection[str]) -> tuple[str, ...]:
        """Unapplied ancestors of applied revisions, in order.

        Two branches joined by a merge are none: until the merge is applied, neither is an ancestor of the other.
        """
        built_on = self.ancestors(*(revision for revision in applied if revision in self))
        return tuple(revision for revision in self._order if revision in built_on and revision not in applied)

    def pending(self, target: str, applied: Collection[str]) -> tuple[Migration, ...]:
        """What an upgrade to the target applies, in order."""
        wanted = self.ancestors(*self.resolve(target, applied), inclusive=True)
        return tuple(self._migrations[r] for r in self._order if r in wanted and r not in applied)

    def to_undo(self, target: str, applied: Collection[str]) -> tuple[Migration, ...]:
        """What a downgrade to the target undoes, newest first: the applied revisions that build on it.

        Raises UsageError `not-applied` where the target is itself not applied.
        """
        kept = self.resolve(target, applied)
        for revision in kept:
            if revision not in applied:
                raise UsageError(
                    "not-applied",
                    f"cannot go down to {revision}: it is not applied",
                    hint=f"`migrator upgrade {revision}` goes there; `migrator history --indicate-current` shows where "
                    "this environment is",
                )
        undone = self.descendants(*kept) if kept else frozenset(self._migrations)
        return tuple(self._migrations[r] for r in reversed(self._order) if r in undone and r in applied)

    # --- targets ------------------------------------------------------------------------------------------------------

    def find(self, revision: str) -> str:
        """The id that this is, or is the only prefix of.

        Raises UsageError `ambiguous-revision` or `unknown-revision`.
        """
        if revision in self:
            return revision
        matches = sorted(known for known in self._migrations if revision and known.startswith(revision))
        if len(matches) > 1:
            shown = ", ".join(matches[:5]) + (f" and {len(matches) - 5} more" if len(matches) > 5 else "")
            raise UsageError(
                "ambiguous-revision",
                f"{revision!r} begins {len(matches)} revisions: {shown}",
                hint="give more digits",
            )
        if not matches:
            raise _unknown(revision)
        return matches[0]

    def resolve(self, target: str, applied: Collection[str]) -> tuple[str, ...]:
        """The topmost revisions that hold once the target is reached; () is the base.

        Takes `head`, `heads`, `base`, a revision or a unique prefix, each but `heads` with `+n` or `-n`; `+n` and `-n`
        alone count from what is applied. Raises UsageError `multiple-heads`, `ambiguous-revision`,
        `unknown-revision`, `ambiguous-target` (branches part on the way) or `no-such-target` (the way is too short).
        """
        match = _RELATIVE.fullmatch(target.strip())
        assert match is not None, "the pattern matches any text"
        anchor, offset = match["anchor"], int(match["offset"] or 0)
        if not anchor and match["offset"]:
            return self._up_from(applied, offset) if match["offset"][0] == "+" else self._down_from(applied, -offset)
        if anchor == "heads" and not match["offset"]:
            return self.heads
        start = self._anchor(anchor)
        return self._walk(target, start, offset) if offset else start

    def _anchor(self, anchor: str) -> tuple[str, ...]:
        match anchor:
            case "base":
                return ()
            case "head":
                return self._only_head()
            case _:
                return (self.find(anchor),)

    def _only_head(self) -> tuple[str, ...]:
        heads = self.heads
        if len(heads) > 1:
            raise self._several_heads(heads)
        return heads

    def _several_heads(self, heads: tuple[str, ...]) -> UsageError:
        named = ", ".join(f"{head} ({self._migrations[head].path})" for head in heads)
        return UsageError(
            "multiple-heads",
            f"there are {len(heads)} heads: {named}",
            hint=f"join them with `migrator merge {' '.join(heads)}`, or name one, or `heads` for all",
        )

    def _up_from(self, applied: Collection[str], count: int) -> tuple[str, ...]:
        pending = [r for r in self._order if r not in applied]
        tops = tuple(sorted(set(pending) - self.ancestors(*pending)))
        if count and len(tops) > 1:
            raise self._several_heads(tops)
        if count > len(pending):
            raise UsageError(
                "no-such-target",
                f"+{count}: {counted(len(pending), 'revision')} pending, no more",
                hint="`migrator upgrade head` applies all of them",
            )
        return self.current({*applied, *pending[:count]})

    def _down_from(self, applied: Collection[str], count: int) -> tuple[str, ...]:
        left = {revision for revision in applied if revision in self}
        if count > len(left):
            raise UsageError(
                "no-such-target",
                f"-{count}: {counted(len(left), 'revision')} applied, no more",
                hint="`migrator downgrade base` undoes all of them",
            )
        for _ in range(count):
            left.remove(self._one(f"-{count}", self.current(left), "to undo"))
        return self.current(left)

    def _walk(self, target: str, start: tuple[str, ...], offset: int) -> tuple[str, ...]:
        at = start
        for _ in range(abs(offset)):
            if offset > 0:
                nexts = self.bases if not at else self.children(self._one(target, at, "to start from"))
            elif not at:
                nexts = ()
            else:
                nexts = self[self._one(target, at, "to start from")].down_revisions
                if not nexts:
                    at = ()
                    continue
            if not nexts:
                raise UsageError(
                    "no-such-target", f"{target}: the history is not that long", hint="see `migrator history`"
                )
            at = (self._one(target, nexts, "to follow"),)
        return at

    @staticmethod
    def _one(target: str, revisions: tuple[str, ...], purpose: str) -> str:
        if len(revisions) != 1:
            raise UsageError(
                "ambiguous-target",
                f"{target}: branches part here, there are several revisions {purpose}: {', '.join(revisions)}",
                hint="name the revision instead of counting",
            )
        return revisions[0]

    # --- walking ------------------------------------------------------------------------------------------------------

    def _reach(self, start: Iterable[str], step: _Step, inclusive: bool) -> frozenset[str]:
        start = tuple(start)
        found: set[str] = set()
        todo = list(start)
        while todo:
            for revision in step(todo.pop()):
                if revision not in found:
                    found.add(revision)
                    todo.append(revision)
        return frozenset(found.union(start) if inclusive else found)

    def _sorted(self) -> tuple[str, ...]:
        waiting = {revision: len(set(m.down_revisions)) for revision, m in self._migrations.items()}
        ready = [revision for revision, parents in waiting.items() if not parents]
        heapq.heapify(ready)
        found = []
        while ready:
            revision = heapq.heappop(ready)
            found.append(revision)
            for child in set(self._children[revision]):
                waiting[child] -= 1
                if not waiting[child]:
                    heapq.heappush(ready, child)
        if len(found) < len(waiting):
            raise self._cycle({revision for revision, parents in waiting.items() if parents})
        return tuple(found)

    def _cycle(self, stuck: set[str]) -> UsageError:
        """Each stuck revision has a stuck parent, so that going down from any of them ends in a circle."""
        path: list[str] = []
        at = min(stuck)
        while at not in path:
            path.append(at)
            at = min(parent for parent in self._migrations[at].down_revisions if parent in stuck)
        circle = path[path.index(at) :]
        named = " -> ".join(f"{revision} ({self._migrations[revision].path})" for revision in circle)
        return UsageError(
            "revision-cycle",
            f"revisions build on each other in a circle: {named} -> {circle[0]}",
            hint="correct down_revision in one of these files",
        )


def _unknown(revision: str) -> UsageError:
    return UsageError(
        "unknown-revision", f"no migration file has revision {revision!r}", hint="`migrator history` lists them"
    )
