from __future__ import annotations

from datetime import UTC, datetime

import pytest

from migrator.core.ports import BuildMetrics, Busy
from migrator.core.schema import Index, KeyAttribute, N, Table, Throughput
from migrator.core.settings import BillingMode, DeletionProtection, PointInTimeRecovery, Stream, TimeToLive
from migrator.errors import ServiceError
from migrator.testing.memory import World

ORDERS = Table("orders", KeyAttribute("id"))
BY_STATUS = Index("by-status", (KeyAttribute("status"),))
BY_OWNER = Index("by-owner", (KeyAttribute("owner"),))


@pytest.fixture
def world() -> World:
    world = World()
    world.tables.add("orders", ORDERS)
    return world


def look(world: World, index: str = "by-status") -> tuple[str, str | None, bool | None]:
    live = world.tables.describe("orders")
    assert live is not None
    found = live.indexes.get(index)
    return live.status, found and found.status, found and found.backfilling


def test_an_index_is_allocated_backfilled_and_then_active(world: World) -> None:
    world.tables.create_index("orders", BY_STATUS)
    assert look(world) == ("UPDATING", "CREATING", False)
    world.clock.advance(30)
    assert look(world) == ("ACTIVE", "CREATING", True)
    world.clock.advance(509)
    assert look(world) == ("ACTIVE", "CREATING", True)
    world.clock.advance(1)
    assert look(world) == ("ACTIVE", "ACTIVE", None)
    live = world.tables.describe("orders")
    assert live is not None
    assert dict(live.shape.indexes) == {"by-status": BY_STATUS}


def test_only_one_index_is_created_or_deleted_at_a_time(world: World) -> None:
    world.tables.create_index("orders", BY_STATUS)
    for _ in range(2):
        with pytest.raises(Busy, match="Only 1 online index"):
            world.tables.create_index("orders", BY_OWNER)
        world.clock.advance(30)
    world.clock.advance(510)
    world.tables.create_index("orders", BY_OWNER)
    assert look(world, "by-owner")[1] == "CREATING"


def test_a_build_can_be_cancelled_only_while_it_backfills(world: World) -> None:
    world.tables.create_index("orders", BY_STATUS)
    with pytest.raises(Busy, match="allocation"):
        world.tables.delete_index("orders", "by-status")
    world.clock.advance(30)
    world.tables.delete_index("orders", "by-status")
    assert look(world) == ("UPDATING", "DELETING", None)
    world.clock.advance(5)
    assert look(world) == ("ACTIVE", None, None)
    with pytest.raises(ServiceError) as caught:
        world.tables.delete_index("orders", "by-status")
    assert caught.value.code == "index-not-found"


def test_an_index_that_exists_is_not_created_again_nor_with_another_type(world: World) -> None:
    world.tables.create_index("orders", BY_STATUS)
    world.clock.advance(540)
    with pytest.raises(ServiceError, match="exists already"):
        world.tables.create_index("orders", BY_STATUS)
    with pytest.raises(ServiceError, match="is S in index by-status"):
        world.tables.create_index("orders", Index("n", (N("status"),)))


def test_a_new_table_gets_all_its_indexes_at_once_and_never_backfills(world: World) -> None:
    shape = ORDERS.with_index(BY_STATUS).with_index(BY_OWNER)
    world.tables.create("new", shape, [TimeToLive("ttl")])
    with pytest.raises(Busy):
        world.tables.create("new", shape)
    live = world.tables.describe("new")
    assert live is not None
    assert (live.status, live.indexes["by-owner"].status, live.indexes["by-owner"].backfilling) == (
        "CREATING", "CREATING", None,
    )  # fmt: skip
    world.clock.advance(20)
    live = world.tables.describe("new")
    assert live is not None
    assert live.indexes["by-owner"].is_ready
    assert world.tables.setting("new", TimeToLive) == TimeToLive("ttl")
    world.items.put("new", {"id": {"S": "1"}})
    with pytest.raises(ServiceError, match="already"):
        world.tables.create("new", shape)


def test_a_throughput_change_takes_a_moment_and_the_same_values_are_refused(world: World) -> None:
    world.tables.create_index("orders", BY_STATUS)
    world.clock.advance(540)
    capped = Index("by-status", (KeyAttribute("status"),), on_demand_maximum=Throughput(10, 20))
    world.tables.update_index("orders", capped)
    assert look(world)[1] == "UPDATING"
    with pytest.raises(Busy):
        world.tables.create_index("orders", BY_OWNER)
    world.clock.advance(3)
    assert look(world)[1] == "ACTIVE"
    with pytest.raises(ServiceError, match="will not change"):
        world.tables.update_index("orders", capped)


def test_settings_are_kept_and_a_stream_waits_for_an_index(world: World) -> None:
    for setting in (TimeToLive("ttl"), PointInTimeRecovery(True), DeletionProtection(True), Stream("NEW_IMAGE")):
        assert world.tables.setting("orders", type(setting)) != setting
        world.tables.change_setting("orders", setting)
        assert world.tables.setting("orders", type(setting)) == setting
    world.tables.create_index("orders", BY_STATUS)
    with pytest.raises(Busy):
        world.tables.change_setting("orders", Stream(None))


def test_a_switch_of_billing_mode_moves_table_and_indexes_and_takes_time(world: World) -> None:
    mode = BillingMode("PROVISIONED", Throughput(5, 5))
    world.tables.change_setting("orders", mode)
    with pytest.raises(Busy):
        world.tables.create_index("orders", BY_STATUS)
    world.clock.advance(60)
    live = world.tables.describe("orders")
    assert live is not None
    assert (live.status, live.shape.billing_mode, live.shape.provisioned) == ("ACTIVE", "PROVISIONED", Throughput(5, 5))
    assert world.tables.setting("orders", BillingMode) == mode


def test_no_table_is_none_and_a_change_of_it_an_error(world: World) -> None:
    assert world.tables.describe("nothing") is None
    with pytest.raises(ServiceError) as caught:
        world.tables.create_index("nothing", BY_STATUS)
    assert caught.value.code == "table-not-found"


def test_two_processes_see_the_same_tables_whatever_their_clocks_say(world: World) -> None:
    other = world.as_another(world.clock.as_seen_by(monotonic=5000))
    other.tables.create_index("orders", BY_STATUS)
    world.clock.advance(31)
    assert look(other) == look(world) == ("ACTIVE", "CREATING", True)


def test_metrics_are_unknown_until_a_test_says_otherwise(world: World) -> None:
    since = datetime(2026, 1, 1, tzinfo=UTC)
    assert world.metrics.index_build("orders", "by-status", since) == BuildMetrics()
    world.metrics.builds["orders", "by-status"] = BuildMetrics(progress=40.0)
    assert world.metrics.index_build("orders", "by-status", since).progress == 40.0
