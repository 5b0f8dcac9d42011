"""The sandbox as a background process, found again through a small state file of the user.

The file is written and removed by the process it tells of. It is only a hint: what counts is what the port
answers, so a stale file, or a pid that now belongs to another program, does no harm.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from migrator.errors import MigratorError
from migrator.sandbox.clock import WallClock, pause
from migrator.sandbox.faults import read_file
from migrator.sandbox.server import listen
from migrator.sandbox.serving import INDEX_BUILD, PORT, Info, ask

_children: dict[int, subprocess.Popen[bytes]] = {}
"""Started by this process, which has to reap them."""


def state_folder() -> Path:
    """Where the state files lie: the user's runtime folder, else the cache folder."""
    base = os.environ.get("XDG_RUNTIME_DIR") or os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(base) if base else Path.home() / ".cache") / "dynamodb-migrations"


def start_detached(
    port: int = PORT,
    index_build: float = INDEX_BUILD,
    *,
    faults: Path | None = None,
    folder: Path | None = None,
    timeout: float = 15.0,
) -> Info:
    """Start a sandbox process and wait until it answers; port 0 takes a free one. `faults` is a file of them."""
    if faults is not None:
        read_file(faults)
    if (running := ask(port)) is not None:
        raise MigratorError(
            "sandbox-running",
            f"a sandbox already runs at {running.endpoint_url} (pid {running.pid}, since {running.started})",
            hint="use it, or `migrator sandbox stop` first",
        )
    listen("127.0.0.1", port).close()
    folder = folder or state_folder()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    log = folder / "sandbox.log"
    command = [
        sys.executable,
        "-m",
        "migrator.sandbox",
        "--port",
        str(port),
        "--index-build",
        str(index_build),
        *([] if faults is None else ["--faults", str(faults.resolve())]),
    ]
    with log.open("wb") as output:
        child = subprocess.Popen(  # noqa: S603 - our own interpreter and arguments
            [*command, "--state-folder", str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    _children[child.pid] = child
    clock = WallClock()
    deadline = clock.now() + timeout
    while child.poll() is None and clock.now() < deadline:
        for known in _recorded(folder):
            if known.pid == child.pid and ask(known.port) == known:
                return known
        pause(0.05)
    _end(child.pid)
    told = log.read_text(errors="replace").strip().splitlines()[-1:]
    raise MigratorError(
        "sandbox-not-started",
        f"the sandbox did not start on port {port}: {''.join(told) or 'it did not answer in time'}",
        hint=f"see {log}, or choose another port with --port",
    )


def status(port: int | None = None, *, folder: Path | None = None) -> Info | None:
    """The running sandbox on `port`, or the one that was started last; None if there is none."""
    if port is not None:
        return ask(port)
    running = [info for known in _recorded(folder or state_folder()) if (info := ask(known.port)) is not None]
    return max(running, key=lambda info: info.started, default=None)


def stop(port: int | None = None, *, folder: Path | None = None, timeout: float = 10.0) -> bool:
    """End the running sandbox (see `status`) and wait until it is gone; False if there is none."""
    folder = folder or state_folder()
    info = status(port, folder=folder)
    if info is None:
        for stale in _recorded(folder):
            if ask(stale.port) is None:
                _file(folder, stale.port).unlink(missing_ok=True)
        return False
    os.kill(info.pid, signal.SIGTERM)
    clock = WallClock()
    deadline = clock.now() + timeout
    while ask(info.port) == info:
        if clock.now() > deadline:
            raise MigratorError(
                "sandbox-not-stopped",
                f"the sandbox on port {info.port} (pid {info.pid}) did not end within {timeout:g} s",
                hint=f"kill -9 {info.pid}",
            )
        pause(0.05)
    _end(info.pid)
    return True


def record(folder: Path, info: Info) -> None:
    """Write the state file of a sandbox, as a whole or not at all."""
    path = _file(folder, info.port)
    draft = path.with_suffix(f".{info.pid}")
    draft.write_text(json.dumps(asdict(info)))
    draft.replace(path)


def forget(folder: Path, info: Info) -> None:
    _file(folder, info.port).unlink(missing_ok=True)


def _file(folder: Path, port: int) -> Path:
    return folder / f"sandbox-{port}.json"


def _recorded(folder: Path) -> list[Info]:
    """All state files that can be read, stale ones too."""
    found = []
    for path in folder.glob("sandbox-*.json"):
        try:
            found.append(Info(**json.loads(path.read_text())))
        except (OSError, ValueError, TypeError):
            continue
    return found


def _end(pid: int) -> None:
    """Reap a child of ours; end it first if it still runs."""
    child = _children.pop(pid, None)
    if child is None:
        return
    try:
        child.wait(2.0 if child.poll() is None else 0.1)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
