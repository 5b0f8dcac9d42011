"""The ten access patterns of the model: what the application asks, and what is the right answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

TENANT = "TENANT#t1"
PROJECT = f"{TENANT}#PROJECT#p1"
USER = f"{TENANT}#USER#u1"


@dataclass(frozen=True, slots=True)
class AccessPattern:
    """One question of the application, as a Query, and its right answer as `Entity:id`, in order."""

    name: str
    question: str
    keys: Mapping[str, str]
    """Attribute -> its value, all of them equal."""
    right: tuple[str, ...]
    index: str = ""
    begins_with: tuple[str, str] | None = None
    """The sort key attribute that comes next, and its beginning."""
    newest: int = 0
    """Only so many, from the end; 0 is all, from the beginning."""

    def ask(self, client: Any, table: str) -> tuple[str, ...]:
        """The answer of the table as it is now."""
        return tuple(f"{item['entity']['S']}:{item['id']['S']}" for item in self.items(client, table))

    def items(self, client: Any, table: str) -> list[dict[str, Any]]:
        terms = [f"#k{n} = :v{n}" for n, _ in enumerate(self.keys)]
        names = {f"#k{n}": name for n, name in enumerate(self.keys)}
        values = {f":v{n}": {"S": value} for n, value in enumerate(self.keys.values())}
        if self.begins_with is not None:
            terms.append("begins_with(#s, :s)")
            names["#s"], values[":s"] = self.begins_with[0], {"S": self.begins_with[1]}
        request: dict[str, Any] = {
            "TableName": table,
            "KeyConditionExpression": " AND ".join(terms),
            "ExpressionAttributeNames": names,
            "ExpressionAttributeValues": values,
            "ScanIndexForward": not self.newest,
        }
        if self.index:
            request["IndexName"] = self.index
        else:
            request["ConsistentRead"] = True
        if self.newest:
            request["Limit"] = self.newest
            return list(client.query(**request)["Items"])
        pages = client.get_paginator("query").paginate(**request)
        return [item for page in pages for item in page["Items"]]


ESCALATIONS = AccessPattern(
    "AP10",
    "escalations to user u2",
    {"tenantId": "t1", "escalatedTo": "u2"},
    ("Task:a3",),
    index="Escalations",
)
"""The one that the table could not answer before it was migrated."""

PROJECTS_OF_USER = AccessPattern(
    "AP6",
    "projects of user u1",
    {"GSI1PK": USER},
    ("Member:p1/u1", "Member:p2/u1"),
    index="Relationships",
    begins_with=("GSI1SK", "PROJECT#"),
)

PATTERNS = (
    AccessPattern("AP1", "tenant profile", {"PK": TENANT, "SK": "META"}, ("Tenant:t1",)),
    AccessPattern(
        "AP2",
        "projects of a tenant",
        {"GSI1PK": TENANT},
        ("Project:p1", "Project:p2"),
        index="Relationships",
        begins_with=("GSI1SK", "PROJECT#"),
    ),
    AccessPattern(
        "AP3",
        "everything of project p1",
        {"PK": PROJECT},
        ("Member:p1/u1", "Member:p1/u2", "Project:p1", "Task:a1", "Task:a2", "Task:a3"),
    ),
    AccessPattern(
        "AP4", "members of p1", {"PK": PROJECT}, ("Member:p1/u1", "Member:p1/u2"), begins_with=("SK", "MEMBER#")
    ),
    AccessPattern(
        "AP5", "tasks of p1", {"PK": PROJECT}, ("Task:a1", "Task:a2", "Task:a3"), begins_with=("SK", "TASK#")
    ),
    PROJECTS_OF_USER,
    AccessPattern("AP7", "user u1", {"PK": USER, "SK": "META"}, ("User:u1",)),
    AccessPattern(
        "AP8",
        "open tasks of p1 in October",
        {"tenantId": "t1", "projectId": "p1", "status": "OPEN"},
        ("Task:a1", "Task:a3"),
        index="TaskBoard",
        begins_with=("createdAt", "2026-10"),
    ),
    AccessPattern(
        "AP9",
        "latest two tasks of p1",
        {"PK": PROJECT},
        ("Task:a3", "Task:a2"),
        begins_with=("SK", "TASK#"),
        newest=2,
    ),
    ESCALATIONS,
)


@dataclass(frozen=True, slots=True)
class Answer:
    """What one pattern got."""

    pattern: AccessPattern
    given: tuple[str, ...]

    @property
    def is_right(self) -> bool:
        return self.given == self.pattern.right


def ask_all(client: Any, table: str) -> tuple[Answer, ...]:
    """All ten, asked of the table as it is now."""
    return tuple(Answer(pattern, pattern.ask(client, table)) for pattern in PATTERNS)
