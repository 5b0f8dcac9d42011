"""What is exported declares the table that was exported: read back, nothing is left to change."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrator import Index, N
from migrator.core.declared import DeclaredTable
from migrator.core.evolution import evolve
from migrator.core.schema import KeyAttribute, KeyType, Projection, Table, Throughput
from migrator.core.settings import DeletionProtection, PointInTimeRecovery, Setting, Stream, TimeToLive
from migrator.errors import MigratorError
from migrator.sources import read_source, to_cloudformation, to_terraform
from migrator.sources.terraform import table as read_terraform
from migrator.sources.to_terraform import arguments
from migrator.sources.unknown import Unknown

NAMES = st.sampled_from(["PK", "SK", "a", "b-c", "ä", 'q"uo\\te', "${x}", "line\nbreak"])
TYPES: st.SearchStrategy[KeyType] = st.sampled_from(["S", "N", "B"])
UNITS = st.builds(Throughput, st.integers(1, 99), st.integers(1, 99))


@st.composite
def tables(draw: st.DrawFn) -> DeclaredTable:
    types: dict[str, KeyType] = {}

    def keys(least: int, most: int, taken: set[str]) -> tuple[KeyAttribute, ...]:
        names = draw(st.lists(NAMES.filter(lambda name: name not in taken), min_size=least, max_size=most, unique=True))
        taken.update(names)
        return tuple(KeyAttribute(name, types.setdefault(name, draw(TYPES))) for name in names)

    taken: set[str] = set()
    partition, sort = keys(1, 1, taken), keys(0, 1, taken)
    units = draw(st.none() | UNITS)
    indexes = {}
    for name in draw(st.sets(st.sampled_from(["One", "Two", "Three.x-y"]))):
        used: set[str] = set()
        shown = draw(st.sampled_from([Projection(), Projection("KEYS_ONLY"), Projection("INCLUDE", frozenset("xy"))]))
        own = draw(UNITS) if units is not None else None
        indexes[name] = Index(name, partition_key="PK")
        maximum = draw(st.none() | UNITS) if units is None else None
        indexes[name] = replace(
            indexes[name],
            partition_key=keys(1, 4, used),
            sort_key=keys(0, 4, used),
            projection=shown,
            provisioned=own,
            on_demand_maximum=maximum,
        )
    mode = "PAY_PER_REQUEST" if units is None else "PROVISIONED"
    shape = Table("app", partition[0], sort[0] if sort else None, indexes, mode, units)  # type: ignore[arg-type]
    settings: list[Setting] = draw(
        st.sampled_from(
            [
                [],
                [TimeToLive("expires"), Stream("KEYS_ONLY"), PointInTimeRecovery(True), DeletionProtection(True)],
                [TimeToLive(None), Stream(None), PointInTimeRecovery(False), DeletionProtection(False)],
            ]
        )
    )
    replicas = draw(st.sampled_from([(), ("us-east-1",)])) if units is None else ()
    if replicas:
        shape = replace(
            shape, indexes={name: replace(one, on_demand_maximum=None) for name, one in shape.indexes.items()}
        )
    return DeclaredTable("app", "prod-app", shape, {one.name: one for one in settings}, replicas=replicas)


@given(tables())
def test_a_template_declares_the_table_that_it_was_made_of(table: DeclaredTable) -> None:
    (back,) = read_source("t", to_cloudformation({"app": table}), {"AWS::Region": "eu-west-1"}).tables
    assert (back.label, back.name, back.replicas, back.unknown) == ("App", table.name, table.replicas, ())
    assert replace(back.shape, alias="app") == table.shape
    assert evolve("app", table, back).stages == evolve("app", back, table).stages == ()


@given(tables())
def test_terraform_plans_no_change_of_the_table_that_its_blocks_were_made_of(table: DeclaredTable) -> None:
    back = read_terraform("app", arguments(table))
    assert not isinstance(back, Unknown)
    assert (back.name, back.replicas) == (table.name, table.replicas)
    assert evolve("app", table, back).stages == evolve("app", back, table).stages == ()


def test_terraform_is_written_as_its_own_formatter_leaves_it() -> None:
    shape = Table(
        "app",
        KeyAttribute("PK"),
        KeyAttribute("SK"),
        {
            "ByOwner": Index(
                "ByOwner", partition_key=["tenant", "owner"], sort_key=N("at"), projection=["title", "${a}"]
            ),
            "BySku": Index("BySku", partition_key="sku", projection="KEYS_ONLY"),
        },
    )
    table = DeclaredTable("app", "prod-app", shape).with_setting(PointInTimeRecovery(True))
    assert to_terraform({"app": table}) == (
        "# As the migrations leave app. `migrator export` writes it; indexes are changed by migrations alone.\n"
        "# To let Terraform never touch them: lifecycle { ignore_changes = [attribute, global_secondary_index] }\n"
        "\n"
        'resource "aws_dynamodb_table" "app" {\n'
        '  name         = "prod-app"\n'
        '  billing_mode = "PAY_PER_REQUEST"\n'
        '  hash_key     = "PK"\n'
        '  range_key    = "SK"\n'
        "\n"
        "  point_in_time_recovery {\n"
        "    enabled = true\n"
        "  }\n"
        + "".join(
            f'\n  attribute {{\n    name = "{name}"\n    type = "{kind}"\n  }}\n'
            for name, kind in (("PK", "S"), ("SK", "S"), ("at", "N"), ("owner", "S"), ("sku", "S"), ("tenant", "S"))
        )
        + "\n"
        "  global_secondary_index {\n"
        '    name               = "ByOwner"\n'
        '    projection_type    = "INCLUDE"\n'
        '    non_key_attributes = ["$${a}", "title"]\n'
        + "".join(
            f'\n    key_schema {{\n      attribute_name = "{name}"\n      key_type       = "{role}"\n    }}\n'
            for name, role in (("tenant", "HASH"), ("owner", "HASH"), ("at", "RANGE"))
        )
        + "  }\n"
        "\n"
        "  global_secondary_index {\n"
        '    name            = "BySku"\n'
        '    hash_key        = "sku"\n'
        '    projection_type = "KEYS_ONLY"\n'
        "  }\n"
        "\n"
        "  lifecycle {\n"
        "    prevent_destroy = true\n"
        "  }\n"
        "}\n"
    )


def test_a_template_keeps_the_table_whatever_becomes_of_the_stack() -> None:
    table = DeclaredTable("app_v2", "t", Table("app_v2", KeyAttribute("PK")))
    resource = json.loads(to_cloudformation({"app_v2": table}))["Resources"]["AppV2"]
    assert (resource["DeletionPolicy"], resource["UpdateReplacePolicy"]) == ("Retain", "Retain")


def test_what_a_resource_cannot_say_is_refused() -> None:
    shape = Table("app", KeyAttribute("PK"), billing_mode="PROVISIONED", provisioned=Throughput(1, 1))
    with pytest.raises(MigratorError, match="provisioned global table"):
        to_cloudformation({"app": DeclaredTable("app", "t", shape, replicas=("us-east-1",))})
