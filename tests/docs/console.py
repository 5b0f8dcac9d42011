"""The console blocks of a page, run one after the other in an empty folder on a sandbox.

A block ```` ```console ```` holds `$ ` lines, each followed by what it prints on stdout. A file block, one whose
language line comes right after a line that ends with a path in backticks and a colon, is written to that path first.
A page that stands beside a migrator.toml is run in a copy of its folder, which has that folder's neighbours too.
`python -m tests.docs.console [PAGE...]` runs the pages and writes what the commands print into them.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from unittest.mock import patch

from migrator.cli.main import main
from migrator.cli.shell import Shell
from migrator.sandbox import Sandbox

DOCS = Path(__file__).parents[2] / "docs"
PAGES = (DOCS / "quickstart.md", DOCS / "rehearse.md", DOCS / "rewrite-keys.md")
PORT = "127.0.0.1:4566"
COLUMNS = "100"

_FENCE = re.compile(r"^```(?P<kind>[a-z]+)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
_PATH = re.compile(r"`(?P<path>[\w./-]+)`[^`\n]*:\n\n$")
_ID = re.compile(r"\b20\d{12}\b")
_LOOSE = (
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d[^ \n]*"), "TIME"),
    (re.compile(r"\b\d+(\.\d+)? (ms|s)\b"), "SECONDS"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "DIGEST"),
    (re.compile(r"(?<= ada )\S+$", re.MULTILINE), "HOST"),
    (re.compile(r"process +\d+"), "process PID"),
    (re.compile(r"about \d+ items, [\d.]+ k?B"), "SIZE"),
    (re.compile(r"[\d.]+ read and [\d.]+ write units"), "UNITS"),
    (re.compile(r"[\d.]+ read, [\d.]+ write"), "UNITS"),
)
"""What is another one in each run."""


@dataclass(frozen=True, slots=True)
class Command:
    """A `$ ` line, what the page says it prints, and where in the page that stands."""

    line: str
    printed: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class File:
    path: str
    text: str


def blocks(page: str) -> Iterator[File | Command]:
    """The files and commands of a page, in order."""
    for fence in _FENCE.finditer(page):
        named = _PATH.search(page[: fence.start()])
        if fence["kind"] != "console":
            if named is not None:
                yield File(named["path"], fence["text"])
            continue
        starts = [match.start() for match in re.finditer(r"^\$ ", fence["text"], re.MULTILINE)]
        for start, end in zip(starts, [*starts[1:], len(fence["text"])], strict=True):
            line, _, _ = fence["text"][start + 2 : end].partition("\n")
            begin = fence.start("text") + start + 2 + len(line) + 1
            stop = fence.start("text") + end
            yield Command(line, page[begin:stop], begin, stop)


def loose(text: str) -> str:
    """The text without what differs from run to run, and without the widths of columns."""
    for pattern, word in _LOOSE:
        text = pattern.sub(word, text)
    return "\n".join(" ".join(line.split()) for line in text.splitlines() if line.strip())


@dataclass
class Desk:
    """A folder, a sandbox on a port of its own, and whoever types. Ids of new revisions are those given, in turn."""

    folder: Path
    port: int
    ids: list[str] = field(default_factory=list)
    codes: list[int] = field(default_factory=list)
    log: str = ""

    def run(self, line: str) -> str:
        """What the command prints, on stderr where it says nothing on stdout; its exit code goes to `codes`."""
        words = shlex.split(line)
        if words[0] != "migrator":
            return self._shell(words)
        if words[1:3] == ["sandbox", "start"]:
            words += ["--port", str(self.port), "--index-build", "1s"]
        out, err = io.StringIO(), io.StringIO()
        environment = {
            "COLUMNS": COLUMNS,
            "USER": "ada",
            "XDG_RUNTIME_DIR": str(self.folder / ".run"),
            "PYTHONPATH": str(DOCS.parent),
        }
        with (
            chdir(self.folder),
            patch.object(Shell, "now", lambda _: self._now(words)),
            patch.dict(os.environ, environment),
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            self.codes.append(main(words[1:]))
            self._point()
        self.log = err.getvalue()
        return (out.getvalue() or self.log).replace(self._endpoint, PORT)

    def write(self, path: str, text: str) -> None:
        place = self.folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
        self._point()

    def _shell(self, words: list[str]) -> str:
        match words:
            case ["cat", path]:
                return (self.folder / path).read_text(encoding="utf-8").replace(self._endpoint, PORT)
            case ["ls", path]:
                return "".join(f"{name}\n" for name in sorted(os.listdir(self.folder / path)))
            case ["echo", "$?"]:
                return f"{self.codes[-1]}\n"
            case ["python", *script]:
                environment = {**os.environ, "PYTHONPATH": str(DOCS.parent)}
                done = subprocess.run(
                    [sys.executable, *script], cwd=self.folder, capture_output=True, text=True, env=environment
                )
                self.codes.append(done.returncode)
                return done.stdout or done.stderr
        raise AssertionError(f"the pages run no {words[0]}")

    @property
    def _endpoint(self) -> str:
        return f"127.0.0.1:{self.port}"

    def _point(self) -> None:
        """Lead the configuration to this process's sandbox."""
        for path in self.folder.glob("*.toml"):
            path.write_text(path.read_text(encoding="utf-8").replace(PORT, self._endpoint), encoding="utf-8")

    def _now(self, words: list[str]) -> datetime:
        if words[1] in ("revision", "merge") and self.ids:
            return datetime.strptime(self.ids.pop(0), "%Y%m%d%H%M%S").replace(tzinfo=UTC)
        return datetime(2026, 11, 30, 17, 22, 4, tzinfo=UTC)


@contextmanager
def desk(sandbox: Sandbox) -> Iterator[Desk]:
    """A desk in an empty folder, at a sandbox that runs already."""
    with tempfile.TemporaryDirectory() as folder:
        yield Desk(Path(folder), sandbox.port)


@contextmanager
def seat(path: Path) -> Iterator[Desk]:
    """A desk for a page: in an empty folder, or in a copy of the project that the page stands in. No sandbox yet."""
    ids = list(dict.fromkeys(_ID.findall(path.read_text(encoding="utf-8"))))
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        if (path.parent / "migrator.toml").is_file():
            folder /= path.parent.name
            for neighbour in path.parent.parent.glob("*.py"):
                shutil.copy(neighbour, temporary)
            shutil.copytree(path.parent, folder, ignore=shutil.ignore_patterns("__pycache__"))
        here = Desk(folder, _free_port(), ids)
        here._point()
        try:
            yield here
        finally:
            here.run("migrator sandbox stop")


def follow(path: Path, here: Desk) -> Iterator[tuple[Command, str]]:
    """Each command of a page, with what it prints at this desk."""
    for block in blocks(path.read_text(encoding="utf-8")):
        if isinstance(block, File):
            here.write(block.path, block.text)
        else:
            yield block, here.run(block.line)


def run_page(path: Path) -> Iterator[tuple[Command, str]]:
    """Each command of a page, with what it printed now."""
    with seat(path) as here:
        yield from follow(path, here)


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def refresh(path: Path) -> None:
    page = path.read_text(encoding="utf-8")
    for command, printed in reversed(list(run_page(path))):
        if printed and loose(printed) != loose(command.printed):
            page = page[: command.start] + printed + page[command.end :]
    path.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    for each in map(Path, sys.argv[1:] or PAGES):
        refresh(each.resolve())
