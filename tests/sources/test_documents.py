"""One table, declared in every format, on documents laid out as the tools' documentation has them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from migrator import Index, N
from migrator.core.declared import DeclaredTable, Source
from migrator.core.schema import KeyAttribute, Table, Throughput
from migrator.core.settings import DeletionProtection, PointInTimeRecovery, Stream, TimeToLive
from migrator.errors import UsageError
from migrator.sources import read_source

HERE = Path(__file__).parent
DOCUMENTS = HERE / "documents"
MODELS = HERE.parent / "data"

INDEXES = {
    "ByStatus": Index("ByStatus", partition_key="status", sort_key="placedAt", projection=["total"]),
    "ByCustomer": Index("ByCustomer", partition_key=N("customerId"), projection="ALL"),
}
SETTINGS = {
    "time-to-live": TimeToLive("expiresAt"),
    "stream": Stream("NEW_AND_OLD_IMAGES"),
    "point-in-time-recovery": PointInTimeRecovery(True),
    "deletion-protection": DeletionProtection(True),
}


def read(name: str, **parameters: str) -> Source:
    return read_source(name, (DOCUMENTS / name).read_text(), parameters)


def orders(source: Source) -> DeclaredTable:
    (found,) = [table for table in source.tables if table.name == "prod-orders"]
    return found


@pytest.mark.parametrize(
    ("name", "label", "replicas"),
    [
        ("cloudformation.yaml", "Orders", ()),
        ("cdk.template.json", "OrdersTable5A1B2C3D", ("us-east-1",)),
        ("serverless.cloudformation-template-update-stack.json", "OrdersTable", ()),
        ("terraform-plan.json", "module.shop.aws_dynamodb_table.orders", ()),
        ("pulumi-stack.json", "orders", ()),
        ("pulumi-native.json", "orders", ()),
        ("sst-state.json", "OrdersTable", ()),
    ],
)
def test_every_format_declares_the_same_table(name: str, label: str, replicas: tuple[str, ...]) -> None:
    source = read(name, Stage="prod")
    assert source.unknown == ()
    assert orders(source) == DeclaredTable(
        label=label,
        name="prod-orders",
        shape=Table(label, KeyAttribute("PK"), KeyAttribute("SK"), INDEXES),
        settings=SETTINGS,
        replicas=replicas,
    )


def test_a_resource_whose_condition_does_not_hold_is_not_there() -> None:
    assert [table.label for table in read("cloudformation.yaml", Stage="prod").tables] == ["Orders"]
    assert len(read("cloudformation.yaml", Stage="dev").tables) == 2


def test_what_terraform_knows_only_after_apply_is_named_and_not_taken_for_absent() -> None:
    plan = json.loads((DOCUMENTS / "terraform-plan.json").read_text())
    change = plan["resource_changes"][1]["change"]
    change["after_unknown"] |= {"name": True, "ttl": True, "global_secondary_index": [{"range_key": True}, {}]}
    source = read_source("plan", json.dumps(plan), {})
    (table,) = [one for one in source.tables if one.label.startswith("module")]
    assert table.name is None
    assert "time-to-live" not in table.settings
    assert table.vague_indexes == {"ByStatus"}
    assert len([one for one in table.unknown if "only after apply" in one]) == 3


def test_what_a_stack_keeps_secret_or_does_not_know_yet_is_named() -> None:
    stack = json.loads((DOCUMENTS / "pulumi-stack.json").read_text())
    inputs = stack["deployment"]["resources"][1]["inputs"]
    inputs["ttl"] = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "ciphertext": "x"}
    inputs["streamViewType"] = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
    (table,) = read_source("stack", json.dumps(stack), {}).tables
    assert set(table.settings) == {"point-in-time-recovery", "deletion-protection"}
    assert [one.rpartition(": ")[2] for one in table.unknown] == [
        "it is kept as a secret of the stack",
        "the stack does not know it yet",
    ]


def test_a_parameter_changes_what_a_template_declares() -> None:
    source = read("cloudformation.yaml", Stage="dev", Service="baskets")
    assert {table.name for table in source.tables} == {"dev-baskets", None}
    (table,) = [table for table in source.tables if table.name == "dev-baskets"]
    assert table.settings["stream"] == Stream("KEYS_ONLY")
    assert table.settings["deletion-protection"] == DeletionProtection(False)
    assert "point-in-time-recovery" not in table.settings


def test_what_a_missing_parameter_decides_is_named_and_nothing_is_guessed() -> None:
    source = read("cloudformation.yaml")
    (table,) = source.tables
    assert table.name is None
    assert table.shape.indexes == INDEXES
    assert set(table.settings) == {"time-to-live"}
    told = "\n".join((*table.unknown, *source.unknown))
    for what in ("its name", "StreamSpecification", "DeletionProtectionEnabled", "PointInTimeRecovery", "OnlyInDev"):
        assert what in told
    assert "parameter Stage has no value here: give -x Stage=…" in told


def test_the_simple_table_of_sam_has_its_key_and_is_on_demand() -> None:
    sessions, plain = read("sam.yaml").tables
    assert sessions.shape == Table("Sessions", N("sessionId"))
    assert sessions.settings == {"point-in-time-recovery": PointInTimeRecovery(True)}
    assert plain.shape == Table("Plain", KeyAttribute("id"))


def test_the_units_of_a_provisioned_table_are_read_and_what_apply_decides_is_not() -> None:
    (audit,) = [table for table in read("terraform-plan.json").tables if table.name == "prod-audit"]
    assert (audit.shape.billing_mode, audit.shape.provisioned) == ("PROVISIONED", Throughput(5, 7))
    assert audit.settings == {}


@pytest.mark.parametrize("path", sorted(MODELS.glob("nwb-*.json")), ids=lambda path: path.stem)
def test_a_workbench_model_gives_its_tables_keys_and_indexes(path: Path) -> None:
    model = json.loads(path.read_text())["DataModel"]
    source = read_source(path.name, path.read_text(), {})
    assert [table.name for table in source.tables] == [one["TableName"] for one in model]
    for table, one in zip(source.tables, model, strict=True):
        keys = one["KeyAttributes"]
        wanted = [keys["PartitionKey"], *([keys["SortKey"]] if "SortKey" in keys else [])]
        assert [(key.name, key.type) for key in table.shape.key] == [
            (key["AttributeName"], key["AttributeType"]) for key in wanted
        ]
        indexes = {index["IndexName"]: index for index in one.get("GlobalSecondaryIndexes", [])}
        assert set(table.shape.indexes) == set(indexes)
        for name, index in table.shape.indexes.items():
            assert index.partition_key[0].name == indexes[name]["KeyAttributes"]["PartitionKey"]["AttributeName"]
        assert table.settings == {}
        assert table.has_vague_billing


# --- what is odd ------------------------------------------------------------------------------------------------------


def template(**properties: Any) -> str:
    plain = {
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "PK", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}],
    }
    return json.dumps({"Resources": {"T": {"Type": "AWS::DynamoDB::Table", "Properties": plain | properties}}})


def test_an_index_that_cannot_be_told_is_named_and_kept_apart_from_those_that_are_not_there() -> None:
    index = {"IndexName": "X", "KeySchema": {"Fn::ImportValue": "Keys"}, "Projection": {"ProjectionType": "ALL"}}
    (table,) = read_source("t", template(GlobalSecondaryIndexes=[index]), {}).tables
    assert table.vague_indexes == {"X"}
    assert table.unknown == ("T: index X: !ImportValue Keys is of another stack",)
    (vague,) = read_source("t", template(GlobalSecondaryIndexes={"Fn::GetAtt": ["A", "B"]}), {}).tables
    assert vague.is_vague


def test_a_table_whose_key_cannot_be_told_is_no_table() -> None:
    source = read_source("t", template(KeySchema={"Ref": "Keys"}), {})
    assert source.tables == ()
    assert "T: its key cannot be told: !Ref Keys" in source.unknown[0]


def test_keys_of_several_attributes_are_read_in_order() -> None:
    roles = [("a", "HASH"), ("b", "HASH"), ("c", "RANGE"), ("d", "RANGE")]
    text = template(
        AttributeDefinitions=[{"AttributeName": one, "AttributeType": "S"} for one in ("PK", "a", "b", "c", "d")],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "M",
                "KeySchema": [{"AttributeName": one, "KeyType": role} for one, role in roles],
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
        ],
    )
    (table,) = read_source("t", text, {}).tables
    assert table.shape.indexes["M"] == Index("M", partition_key=["a", "b"], sort_key=["c", "d"], projection="KEYS_ONLY")


def test_a_condition_is_decided_by_the_one_part_that_decides_it() -> None:
    text = json.dumps(
        {
            "Conditions": {
                "Known": {"Fn::Equals": ["a", "a"]},
                "Either": {"Fn::Or": [{"Condition": "Known"}, {"Fn::Equals": [{"Ref": "Nobody"}, "x"]}]},
                "Circular": {"Condition": "Circular"},
            },
            "Resources": {
                "T": {"Condition": "Either", **json.loads(template())["Resources"]["T"]},
                "U": {"Condition": "Circular", **json.loads(template())["Resources"]["T"]},
            },
        }
    )
    source = read_source("t", text, {})
    assert [table.label for table in source.tables] == ["T"]
    assert source.unknown[0].startswith("U: whether it is made cannot be told")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no document that is known here"),
        ("[1, 2]", "no document that is known here"),
        ("{", "no JSON"),
        ("a: [1", "neither JSON nor YAML"),
        ("a: !!python/object/apply:os.system ['true']", "neither JSON nor YAML"),
        ("service: x\nprovider: {name: aws}", "serverless.yml"),
        ('{"version": 4, "serial": 1, "lineage": "x", "resources": []}', "state file of Terraform"),
        ('{"Resources": {}}', "without a DynamoDB table"),
        ("a: &a [*a]\nResources: {T: {Type: 'AWS::DynamoDB::Table', Properties: {X: *a}}}", "refers to itself"),
        ("when: 2026-13-45\nx: 1", "cannot be read"),
    ],
)
def test_what_is_no_document_of_these_is_refused_by_name(text: str, says: str) -> None:
    with pytest.raises(UsageError) as refused:
        read_source("given.yaml", text, {})
    assert refused.value.code == "bad-source"
    assert says in refused.value.message
    assert "given.yaml" in refused.value.message


def test_a_small_file_that_unfolds_without_end_is_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    lines.append("Resources: {T: {Type: 'AWS::DynamoDB::Table', Properties: {X: *a8}}}")
    with pytest.raises(UsageError, match="values"):
        read_source("bomb.yaml", "\n".join(lines), {})
