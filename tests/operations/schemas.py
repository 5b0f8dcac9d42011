"""Tables that the tests of operations stand on, and short ways to ask."""

from __future__ import annotations

from migrator.core.findings import Severity
from migrator.core.plan import Operation
from migrator.core.schema import KeyAttribute, Schema, Table, Throughput
from migrator.operations.index_spec import Index

APP = Table("app", KeyAttribute("PK"), KeyAttribute("SK"))
BY_OWNER = Index("ByOwner", partition_key=["tenant", "owner"], sort_key="at")
SCHEMA = Schema(
    {"app": APP, "indexed": Table("indexed", APP.partition_key, APP.sort_key, {"ByOwner": BY_OWNER})}, "app"
)
PROVISIONED = Schema(
    {"app": Table("app", APP.partition_key, APP.sort_key, {}, "PROVISIONED", Throughput(5, 5))},
    "app",
)


def rules(operation: Operation, schema: Schema = SCHEMA) -> list[str]:
    """The rules of its findings, sorted; errors as they are, others with their severity."""
    return sorted(
        finding.rule if finding.severity is Severity.ERROR else f"{finding.severity}:{finding.rule}"
        for finding in operation.lint(schema)
    )
