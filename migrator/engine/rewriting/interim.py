from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from migrator.core.rewrite.reconcile import Place
from migrator.core.rewrite.rewrite import Rewrite


def to_json(rewrite: Rewrite, names: Mapping[str, str]) -> dict[str, Any]:
    return {"routes": [{"source": names[r.source], "target": names[r.target]} for r in rewrite.routes]}


@dataclass(slots=True)
class Collisions:
    places: dict[str, list[Place]] = field(default_factory=dict)

    def add(self, target: Place, source: Place) -> None:
        self.places.setdefault(target.id, []).append(source)

    def groups(self) -> list[list[Place]]:
        return [group for group in self.places.values() if len(group) > 1]
