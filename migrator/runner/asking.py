"""The examples of access patterns, asked of the environment and held to their answers.

`ask` is what `patterns check --examples` runs, and what a key rewrite runs before its readers may move.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from migrator.control.layout import application_items
from migrator.core.findings import Finding, Severity
from migrator.core.item import Item, canonical, key_of, key_text, same, text, type_of
from migrator.core.patterns.judge import is_get, judge, serves
from migrator.core.patterns.pattern import AccessPattern, Answer, Example, by_key
from migrator.core.patterns.question import Question
from migrator.core.ports import LiveTable
from migrator.core.schema import Schema, Table
from migrator.errors import MigratorError
from migrator.runner.session import Session

PAGES = 3
"""An answer is read a second time in at least so many pages, if it has so many items."""
ATTEMPTS = 3
"""An index follows its table by a moment: what differs is asked again."""
PAUSE = 1.0
"""Seconds between them."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One example and what became of it."""

    pattern: AccessPattern
    state: str
    """right | wrong | pending | not-served | not-ready."""
    given: str = ""
    items: tuple[str, ...] = ()
    """The answer as texts."""
    pages: int = 0
    """In how many pages it was read the second time; 0 where once was enough."""
    findings: tuple[Finding, ...] = ()


def ask(session: Session, patterns: Iterable[AccessPattern], schema: Schema, due: Collection[str]) -> tuple[Asked, ...]:
    """Each example of each pattern. `schema` is what stands; `due` names the patterns that it has to serve.

    Reads only, strongly consistent where the service can. Patterns without an example are passed over.
    """
    return tuple(asked for pattern in patterns for asked in _ask(session, pattern, schema, due))


def refuse_wrong(asked: Iterable[Asked]) -> None:
    """Raises MigratorError `patterns-differ` (exit 6) where a reader would get another answer than it should."""
    wrong = [one for one in asked if one.state not in ("right", "pending")]
    if wrong:
        named = "; ".join(f"{one.pattern.name}: {finding.message}" for one in wrong for finding in one.findings)
        raise MigratorError(
            "patterns-differ",
            f"access patterns do not get their answers: {named}",
            hint="nothing was changed; see `migrator patterns check --examples`",
            exit_code=6,
        )


def _ask(session: Session, pattern: AccessPattern, schema: Schema, due: Collection[str]) -> Iterator[Asked]:
    if not pattern.examples:
        return
    alias = schema.alias(pattern.table)
    table, live = schema.tables.get(alias), session.live.get(alias)
    if table is None or live is None or not serves(pattern, table):
        if pattern.name in due:
            why = tuple(one for one in judge(pattern, table) if one.severity is Severity.ERROR)
            yield Asked(pattern, "not-served", findings=why)
        else:
            yield Asked(pattern, "pending")
        return
    index = live.indexes.get(pattern.index)
    if index is not None and not index.is_ready:
        message = f"index {pattern.index} of {live.name} is {index.status}: it cannot be read yet"
        yield Asked(pattern, "not-ready", findings=(_finding("pattern-not-ready", message, "ask again when it is"),))
        return
    asking = _Asking(session, pattern, table, live)
    for example in pattern.examples:
        yield asking.ask(example)


@dataclass(frozen=True, slots=True)
class _Asking:
    session: Session
    pattern: AccessPattern
    table: Table
    live: LiveTable

    def ask(self, example: Example) -> Asked:
        given = ", ".join(f"{name} = {text(value)}" for name, value in example.given.items())
        try:
            question = self.pattern.asked(example.given, self.live.name)
        except ValueError as exc:
            finding = _finding("pattern-not-held", f"its key cannot be made of {given}: {exc}", "correct given =")
            return Asked(self.pattern, "wrong", given, findings=(finding,))
        for attempt in range(1, ATTEMPTS + 1):
            found = self._answer(question)
            findings = [*self._differences(example, found), *self._counted(found)]
            pages = 0
            if not findings and not self._is_get and len(found) > 1 and self.pattern.limit is None:
                pages, paged = self._paged(question, len(found))
                findings += self._paged_differently(found, paged)
            if not findings or not self.pattern.index or attempt == ATTEMPTS:
                break
            self.session.ports.clock.sleep(PAUSE)
        shown = tuple(self._shown(item) for item in found)
        return Asked(self.pattern, "wrong" if findings else "right", given, shown, pages, tuple(findings))

    # --- reading

    @property
    def _is_get(self) -> bool:
        return is_get(self.pattern, self.table)

    def _answer(self, question: Question) -> list[Item]:
        """The answer as the application gets it: up to its limit, else all of it."""
        if self._is_get:
            item = self.session.items.get(question.table, by_key(question.key))
            return [] if item is None else self._own([item])
        limit, found, start = self.pattern.limit, list[Item](), None
        while True:
            self.session.stop.raise_if_asked()
            left = None if limit is None or question.filter else limit - len(found)
            page = self.session.ports.queries.ask(question, start=start, limit=left)
            found += self._own(page.items)
            start = page.next
            if start is None or (limit is not None and len(found) >= limit):
                return found if limit is None else found[:limit]

    def _paged(self, question: Question, count: int) -> tuple[int, list[Item]]:
        """The answer read again in small pages, each from where the one before ended."""
        pages, found, start = 0, list[Item](), None
        while True:
            self.session.stop.raise_if_asked()
            page = self.session.ports.queries.ask(question, start=start, limit=max(1, count // PAGES))
            pages += bool(page.items)
            found += self._own(page.items)
            start = page.next
            if start is None:
                return pages, found

    def _own(self, items: Sequence[Item]) -> list[Item]:
        """Without control records."""
        prefix = self.session.control_prefixes.get(self.live.name)
        return list(application_items(items, self.table.key_names[0], prefix))

    # --- judging

    def _differences(self, example: Example, found: Sequence[Item]) -> Iterator[Finding]:
        shown = [self._shown(item) for item in found]
        if example.answer is not None:
            missing = [one for one in example.answer if not any(self._is(one, item) for item in found)]
            extra = [
                text
                for text, item in zip(shown, found, strict=True)
                if not any(self._is(a, item) for a in example.answer)
            ]
            if missing or extra or len(found) != len(example.answer):
                parts = [f"lacks {self._named(one)}{self._why(one)}" for one in missing]
                parts += [f"has {one}, which is not expected" for one in extra]
                parts = parts or [f"has {len(found)} items, and {len(example.answer)} are expected"]
                yield _finding("pattern-answer", f"the answer {'; '.join(parts)}", _HINT)
            elif not self._is_in_order(example.answer, found):
                wanted = ", ".join(map(self._named, example.answer))
                yield _finding(
                    "pattern-answer", f"the answer comes as {', '.join(shown)}, and {wanted} is expected", _HINT
                )
        for one in example.absent:
            if any(self._is(one, item) for item in found):
                yield _finding("pattern-answer", f"the answer has {self._named(one)}, which must not be in it", _HINT)

    def _counted(self, found: Sequence[Item]) -> Iterator[Finding]:
        if len(found) not in self.pattern.expect:
            yield _finding(
                "pattern-cardinality",
                f"the answer has {len(found)} items, and {self.pattern.expect} are expected",
                "correct expect =, or the items",
            )

    def _paged_differently(self, found: Sequence[Item], paged: Sequence[Item]) -> Iterator[Finding]:
        # Items with one sort key value come in any order.
        left, right = (
            Counter(key_text(key_of(item, self.table.key_names)) for item in side) for side in (found, paged)
        )
        if left != right:
            yield _finding(
                "pattern-pages",
                f"read in small pages the answer has {len(paged)} items, and {len(found)} in one go",
                "was it written to meanwhile? ask again; a reader must go on from each LastEvaluatedKey",
            )

    def _is(self, wanted: Answer, item: Item) -> bool:
        if isinstance(wanted, str):
            return self._shown(item) == wanted
        return all(same(item.get(name), value) for name, value in wanted.items())

    def _is_in_order(self, wanted: Sequence[Answer], found: Sequence[Item]) -> bool:
        """Whether the items come as wanted; among those of one sort key the service promises no order."""
        index = self.table.indexes.get(self.pattern.index)
        names = [key.name for key in (index.sort_key if index is not None else self.table.key[1:])]
        place = 0
        for _, group in groupby(found, key=lambda item: [canonical(item[name]) for name in names]):
            together = list(group)
            here = wanted[place : place + len(together)]
            place += len(together)
            if not all(any(self._is(one, item) for item in together) for one in here):
                return False
        return True

    def _why(self, wanted: Answer) -> str:
        """Why an expected item is not there, where its key says which one it is."""
        names = self.table.key_names
        if isinstance(wanted, str) or not set(names) <= set(wanted):
            return ""
        key = key_of(wanted, names)
        item = self.session.items.get(self.live.name, key)
        if item is None:
            return " (there is no such item)"
        index = self.table.indexes.get(self.pattern.index)
        for attribute in index.keys if index is not None else ():
            value = item.get(attribute.name)
            if value is None:
                return f" (it lacks {attribute.name}, a part of the index's key, and so is not in it)"
            if type_of(value) != attribute.type:
                return f" (its {attribute.name} is of type {type_of(value)}, and the index takes {attribute.type})"
        if not self._is(wanted, item):
            return " (it stands there with other attributes)"
        return " (it stands there under another key value than the one asked for)"

    def _named(self, wanted: Answer) -> str:
        return wanted if isinstance(wanted, str) else "{" + key_text(wanted) + "}"

    def _shown(self, item: Item) -> str:
        show = self.pattern.show
        if show is None or show.missing(item):
            return "{" + key_text(key_of(item, self.table.key_names)) + "}"
        try:
            (value,) = show.render(item).values()
        except ValueError:
            return "{" + key_text(key_of(item, self.table.key_names)) + "}"
        return str(value)


_HINT = "is the index built and filled? `migrator status`; else correct the example or the items"


def _finding(rule: str, message: str, hint: str) -> Finding:
    return Finding(rule, Severity.ERROR, message, hint)
