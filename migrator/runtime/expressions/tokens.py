"""The words of an expression, with its names and values in their places."""

from __future__ import annotations

import re
from collections.abc import Mapping

from migrator.core.item import AttributeValue
from migrator.runtime.expressions.paths import Path, Step

_WORD = re.compile(
    r"\s*(?:([A-Za-z_][A-Za-z0-9_]*)|(#[A-Za-z0-9_]+)|(:[A-Za-z0-9_]+)|(\d+)|(<>|<=|>=|[-+=<>(),.\[\]]))"
)


class BadExpression(ValueError):
    """What cannot be read as an expression of the service's language."""


class Words:
    """An expression, word by word. Reserved words pass for names: whether they may be is for the service to say."""

    def __init__(self, text: str, names: Mapping[str, str], values: Mapping[str, AttributeValue]):
        self._names = names
        self._values = values
        self._words: list[str] = []
        position = 0
        text = text.rstrip()
        while position < len(text):
            match = _WORD.match(text, position)
            if match is None:
                raise BadExpression(f"at {text[position : position + 20]!r}")
            self._words.append(match.group().strip())
            position = match.end()
        self._at = 0

    @property
    def next(self) -> str:
        """The word to come, "" at the end."""
        return self._words[self._at] if self._at < len(self._words) else ""

    @property
    def after_next(self) -> str:
        return self._words[self._at + 1] if self._at + 1 < len(self._words) else ""

    def take(self) -> str:
        word = self.next
        if not word:
            raise BadExpression("it ends too early")
        self._at += 1
        return word

    def skip(self, word: str) -> bool:
        """Take the word if it comes next."""
        if self.next.upper() != word:
            return False
        self._at += 1
        return True

    def expect(self, word: str) -> None:
        if not self.skip(word):
            raise BadExpression(f"{word!r} is expected before {self.next!r}")

    def end(self) -> None:
        if self.next:
            raise BadExpression(f"{self.next!r} is left over")

    def value(self) -> AttributeValue:
        word = self.take()
        try:
            return self._values[word]
        except KeyError:
            raise BadExpression(f"{word} is no value that is given") from None

    def name(self) -> str:
        word = self.take()
        if word.startswith("#"):
            try:
                return self._names[word]
            except KeyError:
                raise BadExpression(f"{word} is no name that is given") from None
        if not (word[0].isalpha() or word[0] == "_"):
            raise BadExpression(f"{word!r} is no attribute")
        return word

    def path(self) -> Path:
        top = self.name()
        steps: list[Step] = []
        while True:
            if self.skip("."):
                steps.append(self.name())
            elif self.skip("["):
                position = self.take()
                if not position.isdigit():
                    raise BadExpression(f"{position!r} is no position in a list")
                steps.append(int(position))
                self.expect("]")
            else:
                return Path(top, tuple(steps))


def paths_of(text: str, names: Mapping[str, str]) -> tuple[Path, ...]:
    """The paths of a ProjectionExpression."""
    words = Words(text, names, {})
    found = [words.path()]
    while words.skip(","):
        found.append(words.path())
    words.end()
    return tuple(found)
