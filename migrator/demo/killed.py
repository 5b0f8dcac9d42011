"""A run that dies: `migrator upgrade` in a process of its own, killed with SIGKILL between two of its writes."""

from __future__ import annotations

import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path

from migrator.errors import MigratorError
from migrator.sandbox import Drop, Request, Response, Sandbox

PATIENCE_SECONDS = 60.0


def upgrade_and_kill(sandbox: Sandbox, config: Path, *, after_writes: int) -> int:
    """Start an upgrade and kill it when so many members are written, before it hears of it. Returns its exit status.

    No further write of it is applied.
    """
    gate = _Gate(after_writes)
    command = [sys.executable, "-m", "migrator", "--config", str(config), "upgrade"]
    with sandbox.intercept(gate.before, after=gate.after, operation="TransactWriteItems"):
        child = subprocess.Popen(  # noqa: S603 - our own interpreter and arguments
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        said: list[str] = []
        reader = threading.Thread(target=lambda: said.extend(child.stderr or ()), name="killed", daemon=True)
        reader.start()
        try:
            while not gate.reached.wait(0.05) and child.poll() is None:
                pass
        finally:
            child.kill()
            status = child.wait()
            gate.dead.set()
            reader.join()
            if child.stderr is not None:
                child.stderr.close()
    if not gate.reached.is_set():
        raise MigratorError(
            "demo-run-ended",
            f"the run that was to be killed ended by itself with {status}: {''.join(said[-3:]).strip()}",
            hint="run `migrator sandbox demo` again; if it stays so, report it with this message",
        )
    return status


@dataclass(slots=True)
class _Gate:
    """Lets so many writes of members through to the engine, and none after; the last one's answer never leaves."""

    most: int
    reached: threading.Event = field(default_factory=threading.Event)
    dead: threading.Event = field(default_factory=threading.Event)
    _applied: int = 0
    _under_way: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def before(self, request: Request) -> Drop | None:
        if not _writes_member(request):
            return None
        with self._lock:
            if self._applied + self._under_way < self.most:
                self._under_way += 1
                return None
        self.dead.wait(PATIENCE_SECONDS)
        return Drop()

    def after(self, request: Request, response: Response) -> Drop | None:
        if not _writes_member(request):
            return None
        with self._lock:
            self._under_way -= 1
            self._applied += response.ok
            if self._applied < self.most:
                return None
        self.reached.set()
        self.dead.wait(PATIENCE_SECONDS)
        return Drop()


def _writes_member(request: Request) -> bool:
    """Whether the transaction updates a member: the backfill's write, not one of the run's own records."""
    actions = request.body.get("TransactItems", ())
    keys = [action["Update"]["Key"] for action in actions if "Update" in action]
    return any(key.get("SK", {}).get("S", "").startswith("MEMBER#") for key in keys)
