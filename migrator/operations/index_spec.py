"""How a migration file spells an index: the same words in CreateTable and in AddIndex."""

from __future__ import annotations

from collections.abc import Iterable

from migrator.core import schema
from migrator.errors import UsageError
from migrator.operations.arguments import Keys, Units, attribute_name, units


def Index(  # noqa: N802 - reads as the value it gives
    name: str,
    *,
    partition_key: Keys,
    sort_key: Keys | None = None,
    projection: str | Iterable[str] = "ALL",
    provisioned: Units | None = None,
    on_demand_maximum: Units | None = None,
    warm_throughput: Units | None = None,
) -> schema.Index:
    """An index: one to four partition key attributes, none to four sort key attributes, and what it projects."""
    if not isinstance(name, str) or not name:
        raise UsageError("bad-option", f"{name!r} is no index name")
    if provisioned is not None and on_demand_maximum is not None:
        raise UsageError("bad-option", f"index {name}: give provisioned or on_demand_maximum, not both")
    projected = schema.projection(projection)
    if projected.type == "INCLUDE" and not projected.attributes:
        raise UsageError("bad-projection", f"index {name}: no attribute listed", hint="projection='KEYS_ONLY'")
    for attribute in projected.attributes:
        attribute_name(f"index {name}: projection", attribute)
    return schema.Index(
        name=name,
        partition_key=schema.key_attributes(partition_key),
        sort_key=schema.key_attributes(sort_key),
        projection=projected,
        provisioned=units("provisioned", provisioned),
        on_demand_maximum=units("on_demand_maximum", on_demand_maximum),
        warm=units("warm_throughput", warm_throughput),
    )
