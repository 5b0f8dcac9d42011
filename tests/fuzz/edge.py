"""The command line as a caller meets it: what was typed, the exit code, and what came out on either stream."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from migrator.cli.main import main
from migrator.core.graph import Graph
from migrator.errors import MigratorError
from migrator.runner.guards import refuse_unknown_tables
from tests.simulation.world import Site

CODE = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class Answer:
    words: tuple[str, ...]
    code: int
    out: str
    log: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)

    @property
    def error(self) -> str:
        """The code of the refusal, "" where there is none."""
        return self.document.get("error", {}).get("code", "")


class SiteHouse:
    """A house over ports in memory: each command is another process on the site."""

    def __init__(self, site: Site):
        self.site = site

    def open_project(self, config: Path | None, env: str | None, variables: Mapping[str, str]) -> Any:
        return SimpleNamespace(settings=None, graph=Graph(self.site.migrations))

    @contextmanager
    def open_runner(self, project: Any, report: Any, *, read_only: bool = False) -> Iterator[Any]:
        with self.site.runner() as runner:
            runner.session.report = report
            # As the real house does on opening.
            refuse_unknown_tables(runner.session.settings, runner.session.graph)
            yield runner

    def draft_from_table(self, project: Any, name: str) -> str:
        raise AssertionError("not asked for")


def typed(house: Any, *words: str) -> Answer:
    """Run a command with `-o json`, on streams that are as strict as a terminal's."""
    out, log = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with redirect_stdout(out), redirect_stderr(log):
        code = main(["-o", "json", *words], house)
    texts = []
    for stream in (out, log):
        stream.flush()
        texts.append(stream.buffer.getvalue().decode())  # type: ignore[attr-defined]
        stream.close()
    return Answer(words, code, *texts)


def sound(answer: Answer) -> Answer:
    """The answer, once it is a right result or an error with a stable code: no traceback, one whole JSON document."""
    told = f"{answer.words}\n{answer.out}\n{answer.log}"
    assert "error[internal]" not in answer.log, told
    assert "Traceback" not in answer.log, told
    document = answer.document
    assert document["exit_code"] == answer.code, told
    if "error" in document:
        assert answer.code != 0, told
        assert CODE.fullmatch(document["error"]["code"]), told
    return answer


def refused_well(error: MigratorError) -> None:
    """An error fit for a person: a stable code that is not `internal`, and a message."""
    assert CODE.fullmatch(error.code), error
    assert error.code != "internal", error
    assert error.message.strip(), error
