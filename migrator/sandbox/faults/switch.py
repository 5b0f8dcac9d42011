"""The faults of a sandbox in this process, as tests switch them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from migrator.sandbox.faults.layer import Faults, Told
from migrator.sandbox.faults.spec import Spec, read_spec

T = TypeVar("T")


class FaultSwitch:
    """Adds faults to a running sandbox, lists them and takes them away, between two requests."""

    def __init__(self, faults: Faults, on_loop: Callable[[Callable[[], Any]], Any]) -> None:
        self._faults = faults
        self._on_loop = on_loop

    def add(self, kind: str | Spec, **members: Any) -> Told:
        """Let a fault begin: `add("throttle", operation="PutItem", nth=3)`; its `id` is for `clear`.

        Members are those of a fault file, with `lasts` for `for`. Raises UsageError where they make no fault.
        """
        if "lasts" in members:
            members["for"] = members.pop("lasts")
        spec = kind if isinstance(kind, Spec) else read_spec({"kind": kind, **members})
        told: Told = self._on_loop(lambda: self._faults.add(spec))
        return told

    def list(self) -> tuple[Told, ...]:
        told: tuple[Told, ...] = self._on_loop(self._faults.told)
        return told

    def clear(self, number: int | None = None) -> int:
        """Take one fault away, or all; how many there were."""
        return int(self._on_loop(lambda: self._faults.clear(number)))
