"""The errors of this package: each has a stable code, a message and a hint of what to type next."""

from __future__ import annotations

ENDING = (SystemExit, GeneratorExit)
"""What foreign code may raise to end more than itself: it must not end a run, least of all with exit 0."""


class AskedToEnd(BaseException):
    """The process was asked to end, from outside: only the edge may catch it."""


def as_text(text: str) -> str:
    """The text in a form that can be stored and printed: file names may hold bytes, strings surrogates, that cannot."""
    return text.encode("utf-8", "backslashreplace").decode()


def said(exc: BaseException) -> str:
    """The type and the words of an exception that foreign code raised, whatever its own `__str__` does."""
    try:
        words = str(exc)
    except Exception:  # noqa: BLE001 - foreign code
        words = ""
    return as_text(f"{type(exc).__name__}: {words}" if words else type(exc).__name__)


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """`1 item`, `1,200 items`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


class MigratorError(Exception):
    """What happened, to what, and what to do next.

    `code` is stable kebab-case, for scripts. `hint` names the next command. `exit_code` is the
    process's exit status (see docs/pipeline.md): 1 unless the kind of error has its own.
    """

    exit_code = 1

    def __init__(self, code: str, message: str, *, hint: str | None = None, exit_code: int | None = None):
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        if exit_code is not None:
            self.exit_code = exit_code

    def __str__(self) -> str:
        return f"error[{self.code}]: {self.message}"


class UsageError(MigratorError):
    """The command line, the configuration or a migration file is wrong (exit 2)."""

    exit_code = 2


class LockHeld(MigratorError):
    """Another run holds the lock (exit 4)."""

    exit_code = 4


class LeaseLost(MigratorError):
    """This run may not write any more: its lease ran out or was taken over. Nothing further is sent."""

    exit_code = 4


class Interrupted(MigratorError):
    """A signal asked the run to stop; it stopped at a checkpoint (exit 130 or 143)."""

    exit_code = 130


class ServiceError(MigratorError):
    """The service answered with an error that no retry of ours mends; `code` says which."""


class Throttled(ServiceError):
    """The service refused for capacity; `reasons` are its ThrottlingReasons (facts §8), maybe empty."""

    exit_code = 7

    def __init__(self, message: str, reasons: tuple[tuple[str, str], ...] = ()):
        super().__init__("throttled", message, hint="lower the budget, or raise the table's capacity")
        self.reasons = reasons


class AnswerLost(ServiceError):
    """A write may or may not have been applied (time-out, 500, 503): read before judging."""

    def __init__(self, message: str):
        super().__init__("answer-lost", message, hint="run the same command again: it reads before it writes")


class RecordConflict(MigratorError):
    """A control record was not as expected, or carries a higher token than ours."""

    def __init__(self, message: str, current: object = None):
        super().__init__("record-conflict", message, hint="another run changed it: see `migrator lock show`")
        self.current = current
