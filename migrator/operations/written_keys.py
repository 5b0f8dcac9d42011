"""What lint can say of values that a step writes into attributes that are keys of an index."""

from __future__ import annotations

from migrator.core.findings import Finding
from migrator.core.schema import Table
from migrator.core.template import Reference, Template
from migrator.core.transform import Transform, index_key_problem
from migrator.operations.tables import error


def written_key_findings(table: Table, work: Transform) -> tuple[Finding, ...]:
    """Errors for constants and templates whose value no index would take, whatever the item."""
    found = []
    for name, value in work.set.items():
        for index, (kind, role) in sorted(table.index_key_types().get(name, {}).items()):
            if isinstance(value, Template):
                text = len(value.parts) > 1 or not isinstance(value.parts[0], Reference)
                if text and kind != "S":
                    found.append(
                        error(
                            "index-key-type",
                            f"set {name}: the template gives a string, and index {index} keys it as {kind}",
                            "a template of one field alone copies the value with its type",
                        )
                    )
                continue
            problem = index_key_problem(value, kind, role)
            if problem is not None:
                found.append(error(problem[0], f"set {name}: {problem[1]}, and {name} is a key of index {index}"))
    return tuple(found)
