"""Functions of migration files, for the rules that look into them."""

from __future__ import annotations

import time
from datetime import datetime
from typing import Any


def in_berlin(item: Any) -> dict[str, str]:
    return {"at": item["day"] + "T12:00:00+02:00"}


def without_zone(item: Any) -> dict[str, str]:
    def shown() -> str:
        return datetime.fromisoformat(item["at"]).strftime("%Y-%m-%d %H:%M")

    return {"shown": shown()}


def by_the_machine(item: Any) -> dict[str, int]:
    return {"year": time.localtime(item["at"]).tm_year}


def in_utc(item: Any) -> dict[str, str]:
    """Not "2026-11-30T17:22:04+02:00", and not "%H:%M" either."""
    return {"at": datetime.fromisoformat(item["at"]).strftime("%Y-%m-%dT%H:%M:%SZ")}


def touch(table: Any) -> None:
    del table


def folded(item: Any) -> dict[str, str]:
    return {"k": str(item["email"]).strip().lower()}


def folded_key(item: Any) -> dict[str, str]:
    return {"PK": "USER#" + str(item["email"]).lower()}
