"""Exports to S3 as the service writes them, synced to this machine: manifests, and gzipped files of DynamoDB JSON."""

from __future__ import annotations

import base64
import binascii
import gzip
import hashlib
import json
import zlib
from collections.abc import Callable, Generator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from migrator.core.item import AttributeValue, Item
from migrator.errors import UsageError, counted

_SUMMARY, _FILES = "manifest-summary.json", "manifest-files.json"
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class ExportFile:
    """A data file as the manifest tells of it; `md5` is base64, of the compressed bytes."""

    path: Path
    md5: str
    items: int


@dataclass(frozen=True, slots=True)
class ExportFolder:
    """A full export of one table in a folder: the Export of `core.exports`."""

    id: str
    table_arn: str
    table_id: str
    time: datetime
    item_count: int
    files: tuple[ExportFile, ...]

    @property
    def size_bytes(self) -> int:
        return sum(file.path.stat().st_size for file in self.files)

    @property
    def file_count(self) -> int:
        return len(self.files)

    def verify(self, before_each: Callable[[], None]) -> None:
        for file in self.files:
            before_each()
            found = hashlib.md5(usedforsecurity=False)
            try:
                with file.path.open("rb") as stream:
                    while block := stream.read(_BLOCK):
                        found.update(block)
            except OSError as exc:
                raise _bad(f"cannot read {file.path}: {exc.strerror}") from exc
            if base64.b64encode(found.digest()).decode() != file.md5:
                raise _bad(f"{file.path} is not the file that the manifest tells of: its MD5 differs")

    def items(self, file: int, skip: int) -> Generator[Item]:
        if file >= len(self.files):
            # An empty table has an export without files; it still has a first segment.
            return
        one = self.files[file]
        number = 0
        try:
            with gzip.open(one.path, "rt", encoding="utf-8") as lines:
                for number, line in enumerate(lines, 1):
                    if number > skip:
                        yield _item(line, one.path, number)
        except (OSError, EOFError, zlib.error, UnicodeDecodeError) as exc:
            raise _bad(f"cannot read {one.path} after line {number}: {exc}") from exc
        if number != one.items:
            raise _bad(f"{one.path} holds {counted(number, 'item')}, the manifest says {one.items:,}")


def read_export(place: Path) -> ExportFolder:
    """The export in a folder, or in the one `AWSDynamoDB/ID` below it, by its manifests. Raises `bad-export`.

    Its data files are there, and are not read yet.
    """
    folder = _folder(place)
    summary = _json(folder / _SUMMARY, _text(folder / _SUMMARY))
    try:
        kind, form = summary.get("exportType", "FULL_EXPORT"), summary["outputFormat"]
        if kind != "FULL_EXPORT":
            raise _bad(f"{folder} is an incremental export: it does not hold the items that did not change")
        if form != "DYNAMODB_JSON":
            raise _bad(f"{folder} is in {form}; export with --export-format DYNAMODB_JSON")
        export = ExportFolder(
            str(summary["exportArn"]),
            str(summary["tableArn"]),
            str(summary["tableId"]),
            datetime.fromisoformat(summary["exportTime"]).astimezone(UTC),
            int(summary["itemCount"]),
            _files(folder),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as exc:
        raise _bad(f"{folder / _SUMMARY} is no summary of an export: {type(exc).__name__}: {exc}") from exc
    listed = sum(file.items for file in export.files)
    if listed != export.item_count:
        raise _bad(f"{folder}: the summary tells of {export.item_count:,} items, the list of files of {listed:,}")
    return export


def _folder(place: Path) -> Path:
    if (place / _SUMMARY).is_file():
        return place
    found = sorted(path.parent for path in place.glob(f"AWSDynamoDB/*/{_SUMMARY}")) if place.is_dir() else []
    if not found:
        raise _bad(f"there is no {_SUMMARY} in {place}")
    if len(found) > 1:
        raise _bad(f"{place} holds {len(found)} exports: name one of them, such as {found[-1]}")
    return found[0]


def _files(folder: Path) -> tuple[ExportFile, ...]:
    path = folder / _FILES
    found = []
    for line in _text(path).splitlines():
        if not line.strip():
            continue
        entry = _json(path, line)
        try:
            # Only the name counts: the rest of the key is where the file lies in the bucket.
            name = str(entry["dataFileS3Key"]).rpartition("/")[2]
            file = ExportFile(folder / "data" / name, str(entry["md5Checksum"]), int(entry["itemCount"]))
        except (KeyError, TypeError, ValueError) as exc:
            raise _bad(f"{path} has a line that names no file: {type(exc).__name__}: {exc}") from exc
        if not file.path.is_file():
            raise _bad(f"{file.path} is missing; the manifest tells of it")
        found.append(file)
    return tuple(found)


def _item(line: str, path: Path, number: int) -> Item:
    try:
        item = json.loads(line)["Item"]
        if not isinstance(item, dict):
            raise TypeError("the item is no object")
        # Whatever holds a binary says so by a "B" or a "BS": most lines need no second look.
        return {name: _value(value) for name, value in item.items()} if '"B' in line else item
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, binascii.Error) as exc:
        raise _bad(f"{path}, line {number} is no item in DynamoDB JSON: {type(exc).__name__}") from exc


def _value(value: dict[str, Any]) -> AttributeValue:
    ((kind, content),) = value.items()
    match kind:
        case "B":
            return {"B": base64.b64decode(content, validate=True)}
        case "BS":
            return {"BS": [base64.b64decode(binary, validate=True) for binary in content]}
        case "L":
            return {"L": [_value(entry) for entry in content]}
        case "M":
            return {"M": {name: _value(entry) for name, entry in content.items()}}
        case _:
            return value


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        raise _bad(f"cannot read {path}: {exc}") from exc


def _json(path: Path, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise _bad(f"{path} is no JSON: {exc}") from exc


def _bad(message: str) -> UsageError:
    return UsageError(
        "bad-export",
        message,
        hint="sync the whole folder of a full export again (`aws s3 sync`); see docs/from-export.md",
    )
