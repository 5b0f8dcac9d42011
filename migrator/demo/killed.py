"""A run that dies: `migrator upgrade` in a process of its own, killed with SIGKILL between two of its writes."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

from migrator.errors import MigratorError
from migrator.sandbox import Drop, Request, Sandbox

PATIENCE_SECONDS = 60.0


def upgrade_and_kill(sandbox: Sandbox, config: Path, *, at_write: int) -> int:
    """Start an upgrade and kill it as it sends its nth write to a member, which is lost. Returns the exit status."""
    reached, dead = threading.Event(), threading.Event()
    writes = 0

    def before(request: Request) -> Drop | None:
        nonlocal writes
        if not _writes_member(request):
            return None
        writes += 1
        if writes < at_write:
            return None
        reached.set()
        dead.wait(PATIENCE_SECONDS)
        return Drop()

    command = [sys.executable, "-m", "migrator", "--config", str(config), "upgrade"]
    with sandbox.intercept(before, operation="TransactWriteItems"):
        child = subprocess.Popen(  # noqa: S603 - our own interpreter and arguments
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        said: list[str] = []
        reader = threading.Thread(target=lambda: said.extend(child.stderr or ()), daemon=True)
        reader.start()
        try:
            while not reached.wait(0.05) and child.poll() is None:
                pass
        finally:
            child.kill()
            status = child.wait()
            dead.set()
            reader.join()
            if child.stderr is not None:
                child.stderr.close()
    if not reached.is_set():
        raise MigratorError(
            "demo-run-ended",
            f"the run that was to be killed ended by itself with {status}: {''.join(said[-3:]).strip()}",
            hint="run `migrator sandbox demo` again; if it stays so, report it with this message",
        )
    return status


def _writes_member(request: Request) -> bool:
    """Whether the transaction updates a member: the backfill's write, not one of the run's own records."""
    actions = request.body.get("TransactItems", ())
    keys = [action["Update"]["Key"] for action in actions if "Update" in action]
    return any(key.get("SK", {}).get("S", "").startswith("MEMBER#") for key in keys)
