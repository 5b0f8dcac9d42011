"""What one invocation works with: the house it calls, the habits it was given, the streams it writes to."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, redirect_stdout
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from rich.console import Console

from migrator.cli.log import configure_log
from migrator.cli.ports import House, Project, Runner
from migrator.cli.progress import open_progress
from migrator.cli.signals import Signals

PIPED_WIDTH = 100
"""Columns where nobody's window says how wide: wide enough for keys, narrow enough for a build log."""


@dataclass(frozen=True, slots=True)
class Habits:
    """The options that every command takes."""

    env: str | None = None
    config: Path | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    output: str | None = None
    verbose: bool = False

    def over(self, outer: Habits) -> Habits:
        """These, and those given before the sub-command where these say nothing."""
        return Habits(
            env=self.env or outer.env,
            config=self.config or outer.config,
            variables={**outer.variables, **self.variables},
            output=self.output or outer.output,
            verbose=self.verbose or outer.verbose,
        )


class Shell:
    """One invocation. Its streams are looked up when written to, so that a test may replace them."""

    def __init__(self, house: House | None = None, *, monotonic: Callable[[], float] | None = None):
        self._house = house
        self.monotonic = monotonic or time.monotonic  # noqa: TID251 -- the progress display's own clock
        self.habits = Habits()
        self.command = ""
        """Such as `failed list`."""
        self.signals = Signals()
        self.has_streamed = False
        """Whether the command wrote a listing to stdout itself: its result then goes to stderr."""

    @property
    def house(self) -> House:
        if self._house is None:
            # Late, so that `--help` and the commands on files alone do not load boto3.
            from migrator import wiring

            wiring.spare_the_collector()
            self._house = wiring
        return self._house

    def now(self) -> datetime:
        return datetime.now(UTC)  # noqa: TID251 -- the id of a new revision is the time it was made

    @property
    def is_json(self) -> bool:
        return self.habits.output == "json"

    def results(self) -> Console:
        """Where results go: stdout, unless a listing went there."""
        return console(sys.stderr if self.has_streamed else sys.stdout)

    def remarks(self) -> Console:
        """Where the log goes: stderr."""
        return console(sys.stderr)

    def project(self) -> Project:
        return self.house.open_project(self.habits.config, self.habits.env, dict(self.habits.variables))

    @contextmanager
    def runner(self, *, read_only: bool = False) -> Iterator[Runner]:
        """A runner whose events are shown and which a signal stops at its next checkpoint.

        One that only reads has no checkpoint to come to: a signal ends it at once.
        """
        with self.runner_of(self.project(), read_only=read_only) as runner:
            yield runner

    @contextmanager
    def runner_of(self, project: Project, *, read_only: bool = False) -> Iterator[Runner]:
        """The same, of a project that was opened already."""
        remarks = self.remarks()
        log = configure_log(remarks, verbose=self.habits.verbose)
        with (
            # What a migration's function prints must not get into a command's result.
            redirect_stdout(sys.stderr),
            open_progress(remarks, log, self.monotonic) as report,
            self.house.open_runner(project, report, read_only=read_only) as runner,
            nullcontext() if read_only else self.signals.reaching(runner, log),
        ):
            yield runner


def console(stream: IO[str]) -> Console:
    """A console that prints words as they are: no markup, no emoji, and nothing but text where it is piped."""
    width = None if stream.isatty() or os.environ.get("COLUMNS") else PIPED_WIDTH
    return Console(file=stream, width=width, markup=False, highlight=False, emoji=False)
