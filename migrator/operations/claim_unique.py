"""ClaimUnique: one claim item for each value that must be unique, kept beside the items that hold it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from migrator.core.findings import Finding
from migrator.core.plan import Plan, Stage
from migrator.core.rewrite.form import Form
from migrator.core.rewrite.rewrite import Rewrite
from migrator.core.rewrite.steps import SLOT, CloseRewrite, VerifyTwins
from migrator.core.schema import Schema
from migrator.core.where import Where
from migrator.errors import UsageError
from migrator.operations import arguments, rewriting
from migrator.operations.arguments import assign, attribute_name
from migrator.operations.tables import error, unknown_table


@dataclass(frozen=True, slots=True, init=False)
class ClaimUnique:
    """Give each selected item a claim item, whose key is made of the values that must be unique.

    Duplicates are listed before anything is written. The claim holds `owner`, which names the item that has the value,
    and what `set` gives. From then on the application writes item and claim in one transaction, which fails where
    another holds the claim: by `migrator.runtime` at first, by code of its own after `contract`.
    """

    key: Form
    where: Where
    owner: str = "claimedBy"
    set: Form = field(default_factory=Form)
    table: str = ""

    def __init__(
        self,
        *,
        key: Mapping[str, str],
        where: Where = {},  # noqa: B006 - copied, never changed
        owner: str = "claimedBy",
        set: Mapping[str, str] = {},  # noqa: A002
        table: str = "",
    ):
        attribute_name("owner", owner)
        made = rewriting.form("key", key)
        if not made.fields:
            raise UsageError("nothing-to-do", "ClaimUnique: key= names no attribute whose value is to be unique")
        assign(self, key=made, where=arguments.where(where), owner=owner, set=rewriting.form("set", set), table=table)

    def lint(self, schema: Schema) -> tuple[Finding, ...]:
        missing = unknown_table(schema, self.table)
        if missing:
            return missing
        table = schema.table(self.table)
        lacking = [name for name in table.key_names if name not in self.key.names]
        if lacking:
            # Else the claims of one value would differ in the rest of the key, and never collide.
            return (
                error(
                    "no-key-attribute",
                    f"key= must give the whole key of a claim: {', '.join(lacking)} is missing",
                    f"such as key={{{table.key_names[0]!r}: 'EMAIL#{{email}}', …}}",
                ),
            )
        return rewriting.key_findings(table, table, self.key)

    def plan(self, schema: Schema) -> Plan:
        table = schema.table(self.table)
        route = rewriting.route(
            table, table, where=self.where, key=self.key, old=Form(), further=self.set, keep=(), mark=self.owner
        )
        rewrite = Rewrite((route,), moves=False)
        complete = Stage(
            "complete",
            "Do all writers keep the claims by code of their own, and may this rewrite end?",
            (VerifyTwins(rewrite, SLOT, "contract"), CloseRewrite(rewrite, SLOT, "done")),
            irreversible="the claims are the application's own from here on",
        )
        return rewriting.deriving(
            schema,
            rewrite,
            "Does every running writer of the application keep the claims, by migrator.runtime or as it does?",
            complete,
            notes=(f"a claim is an item of {table.alias} with the key, {self.owner} and what set= gives",),
        )
