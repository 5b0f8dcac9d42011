"""The rewrites that the tests of this folder are about."""

from __future__ import annotations

from typing import Any

from migrator.core.item import to_python
from migrator.core.rewrite.form import Form
from migrator.core.rewrite.rewrite import Rewrite
from migrator.core.rewrite.route import MARK, Route
from migrator.core.schema import KeyAttribute
from migrator.core.view import ItemView
from migrator.core.where import BeginsWith

PK_SK = (KeyAttribute("PK"), KeyAttribute("SK"))

DEVICES = Route(
    "log",
    "log-by-state",
    (KeyAttribute("DeviceID"), KeyAttribute("Date")),
    (KeyAttribute("DeviceID"), KeyAttribute("State#Date")),
    key=Form.of({"State#Date": "{State}#{Date}"}),
)
"""DeviceStateLog, v1 to v3: the sort key changes its name and depends on an attribute that changes."""

PLAYERS = Route(
    "game",
    "game",
    PK_SK,
    PK_SK,
    where={"PK": BeginsWith("USER#"), "SK": BeginsWith("#METADATA#")},
    old=Form.of({"PK": "USER#{player}"}),
    key=Form.of({"PK": "PLAYER#{player}"}),
)
SEATS = Route(
    "game",
    "game",
    PK_SK,
    PK_SK,
    where={"PK": BeginsWith("GAME#"), "SK": BeginsWith("USER#")},
    old=Form.of({"SK": "USER#{player}"}),
    key=Form.of({"SK": "PLAYER#{player}"}),
)
GAME = Rewrite((PLAYERS, SEATS))
"""battle-royale: a prefix changes in every key that carries it, relations included."""

TASKS = Route(
    "app",
    "app",
    PK_SK,
    PK_SK,
    where={"SK": BeginsWith("TASK#")},
    old=Form.of({"SK": "TASK#{createdAt}#{taskId}"}),
    key=Form.of({"SK": "T#{taskId}"}),
)
"""SaaS: the key loses the date, which stays as an attribute."""

TASKS_ELSEWHERE = Route(
    "app",
    "tasks",
    PK_SK,
    (KeyAttribute("id"),),
    where={"SK": BeginsWith("TASK#")},
    old=Form.of({"SK": "TASK#{createdAt}#{taskId}", "PK": "TENANT#{tenantId}#PROJECT#{projectId}"}),
    key=Form.of({"id": "{tenantId}/{projectId}/{taskId}"}),
    set=Form.of({"kind": "task"}),
)

USERS = Route("users", "one", (KeyAttribute("id"),), PK_SK, key=Form.of({"PK": "USER#{id}", "SK": "USER#{id}"}))
ORDERS = Route(
    "orders",
    "one",
    (KeyAttribute("user"), KeyAttribute("number", "N")),
    PK_SK,
    key=Form.of({"PK": "USER#{user}", "SK": "ORDER#{number}"}),
)
STOCK = Route("stock", "one", (KeyAttribute("sku"),), PK_SK, key=Form.of({"PK": "STOCK", "SK": "{sku}"}))
MERGED = Rewrite((USERS, ORDERS, STOCK))
"""Three tables merged into one; one key is a number."""


def lower(item: ItemView) -> dict[str, Any]:
    return {"id": item["id"].lower()}


LOWER = Route("people", "folded", (KeyAttribute("id"),), (KeyAttribute("id"),), key=lower, mark=MARK)
LOWER_WITHIN = Route("people", "people", (KeyAttribute("id"),), (KeyAttribute("id"),), key=lower, mark=MARK)
"""Case folding: no key tells its source, so a mark does."""

CLAIMS = Route(
    "app",
    "app",
    PK_SK,
    PK_SK,
    where={"SK": "META"},
    key=Form.of({"PK": "EMAIL#{email}", "SK": "CLAIM"}),
    keep=(),
    mark="claimedBy",
    keeps_mark=True,
)

INDEXED = Route(
    "app",
    "app",
    PK_SK,
    PK_SK,
    where={"PK": BeginsWith("U#")},
    old=Form.of({"PK": "U#{name}", "GSI1PK": "CITY#{city}"}),
    key=Form.of({"PK": "P#{name}"}),
    set=Form.of({"GSI1PK": "TOWN#{city}", "GSI1SK": "{name}"}),
)
"""Index keys change with the table's: one is rewritten, one is new."""

PART = Route(
    "app",
    "slim",
    PK_SK,
    PK_SK,
    keep=("title",),
)
"""Some attributes alone are kept."""

ALL = {
    "devices": DEVICES,
    "players": PLAYERS,
    "seats": SEATS,
    "tasks": TASKS,
    "tasks elsewhere": TASKS_ELSEWHERE,
    "users": USERS,
    "orders": ORDERS,
    "stock": STOCK,
    "lower": LOWER,
    "lower within": LOWER_WITHIN,
    "claims": CLAIMS,
    "indexed": INDEXED,
    "part": PART,
}


def text(item: Any, name: str) -> str:
    return str(to_python(item[name]))
