"""UpdateIndex: the throughput of an index, the one thing about it that can change in place."""

from __future__ import annotations

from dataclasses import dataclass, replace

from migrator.core import steps
from migrator.core.findings import Finding
from migrator.core.plan import Plan
from migrator.core.schema import Index, Schema, Throughput
from migrator.errors import UsageError
from migrator.operations.arguments import Units, assign, units
from migrator.operations.index_rules import throughput_findings
from migrator.operations.tables import error, unknown_table


@dataclass(frozen=True, slots=True, init=False)
class UpdateIndex:
    """Set provisioned units, the on-demand maximum (-1 removes it) or the warm throughput of an index."""

    name: str
    provisioned: Throughput | None = None
    on_demand_maximum: Throughput | None = None
    warm_throughput: Throughput | None = None
    table: str = ""

    def __init__(
        self,
        name: str,
        *,
        provisioned: Units | None = None,
        on_demand_maximum: Units | None = None,
        warm_throughput: Units | None = None,
        table: str = "",
    ):
        if not isinstance(name, str) or not name:
            raise UsageError("bad-option", f"{name!r} is no index name")
        if provisioned is None and on_demand_maximum is None and warm_throughput is None:
            raise UsageError(
                "nothing-to-do", f"UpdateIndex {name}: give provisioned, on_demand_maximum or warm_throughput"
            )
        if provisioned is not None and on_demand_maximum is not None:
            raise UsageError("bad-option", f"UpdateIndex {name}: give provisioned or on_demand_maximum, not both")
        assign(
            self,
            name=name,
            provisioned=units("provisioned", provisioned),
            on_demand_maximum=units("on_demand_maximum", on_demand_maximum, may_lift=True),
            warm_throughput=units("warm_throughput", warm_throughput),
            table=table,
        )

    def _named(self, known: Index) -> Index:
        """The index with the throughput that this operation names, and no other."""
        return replace(
            known,
            provisioned=self.provisioned,
            on_demand_maximum=self.on_demand_maximum,
            warm=self.warm_throughput,
        )

    def lint(self, schema: Schema) -> tuple[Finding, ...]:
        missing = unknown_table(schema, self.table)
        if missing:
            return missing
        table = schema.table(self.table)
        known = table.indexes.get(self.name)
        if known is None:
            return (_unknown(table.alias, self.name, table.indexes),)
        return throughput_findings(table, self._named(known), creates=False)

    def plan(self, schema: Schema) -> Plan:
        table = schema.table(self.table)
        known = table.indexes.get(self.name)
        if known is None:
            finding = _unknown(table.alias, self.name, table.indexes)
            raise UsageError(finding.rule, finding.message, hint=finding.hint)
        named = self._named(known)
        # One concern a call: warm throughput does not travel with the rest.
        concerns = [
            replace(named, warm=None) if named.provisioned or named.on_demand_maximum else None,
            replace(named, provisioned=None, on_demand_maximum=None) if named.warm else None,
        ]
        after = replace(
            known,
            provisioned=self.provisioned or known.provisioned,
            on_demand_maximum=self.on_demand_maximum or known.on_demand_maximum,
            warm=self.warm_throughput or known.warm,
        )
        notes = []
        if self.warm_throughput is not None:
            notes.append("warm throughput is charged once when it is raised, and can never be lowered again")
        if self.provisioned is not None:
            notes.append("a day allows only a few decreases of an index's units (4 at its start, one more an hour)")
        return Plan(
            after=schema.with_table(table.with_index(after)),
            apply=tuple(steps.UpdateIndex(table.alias, index) for index in concerns if index is not None),
            rollback=(steps.Restore(table.alias, f"index:{self.name}"),),
            notes=tuple(notes),
        )


def _unknown(table: str, name: str, known: object) -> Finding:
    listed = ", ".join(sorted(map(str, known))) if isinstance(known, dict) and known else "none"
    return error(
        "unknown-index",
        f"table {table} has no index {name} at this revision (known: {listed})",
        "an index that no migration names is described from the live table: check the spelling",
    )
