"""The sandbox: DynamoDB on a loopback port with real index-build states, and the demo that runs on it."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from migrator.cli.answers import SandboxResult
from migrator.cli.options import seconds
from migrator.cli.render import words
from migrator.cli.shell import Shell
from migrator.errors import MigratorError, UsageError
from migrator.runner.results import NoteResult

PORT = 4566
INDEX_BUILD = 3.0
"""Seconds."""
REGION = "eu-west-1"

PortOption = Annotated[
    int | None, typer.Option("--port", min=1, max=65535, help="Loopback port. Default: the sandbox started last.")
]


def start(
    shell: Shell,
    *,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Loopback port; 0 takes a free one.")] = PORT,
    index_build: Annotated[
        float,
        typer.Option("--index-build", parser=seconds, metavar="DURATION", help="How long an index build takes."),
    ] = INDEX_BUILD,
    detach: Annotated[
        bool, typer.Option("--detach", "-d", help="Serve in a process of its own, until `migrator sandbox stop`.")
    ] = False,
    faults: Annotated[
        Path | None, typer.Option("--faults", metavar="FILE", help="A TOML file of faults to begin with.")
    ] = None,
) -> SandboxResult:
    """Start a DynamoDB on this machine, until Ctrl-C or a signal. It forgets everything when it stops."""
    del shell
    sandbox = _sandbox()
    if detach:
        return _running(sandbox.start_detached(port, index_build, faults=faults))
    sandbox.serve(port, index_build, faults=sandbox.read_file(faults) if faults else (), ready=_serving)
    return SandboxResult(state="stopped", next="migrator sandbox start --detach")


def stop(shell: Shell, *, port: PortOption = None) -> SandboxResult:
    """Stop the sandbox. Its tables are gone."""
    del shell
    was_running = _sandbox().stop(port)
    return SandboxResult(
        state="stopped", lines=() if was_running else ("none was running",), next="migrator sandbox start --detach"
    )


def status(shell: Shell, *, port: PortOption = None) -> SandboxResult:
    """Whether a sandbox runs, and where."""
    del shell
    info = _sandbox().status(port)
    return SandboxResult(state="stopped", next="migrator sandbox start --detach") if info is None else _running(info)


def load(
    shell: Shell,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="NoSQL Workbench model, BatchWriteItem file, export or items.")
    ],
    *,
    table: Annotated[
        str | None, typer.Option("--table", metavar="NAME", help="The table, where the file has one or names none.")
    ] = None,
    region: Annotated[
        str | None,
        typer.Option(
            "--region",
            metavar="REGION",
            help=f"Default: AWS_REGION, AWS_DEFAULT_REGION, the environment's, or {REGION}.",
        ),
    ] = None,
    port: PortOption = None,
) -> SandboxResult:
    """Load tables and items from a file. An item that exists is overwritten.

    Loads into a sandbox only, never into AWS.
    """
    if not file.is_file():
        raise UsageError("no-such-file", f"{file} is no file", hint="name a file of items or a NoSQL Workbench model")
    info = found(port)
    client = _sandbox().open_client(info.endpoint_url, region or _region(shell), unseen=True)
    try:
        report = import_module("migrator.sandbox.load").load_file(client, file, table=table)
    finally:
        client.close()
    lines = [
        f"{entry.name}: {words.counted(entry.put, 'item')} put"
        + (f", {entry.deleted} deleted" if entry.deleted else "")
        + (", table created" if entry.created else "")
        for entry in report.tables
    ]
    return SandboxResult(
        state="loaded", endpoint=info.endpoint_url, pid=info.pid, items=report.items, lines=tuple(lines)
    )


def reset(shell: Shell, *, port: PortOption = None) -> SandboxResult:
    """Empty the sandbox: no tables, no metrics, nothing in flight. Its faults are those it was started with."""
    del shell
    info = found(port)
    _sandbox().reset(info.endpoint_url)
    return SandboxResult(state="reset", endpoint=info.endpoint_url, pid=info.pid, next="migrator sandbox load FILE")


def demo(shell: Shell) -> NoteResult:
    """Watch a migration of a real data model in a sandbox of its own: plan, upgrade, a killed run that continues."""
    import_module("migrator.demo").run(shell.remarks() if shell.is_json else shell.results())
    return NoteResult(state="shown", lines=(), next="migrator init")


def _region(shell: Shell) -> str:
    """The Region that the project's commands will look in: each has tables of its own."""
    exported = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if exported:
        return exported
    try:
        return shell.project().settings.region or REGION
    except UsageError:
        return REGION


def _sandbox() -> Any:
    # Late: an extra that is slow to load.
    return import_module("migrator.sandbox")


def found(port: int | None) -> Any:
    """The running sandbox on `port`, or the one started last. Raises `sandbox-not-running`."""
    info = _sandbox().status(port)
    if info is None:
        where = "" if port is None else f" on port {port}"
        raise MigratorError(
            "sandbox-not-running", f"no sandbox runs{where}", hint="start one with `migrator sandbox start --detach`"
        )
    return info


def _running(info: Any) -> SandboxResult:
    return SandboxResult(
        state="running",
        endpoint=info.endpoint_url,
        pid=info.pid,
        index_build_seconds=info.index_build,
        next=f'set endpoint_url = "{info.endpoint_url}" in an [env.NAME] of migrator.toml',
    )


def _serving(info: Any) -> None:
    sys.stderr.write(f"DynamoDB sandbox at {info.endpoint_url}; stop it with Ctrl-C\n")
