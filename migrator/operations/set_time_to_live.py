"""SetTimeToLive: by which attribute items expire."""

from __future__ import annotations

from dataclasses import dataclass

from migrator.core.findings import Finding
from migrator.core.plan import Plan
from migrator.core.schema import Schema
from migrator.core.settings import TimeToLive
from migrator.operations.arguments import attribute_name
from migrator.operations.index_rules import key_types
from migrator.operations.setting_plan import setting_plan
from migrator.operations.tables import error, unknown_table, warning


@dataclass(frozen=True, slots=True)
class SetTimeToLive:
    """Expire items by `attribute` (a number: seconds since 1970); None switches expiry off."""

    attribute: str | None
    table: str = ""

    def __post_init__(self) -> None:
        if self.attribute is not None:
            attribute_name("SetTimeToLive", self.attribute)

    def lint(self, schema: Schema) -> tuple[Finding, ...]:
        missing = unknown_table(schema, self.table)
        if missing or self.attribute is None:
            return missing
        found = [
            warning(
                "expires-items",
                f"DynamoDB will delete every item whose {self.attribute} is a number of seconds in the past",
                "look for such items before: they go within a few days, and no way back brings them",
            )
        ]
        known = key_types(schema.table(self.table)).get(self.attribute)
        if known is not None and known[0] != "N":
            found.append(
                error(
                    "ttl-type", f"{self.attribute} is a key of {known[1]} of type {known[0]}: only numbers expire items"
                )
            )
        return tuple(found)

    def plan(self, schema: Schema) -> Plan:
        return setting_plan(
            schema,
            self.table,
            TimeToLive(self.attribute),
            "DynamoDB takes up to an hour to apply it, and refuses another change of it in that time",
        )
