"""SetStream: the table's DynamoDB stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from migrator.core.findings import Finding
from migrator.core.plan import Plan
from migrator.core.schema import Schema
from migrator.core.settings import Stream
from migrator.operations.arguments import choice
from migrator.operations.setting_plan import setting_plan
from migrator.operations.tables import unknown_table


@dataclass(frozen=True, slots=True)
class SetStream:
    """Switch the stream on with a view type, or off with None."""

    view: Literal["KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES"] | None
    table: str = ""

    def __post_init__(self) -> None:
        if self.view is not None:
            choice("SetStream view", self.view, ("KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES"))

    def lint(self, schema: Schema) -> tuple[Finding, ...]:
        return unknown_table(schema, self.table)

    def plan(self, schema: Schema) -> Plan:
        if self.view is None:
            note = "consumers find no new records from now on; the old ones stay readable for 24 hours"
        else:
            note = (
                "only writes after it is on are in the stream; a stream with another view type is switched off first, "
                "and the new one has another ARN: event source mappings must be moved to it"
            )
        return setting_plan(schema, self.table, Stream(self.view), note)
