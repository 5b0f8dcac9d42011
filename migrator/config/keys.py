"""Strict reading of a TOML table: every key is known and of its type, or the file and the key are named."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from migrator.errors import UsageError

T = TypeVar("T")

_BARE = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Section:
    """A table of the file, with the way to it: `env.prod.limits`."""

    file: Path
    way: tuple[str, ...]
    entries: Mapping[str, Any]
    code: str = "bad-config"
    """Of what it refuses."""

    def bad(self, key: str, problem: str, hint: str | None = None) -> UsageError:
        """The refusal of a key of this section."""
        where = ".".join(part if _BARE.fullmatch(part) else f'"{part}"' for part in (*self.way, key))
        return UsageError(self.code, f"{self.file}: {where}: {problem}", hint=hint)

    def only(self, known: Iterable[str]) -> None:
        """Refuses keys that are not known, with the nearest one that is."""
        known = sorted(known)
        for key in self.entries:
            if key not in known:
                near = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
                hint = f"did you mean {near[0]}?" if near else f"known here: {', '.join(known)}"
                raise self.bad(key, "unknown key", hint)

    def section(self, key: str) -> Section:
        """A table of tables; empty where absent."""
        value = self.entries.get(key, {})
        if not isinstance(value, dict):
            raise self.bad(key, f"expected a table, not {_kind(value)}")
        return Section(self.file, (*self.way, key), value, self.code)

    def sections(self) -> dict[str, Section]:
        """Each entry as a table, by its name."""
        for key in self.entries:
            if not key.strip():
                raise self.bad(key, "a name may not be empty")
        return {key: self.section(key) for key in self.entries}

    def list_of_sections(self, key: str) -> list[Section]:
        """A list of tables, `[[key]]`; empty where absent."""
        value = self._typed(key, list, "tables, each under [[…]]") or []
        found = []
        for number, entry in enumerate(value, 1):
            if not isinstance(entry, dict):
                raise self.bad(key, f"expected tables, each under [[{key}]], not {_kind(entry)}")
            found.append(Section(self.file, (*self.way, key, str(number)), entry, self.code))
        return found

    def text(self, key: str) -> str | None:
        """A string that is not empty, or None where the key is absent."""
        value = self._typed(key, str, "a string")
        if value is not None and not value.strip():
            raise self.bad(key, "may not be empty")
        if value is not None and "\0" in value:
            raise self.bad(key, "holds the character NUL, which no name and no path may")
        return value

    def texts(self, key: str) -> dict[str, str]:
        """A table of strings."""
        inner = self.section(key)
        for name, value in inner.entries.items():
            if not isinstance(value, str):
                raise inner.bad(name, f"expected a string, not {_kind(value)}", "put it in quotes")
        return dict(inner.entries)

    def names(self, key: str) -> tuple[str, ...]:
        """A list of strings; empty where absent."""
        value = self._typed(key, list, "a list of strings") or []
        for entry in value:
            if not isinstance(entry, str):
                raise self.bad(key, f"expected strings in the list, not {_kind(entry)}", "put each in quotes")
        return tuple(value)

    def choice(self, key: str, allowed: tuple[str, ...], default: str) -> str:
        value = self.text(key)
        if value is not None and value not in allowed:
            raise self.bad(key, f"{value!r} is none of {', '.join(allowed)}")
        return default if value is None else value

    def flag(self, key: str) -> bool:
        """False where absent."""
        return self._typed(key, bool, "true or false") or False

    def integer(self, key: str, least: int, most: int | None = None) -> int | None:
        value = self._typed(key, int, "a whole number")
        if value is not None and (value < least or (most is not None and value > most)):
            bounds = f"at least {least}" if most is None else f"from {least} to {most}"
            raise self.bad(key, f"must be {bounds}, not {_kind(value)}")
        return value

    def parsed(self, key: str, parse: Callable[[str | float], T]) -> T | None:
        """What `parse` makes of a string or a number; its ValueError names the key."""
        value = self.entries.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise self.bad(key, f"expected a string or a number, not {_kind(value)}")
        try:
            return parse(value)
        except ValueError as exc:
            raise self.bad(key, str(exc)) from exc

    def _typed(self, key: str, kind: type[T], name: str) -> T | None:
        value = self.entries.get(key)
        # A bool is an int to Python, not to a person.
        if value is None or (isinstance(value, kind) and (kind is bool or not isinstance(value, bool))):
            return value
        raise self.bad(key, f"expected {name}, not {_kind(value)}", "put it in quotes" if kind is str else None)


_MOST_BITS = 128


def _kind(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case dict():
            return "a table"
        case list():
            return "a list"
        case int() if value.bit_length() > _MOST_BITS:
            # Python refuses to print a number of thousands of digits.
            return "a number without measure"
        case _:
            return repr(value)
