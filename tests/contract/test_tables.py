"""What the Tables port promises, whatever engine is behind it."""

from __future__ import annotations

import pytest

from migrator.core.ports import Busy, LiveTable
from migrator.core.schema import B, Index, KeyAttribute, N, Projection, Table, Throughput, differences
from migrator.core.settings import BillingMode, DeletionProtection, PointInTimeRecovery, Setting, Stream, TimeToLive
from migrator.errors import ServiceError
from tests.contract.adapters import Adapter

PLAIN = Table("app", KeyAttribute("PK"), KeyAttribute("SK"))
ESCALATIONS = Index(
    "Escalations",
    (KeyAttribute("tenantId"), KeyAttribute("escalatedTo")),
    (N("createdAt"), B("taskId")),
    Projection("INCLUDE", frozenset({"title", "status"})),
)
BY_OWNER = Index("ByOwner", (KeyAttribute("owner"),), (), Projection("KEYS_ONLY"))


def ready(adapter: Adapter, table: str, index: str) -> LiveTable:
    return adapter.until(
        table, lambda live: live.status == "ACTIVE" and index in live.indexes and live.indexes[index].is_ready
    )


def test_an_unknown_table_is_none(adapter: Adapter) -> None:
    assert adapter.tables.describe("nobody-made-this") is None


@pytest.mark.parametrize("shape", [Table("t", N("n")), Table("t", B("b"), N("n")), PLAIN])
def test_a_table_is_described_as_it_was_made(adapter: Adapter, shape: Table) -> None:
    name = adapter.make(shape)
    live = adapter.tables.describe(name)
    assert live is not None
    assert live.name == name
    assert live.table_id
    assert live.arn.endswith(name)
    assert live.shape.key == shape.key
    assert live.shape.billing_mode == "PAY_PER_REQUEST"
    assert live.indexes == {}
    assert not live.replicas
    assert not live.has_strong_replicas


def test_two_tables_have_two_identities(adapter: Adapter) -> None:
    first, second = (adapter.tables.describe(adapter.make(PLAIN)) for _ in range(2))
    assert first is not None
    assert second is not None
    assert first.table_id != second.table_id


def test_a_table_is_made_with_its_indexes_and_settings_in_one_call(adapter: Adapter) -> None:
    shape = PLAIN.with_index(BY_OWNER)
    name = adapter.make(shape, Stream("NEW_AND_OLD_IMAGES"), DeletionProtection(True))
    live = adapter.tables.describe(name)
    assert live is not None
    assert live.indexes["ByOwner"].is_ready
    assert differences(live.indexes["ByOwner"].definition, BY_OWNER, PLAIN.key_names) == ()
    assert live.stream == "NEW_AND_OLD_IMAGES"
    assert live.deletion_protection
    adapter.tables.change_setting(name, DeletionProtection(False))


def test_a_table_that_is_there_is_not_made_again(adapter: Adapter) -> None:
    name = adapter.make(PLAIN)
    with pytest.raises(ServiceError) as caught:
        adapter.tables.create(name, PLAIN)
    assert caught.value.code == "table-exists"


def test_an_index_with_keys_of_several_attributes_is_built_as_defined(adapter: Adapter) -> None:
    if not adapter.is_complete:
        pytest.skip("this engine has no keys of several attributes")
    name = adapter.make(PLAIN)
    adapter.tables.create_index(name, ESCALATIONS)
    live = ready(adapter, name, "Escalations")
    assert differences(live.indexes["Escalations"].definition, ESCALATIONS, PLAIN.key_names) == ()


def test_an_index_on_keys_of_the_table_is_built(adapter: Adapter) -> None:
    name = adapter.make(PLAIN)
    inverted = Index("Inverted", (KeyAttribute("SK"),), (KeyAttribute("PK"),))
    adapter.tables.create_index(name, inverted)
    live = ready(adapter, name, "Inverted")
    assert differences(live.indexes["Inverted"].definition, inverted, PLAIN.key_names) == ()


def test_an_index_goes_through_allocation_and_backfill_before_it_is_ready(adapter: Adapter) -> None:
    if not adapter.is_complete:
        pytest.skip("this engine builds indexes at once")
    name = adapter.make(PLAIN)
    adapter.tables.create_index(name, BY_OWNER)
    seen = []

    def look(live: LiveTable) -> bool:
        index = live.indexes["ByOwner"]
        state = (live.status, index.status, index.backfilling)
        if state not in seen:
            seen.append(state)
        return index.is_ready

    adapter.until(name, look)
    assert seen == [("UPDATING", "CREATING", False), ("ACTIVE", "CREATING", True), ("ACTIVE", "ACTIVE", None)]


def test_a_second_index_change_waits_for_the_first(adapter: Adapter) -> None:
    if not adapter.is_complete:
        pytest.skip("this engine builds indexes at once")
    name = adapter.make(PLAIN)
    adapter.tables.create_index(name, BY_OWNER)
    with pytest.raises(Busy):
        adapter.tables.create_index(name, BY_OWNER)
    with pytest.raises(Busy):
        adapter.tables.create_index(name, ESCALATIONS)
    with pytest.raises(Busy):
        adapter.tables.delete_index(name, "ByOwner")
    ready(adapter, name, "ByOwner")


def test_an_index_that_is_there_is_not_built_again(adapter: Adapter) -> None:
    name = adapter.make(PLAIN.with_index(BY_OWNER))
    with pytest.raises(ServiceError) as caught:
        adapter.tables.create_index(name, BY_OWNER)
    assert caught.value.code == "validation"


def test_a_deleted_index_vanishes(adapter: Adapter) -> None:
    name = adapter.make(PLAIN.with_index(BY_OWNER))
    adapter.tables.delete_index(name, "ByOwner")
    live = adapter.until(name, lambda live: "ByOwner" not in live.indexes and live.status == "ACTIVE")
    assert live.shape.indexes == {}


def test_deleting_an_unknown_index_is_an_error(adapter: Adapter) -> None:
    name = adapter.make(PLAIN)
    with pytest.raises(ServiceError) as caught:
        adapter.tables.delete_index(name, "Nobody")
    assert caught.value.code == "index-not-found"


def test_a_change_of_an_unknown_table_is_an_error(adapter: Adapter) -> None:
    for change in (
        lambda: adapter.tables.create_index("no-such-table", BY_OWNER),
        lambda: adapter.tables.delete_index("no-such-table", "ByOwner"),
        lambda: adapter.tables.setting("no-such-table", Stream),
        lambda: adapter.tables.change_setting("no-such-table", DeletionProtection(True)),
    ):
        with pytest.raises(ServiceError) as caught:
            change()
        assert caught.value.code == "table-not-found"


@pytest.mark.parametrize(
    ("on", "off"),
    [
        (TimeToLive("expires"), TimeToLive(None)),
        (Stream("KEYS_ONLY"), Stream(None)),
        (PointInTimeRecovery(True), PointInTimeRecovery(False)),
        (DeletionProtection(True), DeletionProtection(False)),
        (
            BillingMode("PROVISIONED", Throughput(7, 5), (("ByOwner", Throughput(3, 2)),)),
            BillingMode("PAY_PER_REQUEST"),
        ),
    ],
)
def test_a_setting_is_read_back_as_it_was_changed(adapter: Adapter, on: Setting, off: Setting) -> None:
    if isinstance(on, PointInTimeRecovery) and not adapter.is_complete:
        pytest.skip("this engine has no backups")
    name = adapter.make(PLAIN.with_index(BY_OWNER))
    for wanted in (off, on, on, off):
        adapter.tables.change_setting(name, wanted)
        adapter.until(name, lambda live: live.status == "ACTIVE" and live.indexes["ByOwner"].is_ready)
        assert adapter.tables.setting(name, type(wanted)) == wanted


def test_the_throughput_of_an_index_is_changed_alone(adapter: Adapter) -> None:
    shape = Table(
        "app",
        KeyAttribute("PK"),
        indexes={"ByOwner": Index("ByOwner", (KeyAttribute("owner"),), provisioned=Throughput(4, 4))},
        billing_mode="PROVISIONED",
        provisioned=Throughput(9, 9),
    )
    name = adapter.make(shape)
    adapter.tables.update_index(name, Index("ByOwner", (KeyAttribute("owner"),), provisioned=Throughput(6, 8)))
    live = ready(adapter, name, "ByOwner")
    assert live.indexes["ByOwner"].definition.provisioned == Throughput(6, 8)
    assert live.shape.provisioned == Throughput(9, 9)
    with pytest.raises(ServiceError) as caught:
        adapter.tables.update_index(name, Index("Nobody", (), provisioned=Throughput(1, 1)))
    assert caught.value.code == "index-not-found"
