"""RebuildCounter: a counter is counted anew from the items of its item collection, exactly, while they change."""

from __future__ import annotations

from dataclasses import dataclass

from migrator.core import steps
from migrator.core.findings import Finding
from migrator.core.plan import Plan
from migrator.core.schema import Schema
from migrator.core.where import Where
from migrator.errors import UsageError
from migrator.operations import arguments
from migrator.operations.arguments import assign, attribute_name
from migrator.operations.tables import error, unknown_table


@dataclass(frozen=True, slots=True, init=False)
class RebuildCounter:
    """Set `attribute` of each item that `where` selects to how many items beside it `count` selects.

    Beside it are the items of the same partition key. `sum` names an attribute of theirs to add up instead. A counter
    is written only if it did not change while its collection was read; then all are looked at again,
    until none differs.
    """

    attribute: str
    where: Where
    count: Where
    sum: str = ""
    table: str = ""

    def __init__(self, attribute: str, *, where: Where, count: Where, sum: str = "", table: str = ""):  # noqa: A002
        attribute_name("attribute", attribute)
        if sum:
            attribute_name("sum", sum)
        selected = arguments.where(where)
        if not callable(selected) and not selected:
            raise UsageError(
                "selects-everything",
                "RebuildCounter: an empty where makes every item of the table a counter",
                hint="say which items hold the counter, such as where={'SK': BeginsWith('#METADATA#')}",
            )
        assign(self, attribute=attribute, where=selected, count=arguments.where(count), sum=sum, table=table)

    def lint(self, schema: Schema) -> tuple[Finding, ...]:
        missing = unknown_table(schema, self.table)
        if missing:
            return missing
        table = schema.table(self.table)
        if table.sort_key is None:
            return (
                error(
                    "no-sort-key",
                    f"table {table.alias} has no sort key: no item has another beside it to count",
                ),
            )
        if self.attribute in table.key_names:
            return (error("table-key", f"{self.attribute} is a key of table {table.alias}"),)
        return ()

    def plan(self, schema: Schema) -> Plan:
        table = schema.table(self.table)
        step = steps.RebuildCounters(table.alias, self.attribute, self.where, self.count, self.sum)
        what = f"the sum of {self.sum}" if self.sum else "a number"
        return Plan(
            after=schema,
            apply=(step,),
            notes=(
                f"{self.attribute} is {what} of items, exact if the application changes it in the transaction that "
                "changes them; else a change under way may be counted twice or not at all",
                "each counter costs a read of its whole item collection, twice at least",
                "a downgrade leaves the counters as they were rebuilt",
            ),
        )
