"""The control plane at the wire: what is asked in one call, and how refusals and lost answers are taken."""

from __future__ import annotations

from typing import Any

import pytest

from migrator.core.ports import Busy
from migrator.core.schema import Index, KeyAttribute, N, Projection, Table, Throughput
from migrator.core.settings import BillingMode, DeletionProtection, PointInTimeRecovery, Setting, Stream, TimeToLive
from migrator.errors import MigratorError, ServiceError, UsageError
from migrator.sandbox import Drop, Request, Response
from tests.dynamo.conftest import TABLE, Rig

BY_OWNER = Index("ByOwner", (KeyAttribute("owner"),), (KeyAttribute("SK"),), Projection("KEYS_ONLY"))


def lose(_: Request, __: Response) -> Drop:
    return Drop()


def until_ready(rig: Rig, index: str) -> None:
    while True:
        live = rig.tables.describe("app")
        assert live is not None
        if live.status == "ACTIVE" and (index not in live.indexes or live.indexes[index].is_ready):
            return


# --- describe ---------------------------------------------------------------------------------------------------------


def test_access_denied_is_no_absent_table(rig: Rig) -> None:
    with (
        rig.sandbox.intercept(lambda _: Response.error("AccessDeniedException", "no"), operation="DescribeTable"),
        pytest.raises(MigratorError) as caught,
    ):
        rig.tables.describe("app")
    assert caught.value.code == "access-denied"
    assert "dynamodb:DescribeTable on app" in caught.value.message


def test_each_replica_is_asked_in_its_own_region(rig: Rig) -> None:
    other = rig.sandbox.client(region="eu-central-1", account="local", unseen=True)
    key = {"AttributeName": "PK", "KeyType": "HASH"}
    other.create_table(
        TableName="app",
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[key],
        AttributeDefinitions=[{"AttributeName": "PK", "AttributeType": "S"}],
        GlobalSecondaryIndexes=[{"IndexName": "ByOwner", "KeySchema": [key], "Projection": {"ProjectionType": "ALL"}}],
    )

    def with_replicas(request: Request, response: Response) -> Response:
        regions = [rig.clients.region, "eu-central-1", "ap-northeast-1"]
        replicas = [{"RegionName": region, "ReplicaStatus": "ACTIVE"} for region in regions]
        table = response.body["Table"] if response.ok else None
        if table is None or request.region != rig.clients.region:
            return response
        return response.with_body({"Table": table | {"Replicas": replicas, "MultiRegionConsistency": "STRONG"}})

    with rig.sandbox.intercept(after=with_replicas, operation="DescribeTable"):
        live = rig.tables.describe("app")
    assert live is not None
    assert live.has_strong_replicas
    assert [(replica.region, replica.status) for replica in live.replicas] == [
        ("ap-northeast-1", "ACTIVE"),
        ("eu-central-1", "ACTIVE"),
    ]
    assert [dict(replica.indexes) for replica in live.replicas] == [{}, {"ByOwner": "ACTIVE"}]


# --- indexes ----------------------------------------------------------------------------------------------------------


def test_a_new_index_names_every_key_attribute_also_those_of_the_table(rig: Rig) -> None:
    rig.tables.create_index("app", BY_OWNER)
    (body,) = rig.sent("UpdateTable")
    assert set(body) == {"TableName", "AttributeDefinitions", "GlobalSecondaryIndexUpdates"}
    named = {one["AttributeName"] for one in body["AttributeDefinitions"]}
    assert named == {"PK", "SK", "owner"}
    (update,) = body["GlobalSecondaryIndexUpdates"]
    assert set(update["Create"]) == {"IndexName", "KeySchema", "Projection"}


def test_an_index_of_a_provisioned_table_gets_its_units_or_the_table_s(rig: Rig) -> None:
    shape = Table("p", KeyAttribute("PK"), billing_mode="PROVISIONED", provisioned=Throughput(7, 9))
    rig.tables.create("provisioned", shape)
    rig.tables.create_index("provisioned", Index("Plain", (KeyAttribute("a"),)))
    (body,) = rig.sent("UpdateTable")
    create = body["GlobalSecondaryIndexUpdates"][0]["Create"]
    assert create["ProvisionedThroughput"] == {"ReadCapacityUnits": 7, "WriteCapacityUnits": 9}


def test_an_index_of_an_on_demand_table_gets_maximum_and_warmth_but_no_provisioned_units(rig: Rig) -> None:
    index = Index(
        "Warm",
        (KeyAttribute("a"),),
        provisioned=Throughput(1, 1),
        on_demand_maximum=Throughput(100, 50),
        warm=Throughput(13000, 5000),
    )
    rig.tables.create_index("app", index)
    (body,) = rig.sent("UpdateTable")
    create = body["GlobalSecondaryIndexUpdates"][0]["Create"]
    assert "ProvisionedThroughput" not in create
    assert create["OnDemandThroughput"] == {"MaxReadRequestUnits": 100, "MaxWriteRequestUnits": 50}
    assert create["WarmThroughput"] == {"ReadUnitsPerSecond": 13000, "WriteUnitsPerSecond": 5000}


def test_one_attribute_of_two_types_is_refused_before_a_call(rig: Rig) -> None:
    with pytest.raises(UsageError) as caught:
        rig.tables.create_index("app", Index("Bad", (N("SK"),)))
    assert caught.value.code == "key-type-conflict"
    assert rig.sent("UpdateTable") == []


@pytest.mark.parametrize("moment", ["never arrived", "answer lost"])
def test_an_index_is_created_once_although_the_answer_was_lost(rig: Rig, moment: str) -> None:
    hook: dict[str, Any] = {"after": lose} if moment == "answer lost" else {"before": lambda _: Drop()}
    with rig.sandbox.intercept(**hook, operation="UpdateTable", nth=1):
        rig.tables.create_index("app", BY_OWNER)
    assert len(rig.sent("UpdateTable")) == 2
    live = rig.tables.describe("app")
    assert live is not None
    assert set(live.indexes) == {"ByOwner"}


def test_an_index_is_deleted_once_although_the_answer_was_lost(rig: Rig) -> None:
    rig.tables.create_index("app", BY_OWNER)
    until_ready(rig, "ByOwner")
    with rig.sandbox.intercept(after=lose, operation="UpdateTable", nth=1):
        rig.tables.delete_index("app", "ByOwner")
    until_ready(rig, "ByOwner")
    live = rig.tables.describe("app")
    assert live is not None
    assert live.indexes == {}


def test_another_run_s_index_change_is_a_wait_and_not_hammered(rig: Rig) -> None:
    rig.tables.create_index("app", BY_OWNER)
    with pytest.raises(Busy):
        rig.tables.create_index("app", Index("Other", (KeyAttribute("b"),)))
    assert len(rig.sent("UpdateTable")) == 2
    assert rig.told == []


def test_a_throttled_control_plane_is_asked_again(rig: Rig) -> None:
    slow = Response.error("ThrottlingException", "Rate exceeded")
    with rig.sandbox.intercept(lambda _: slow, operation="UpdateTable", nth=1):
        rig.tables.create_index("app", BY_OWNER)
    assert len(rig.sent("UpdateTable")) == 2


def test_values_that_change_nothing_are_not_sent(rig: Rig) -> None:
    shape = Table(
        "p",
        KeyAttribute("PK"),
        indexes={"Plain": Index("Plain", (KeyAttribute("a"),), provisioned=Throughput(3, 3))},
        billing_mode="PROVISIONED",
        provisioned=Throughput(7, 9),
    )
    rig.tables.create("provisioned", shape)
    rig.tables.update_index("provisioned", shape.indexes["Plain"])
    rig.tables.change_setting(
        "provisioned", BillingMode("PROVISIONED", Throughput(7, 9), (("Plain", Throughput(3, 3)),))
    )
    rig.tables.change_setting("app", BillingMode("PAY_PER_REQUEST"))
    rig.tables.change_setting("app", DeletionProtection(False))
    rig.tables.change_setting("app", Stream(None))
    assert rig.sent("UpdateTable") == []


def test_values_that_became_so_meanwhile_are_a_success(rig: Rig) -> None:
    message = "The provisioned throughput for the table will not change. The requested value equals the current value."
    same = Response.error("ValidationException", message)
    with rig.sandbox.intercept(lambda _: same, operation="UpdateTable"):
        rig.tables.change_setting("app", DeletionProtection(True))


def test_each_throughput_of_an_index_has_a_call_of_its_own(rig: Rig) -> None:
    rig.tables.create_index("app", Index("Plain", (KeyAttribute("a"),)))
    until_ready(rig, "Plain")
    rig.sandbox.requests.clear()
    ok = Response.json({"TableDescription": {}})
    wanted = Index("Plain", (), on_demand_maximum=Throughput(10, -1), warm=Throughput(13000, 5000))
    with rig.sandbox.intercept(lambda _: ok, operation="UpdateTable"):
        rig.tables.update_index("app", wanted)
    updates = [body["GlobalSecondaryIndexUpdates"] for body in rig.sent("UpdateTable")]
    assert updates == [
        [
            {
                "Update": {
                    "IndexName": "Plain",
                    "OnDemandThroughput": {"MaxReadRequestUnits": 10, "MaxWriteRequestUnits": -1},
                }
            }
        ],
        [
            {
                "Update": {
                    "IndexName": "Plain",
                    "WarmThroughput": {"ReadUnitsPerSecond": 13000, "WriteUnitsPerSecond": 5000},
                }
            }
        ],
    ]


# --- create -----------------------------------------------------------------------------------------------------------


def test_a_table_is_made_with_what_create_table_can_carry(rig: Rig) -> None:
    settings: list[Setting] = [
        Stream("NEW_IMAGE"),
        DeletionProtection(True),
        TimeToLive("ttl"),
        PointInTimeRecovery(True),
    ]
    rig.tables.create("made", TABLE.with_index(BY_OWNER), settings)
    assert len(rig.sent("CreateTable")) == 1
    assert rig.sent("UpdateTimeToLive", "UpdateContinuousBackups", "UpdateTable") == []
    live = rig.tables.describe("made")
    assert live is not None
    assert (live.stream, live.deletion_protection) == ("NEW_IMAGE", True)


def test_a_provisioned_table_without_units_is_refused_before_a_call(rig: Rig) -> None:
    with pytest.raises(UsageError) as caught:
        rig.tables.create("made", Table("p", KeyAttribute("PK"), billing_mode="PROVISIONED"))
    assert caught.value.code == "throughput-missing"
    assert rig.sent("CreateTable") == []


def test_billing_given_as_a_setting_holds_from_the_first(rig: Rig) -> None:
    rig.tables.create("made", TABLE.with_index(BY_OWNER), [BillingMode("PROVISIONED", Throughput(2, 3))])
    live = rig.tables.describe("made")
    assert live is not None
    assert live.shape.billing_mode == "PROVISIONED"
    assert live.indexes["ByOwner"].definition.provisioned == Throughput(2, 3)


def test_a_table_is_made_once_although_the_answer_was_lost(rig: Rig) -> None:
    with rig.sandbox.intercept(after=lose, operation="CreateTable", nth=1):
        rig.tables.create("made", TABLE)
    assert len(rig.sent("CreateTable")) == 2
    assert rig.tables.describe("made") is not None


def test_a_table_that_is_being_made_is_a_wait(rig: Rig) -> None:
    def creating(_: Request, response: Response) -> Response:
        return response.with_body({"Table": response.body["Table"] | {"TableStatus": "CREATING"}})

    with rig.sandbox.intercept(after=creating, operation="DescribeTable"), pytest.raises(Busy):
        rig.tables.create("app", TABLE)


# --- settings ---------------------------------------------------------------------------------------------------------


def converge(rig: Rig, setting: Setting) -> int:
    """How many calls it takes until there is nothing to wait for."""
    for calls in range(1, 5):
        try:
            rig.tables.change_setting("app", setting)
        except Busy:
            until_ready(rig, "")
            continue
        assert rig.tables.setting("app", type(setting)) == setting
        return calls
    raise AssertionError("it never came to that")


def test_another_view_of_a_stream_is_off_first_then_on(rig: Rig) -> None:
    assert converge(rig, Stream("KEYS_ONLY")) == 1
    until_ready(rig, "")
    assert converge(rig, Stream("NEW_IMAGE")) == 2


def test_another_attribute_for_ttl_is_off_first_then_on(rig: Rig) -> None:
    assert converge(rig, TimeToLive("a")) == 1
    assert converge(rig, TimeToLive("b")) == 2
    assert converge(rig, TimeToLive(None)) == 1


def test_ttl_in_motion_is_a_wait(rig: Rig) -> None:
    status = {"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLING", "AttributeName": "a"}}
    with rig.sandbox.intercept(lambda _: Response.json(status), operation="DescribeTimeToLive"):
        assert rig.tables.setting("app", TimeToLive) == TimeToLive(None)
        with pytest.raises(Busy):
            rig.tables.change_setting("app", TimeToLive("a"))
    often = Response.error(
        "ValidationException", "Time to live has been modified multiple times within a fixed interval"
    )
    with rig.sandbox.intercept(lambda _: often, operation="UpdateTimeToLive"), pytest.raises(Busy):
        rig.tables.change_setting("app", TimeToLive("a"))


def test_ttl_that_became_so_meanwhile_is_a_success(rig: Rig) -> None:
    already = Response.error("ValidationException", "TimeToLive is already enabled")
    with rig.sandbox.intercept(lambda _: already, operation="UpdateTimeToLive"):
        rig.tables.change_setting("app", TimeToLive("a"))
    other = Response.error("ValidationException", "no")
    with rig.sandbox.intercept(lambda _: other, operation="UpdateTimeToLive"), pytest.raises(ServiceError):
        rig.tables.change_setting("app", TimeToLive("a"))


def test_backups_that_are_being_enabled_are_a_wait(rig: Rig) -> None:
    busy = Response.error("ContinuousBackupsUnavailableException", "Backups are being enabled for the table")
    with rig.sandbox.intercept(lambda _: busy, operation="UpdateContinuousBackups"), pytest.raises(Busy):
        rig.tables.change_setting("app", PointInTimeRecovery(True))


def test_a_switch_to_provisioned_names_the_table_and_every_index_in_one_call(rig: Rig) -> None:
    rig.tables.create_index("app", BY_OWNER)
    until_ready(rig, "ByOwner")
    rig.sandbox.requests.clear()
    rig.tables.change_setting("app", BillingMode("PROVISIONED", Throughput(5, 6)))
    (body,) = rig.sent("UpdateTable")
    units = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 6}
    assert body == {
        "TableName": "app",
        "BillingMode": "PROVISIONED",
        "ProvisionedThroughput": units,
        "GlobalSecondaryIndexUpdates": [{"Update": {"IndexName": "ByOwner", "ProvisionedThroughput": units}}],
    }


def test_a_switch_to_provisioned_without_units_is_refused(rig: Rig) -> None:
    with pytest.raises(UsageError):
        rig.tables.change_setting("app", BillingMode("PROVISIONED"))
    assert rig.sent("UpdateTable") == []
