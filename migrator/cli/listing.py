"""Violators as a stream of lines, each written as it is found: CSV for a spreadsheet, JSON lines for a program."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import IO, assert_never

from migrator.cli.render.document import encoded
from migrator.errors import UsageError
from migrator.runner.results import Violator

Listing = Callable[[Violator], None]


class Format(StrEnum):
    TEXT = "text"
    CSV = "csv"
    JSONL = "jsonl"


def format_of(chosen: Format | None, out: Path | None) -> Format:
    """The format that was asked for, else the one that the file's name ends in. Raises UsageError `usage`."""
    if out is None:
        return chosen or Format.TEXT
    named = out.suffix.removeprefix(".").lower()
    found = chosen or (Format(named) if named in (Format.CSV, Format.JSONL) else Format.TEXT)
    if found is Format.TEXT:
        raise UsageError(
            "usage",
            f"text shows the first violators only, and {out} is to hold all of them",
            hint="add --format csv or --format jsonl, or name a file that ends in .csv or .jsonl",
        )
    return found


def lines_to(stream: IO[str], form: Format) -> Listing:
    """What writes violators to the stream. Their number does not matter: none is kept."""
    match form:
        case Format.CSV:
            return _csv(stream)
        case Format.JSONL:
            return _jsonl(stream)
        case Format.TEXT:
            raise AssertionError("text is no listing")
        case _:
            assert_never(form)


def _jsonl(stream: IO[str]) -> Listing:
    """One object for each item: its key as DynamoDB JSON, and its problems."""

    def write(violator: Violator) -> None:
        stream.write(json.dumps(encoded(violator), ensure_ascii=False) + "\n")

    return write


def _csv(stream: IO[str]) -> Listing:
    """One row for each problem: the key as DynamoDB JSON, which is exact, then attribute, code and reason."""
    rows = csv.writer(stream, lineterminator="\n")
    rows.writerow(("key", "attribute", "code", "reason"))

    def write(violator: Violator) -> None:
        key = json.dumps(encoded(violator.key), ensure_ascii=False)
        rows.writerows((key, one.attribute, one.code, one.reason) for one in violator.problems)

    return write


@contextmanager
def whole_file(path: Path) -> Iterator[IO[str]]:
    """A file that is there once the block ends well, and not at all where it does not."""
    draft = path.with_name(path.name + ".part")
    try:
        stream = draft.open("w", encoding="utf-8", errors="backslashreplace", newline="")
    except OSError as exc:
        raise _unwritable(path, exc) from exc
    try:
        with stream:
            yield stream
        os.replace(draft, path)
    except OSError as exc:
        raise _unwritable(path, exc) from exc
    finally:
        with suppress(OSError):
            draft.unlink()


def _unwritable(path: Path, exc: OSError) -> UsageError:
    return UsageError(
        "list-not-written", f"cannot write the list to {path}: {exc.strerror}", hint="name another file with --out"
    )
