"""New migration files: their ids, their names and their text, laid out as a formatter would."""

from __future__ import annotations

import ast
import re
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from textwrap import indent

from migrator.errors import UsageError
from migrator.loader.literals import listing, quoted
from migrator.loader.source import literal_revisions

FILE_TEMPLATE = "{rev}_{slug}"

_ID_FORMAT = "%Y%m%d%H%M%S"
_ID = re.compile(r"[0-9]{14}")
_MAX_SLUG = 40
_FIRST_EXAMPLE = """\
# from migrator import CreateTable
#
# operations = [
#     CreateTable(partition_key="PK", sort_key="SK"),
# ]
operations = []
"""
_EXAMPLE = """\
# from migrator import AddIndex
#
# operations = [
#     AddIndex("ByOwner", partition_key="ownerId", sort_key="createdAt"),
# ]
operations = []
"""


def new_revision_id(existing: Iterable[str], now: datetime) -> str:
    """`now` in UTC as 14 digits; where one of that form is not below it, the next after the greatest.

    So an id is above all that were made before it, whatever the clock of the machine that made them. Raises
    UsageError `no-revision-id` where none of 14 digits is left.
    """
    if now.tzinfo is None:
        raise ValueError("now has no time zone")
    wanted = now.astimezone(UTC).strftime(_ID_FORMAT)
    greatest = max((revision for revision in existing if _ID.fullmatch(revision)), default="")
    return wanted if wanted > greatest else _after(greatest)


def _after(revision: str) -> str:
    """A second later; an id that is no time is counted on as a number."""
    try:
        later = datetime.strptime(revision, _ID_FORMAT).replace(tzinfo=UTC) + timedelta(seconds=1)
        return later.strftime(_ID_FORMAT)
    except (ValueError, OverflowError):
        number = int(revision) + 1
    if number >= 10**14:
        raise UsageError("no-revision-id", f"no id of 14 digits is above {revision}", hint="change that revision's id")
    return f"{number:014}"


def slug_of(message: str) -> str:
    """The message as part of a file name: lower-case ASCII words joined by `_`, 40 characters at most."""
    plain = unicodedata.normalize("NFKD", message).encode("ascii", "ignore").decode().lower()
    slug = ""
    for word in re.findall(r"[a-z0-9]+", plain):
        longer = f"{slug}_{word}" if slug else word[:_MAX_SLUG]
        if len(longer) > _MAX_SLUG:
            break
        slug = longer
    return slug or "revision"


def write_revision(
    script_location: Path,
    message: str,
    parents: Sequence[str],
    now: datetime,
    file_template: str = FILE_TEMPLATE,
    operations_source: str = "",
    functions_source: str = "",
    imports: Sequence[str] = (),
    remark: Sequence[str] = (),
) -> Path:
    """Writes a new migration file and returns its path; an existing file is never overwritten.

    `operations_source` is Python: operations with commas between them, whose names are imported from `migrator`.
    Without it the file shows an example: the first revision's is a table. `functions_source` is what the operations
    name, with the `imports` it needs of the standard library, one a line. `remark` is a comment above the operations;
    it stands alone where there are none. Raises UsageError `no-message`, `file-exists` or `cannot-write`.
    """
    # What a remark repeats may come from a stranger's document: it stays within its comment.
    comment = "".join(f"# {_one_line(line)}".rstrip() + "\n" for line in remark)
    if not operations_source.strip() and remark:
        return _write(script_location, message, parents, now, file_template, "", f"{comment}operations = []\n")
    if not operations_source.strip():
        return _write(
            script_location, message, parents, now, file_template, "", _EXAMPLE if parents else _FIRST_EXAMPLE
        )
    listed = operations_source.strip().removesuffix(",") + ","
    own = {node.name for node in ast.parse(functions_source).body if isinstance(node, ast.FunctionDef)}
    names = {node.id for node in ast.walk(ast.parse(f"[\n{listed}\n]")) if isinstance(node, ast.Name)} - own
    above = ["\n".join(imports)] if imports else []
    above += [f"from migrator import {', '.join(sorted(names, key=_isort_key))}"] if names else []
    heading = "\n\n".join([*above, ""]) if above else ""
    functions = f"\n{functions_source.strip()}\n\n\n" if functions_source.strip() else ""
    operations = f"{functions}{comment}operations = [\n{indent(listed, '    ')}\n]\n"
    return _write(script_location, message, parents, now, file_template, heading, operations)


def write_merge(
    script_location: Path,
    message: str,
    revisions: Sequence[str],
    now: datetime,
    file_template: str = FILE_TEMPLATE,
) -> Path:
    """Writes a revision without operations that joins these. Raises as `write_revision`, and `nothing-to-merge`."""
    parents = tuple(dict.fromkeys(revisions))
    if len(parents) < 2:
        raise UsageError("nothing-to-merge", "a merge joins two revisions or more", hint="`migrator heads` lists them")
    return _write(script_location, message, parents, now, file_template, "", "operations = []\n")


def _write(
    script_location: Path,
    message: str,
    parents: Sequence[str],
    now: datetime,
    file_template: str,
    imports: str,
    operations: str,
) -> Path:
    message = "".join(char for char in " ".join(message.split()) if char.isprintable())
    if not message:
        raise UsageError("no-message", "the revision has no message", hint='give -m "what it does"')
    revision = new_revision_id({*literal_revisions(script_location), *parents}, now)
    path = script_location / (file_template.format(rev=revision, slug=slug_of(message)) + ".py")
    assignments = f"revision = {quoted(revision)}\ndown_revision = {_parents(parents)}\n"
    text = f"{_docstring(message)}\n\n{imports}{assignments}\n{operations}"
    try:
        script_location.mkdir(parents=True, exist_ok=True)
        if path.exists():
            raise UsageError("file-exists", f"{path} exists; nothing was written", hint="give another message")
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as exc:
        raise UsageError("cannot-write", f"{path} cannot be written: {exc.strerror}") from exc
    return path


def _one_line(text: str) -> str:
    return "".join(char if char.isprintable() else " " for char in text)


def _docstring(message: str) -> str:
    text = message.replace("\\", "\\\\")
    if '"""' in text or text.endswith('"'):
        text = text.replace('"', '\\"')
    return f'"""{text}"""'


def _parents(parents: Sequence[str]) -> str:
    match list(parents):
        case []:
            return "None"
        case [parent]:
            return quoted(parent)
        case several:
            return listing("(", map(quoted, several), ")", used=len("down_revision = "))


def _isort_key(name: str) -> tuple[int, str]:
    """Constants, classes, functions: the order in which import sorters write names."""
    kind = 0 if name.isupper() and len(name) > 1 else 1 if name[0].isupper() else 2
    return kind, name
