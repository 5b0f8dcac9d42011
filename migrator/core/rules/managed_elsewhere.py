"""Index changes of a table whose indexes another tool owns."""

from __future__ import annotations

from collections.abc import Iterator

from migrator.core.findings import Severity
from migrator.core.rules.release import Release
from migrator.core.rules.rule import Remark, Rule

_HINTS = {
    "terraform": "let it leave indexes alone, lifecycle { ignore_changes = [attribute, global_secondary_index] }; "
    "or put `migrator export --table ALIAS` into its files after the upgrade",
    "cloudformation": "put `migrator export --table ALIAS` into the template after the upgrade, before its next "
    "deployment",
}


def judge(release: Release) -> Iterator[Remark]:
    """A remark at the first index change of such a table in each file."""
    told = set()
    for one, _ in release.index_changes():
        manager = release.managers.get(one.alias, "migrator")
        where = (one.migration.revision, one.alias)
        if manager == "migrator" or where in told:
            continue
        told.add(where)
        yield Remark(
            one,
            f"table {one.alias} is managed by {manager}, and this file changes its indexes: the next deployment of "
            f"{manager} may take that back",
            _HINTS.get(manager, f"tell {manager} to leave the indexes of this table alone").replace("ALIAS", one.alias),
        )


RULE = Rule(
    "managed-elsewhere",
    Severity.WARNING,
    "An index is changed on a table that Terraform or CloudFormation manages.",
    judge,
)
