from __future__ import annotations

from migrator.control import layout
from migrator.control.layout import is_control_key
from migrator.core.ports import Address

REV = "20261130172204"


def key(value: str) -> dict[str, dict[str, str]]:
    return {"PK": {"S": value}}


def test_lock_beat_history_and_identity_each_have_a_partition_of_their_own() -> None:
    partitions = [layout.LOCK.partition, layout.BEAT.partition, layout.HISTORY, layout.IDENTITY]
    assert len(set(partitions)) == 4
    assert layout.history(REV) == Address("history", REV)


def test_failed_items_and_journal_are_spread_over_sixteen_partitions() -> None:
    for address, partitions in (
        (layout.failure, layout.failure_partitions()),
        (layout.journal, layout.journal_partitions()),
    ):
        used = {address(REV, "0.apply.1", key(f"item-{n}")).partition for n in range(400)}
        assert used == set(partitions)
        assert len(partitions) == 16


def test_equal_keys_have_one_address_and_different_ones_their_own() -> None:
    def where(number: str) -> Address:
        return layout.journal(REV, "0.apply.1", {"n": {"N": number}})

    assert where("1") == where("1.0")
    assert where("1") != where("2")
    assert where("1") != layout.journal(REV, "0.apply.1", {"n": {"S": "1"}})
    assert where("1").sort.startswith(layout.by_revision(REV, "0.apply.1"))


def test_the_prefix_of_one_step_is_not_that_of_another() -> None:
    assert not layout.by_revision(REV, "0.apply.10").startswith(layout.by_revision(REV, "0.apply.1"))


def test_checkpoints_of_a_step_share_a_partition_in_order_of_segments() -> None:
    sorts = [layout.checkpoint(REV, "0.apply.1", segment).sort for segment in (0, 9, 10, 999_999)]
    assert sorts == sorted(sorts)
    assert layout.checkpoint(REV, "0.apply.1", 3).partition == layout.checkpoints(REV, "0.apply.1")
    assert layout.checkpoints(REV, "0.apply.1") != layout.checkpoints(REV, "0.apply.2")


def test_only_strings_under_the_prefix_are_control_keys() -> None:
    prefix = "__migrator__"
    assert is_control_key(key("__migrator__#lock"), "PK", prefix)
    assert not is_control_key(key("TENANT#1"), "PK", prefix)
    assert not is_control_key({"PK": {"N": "5"}}, "PK", prefix)
    assert not is_control_key({"PK": {"B": b"__migrator__"}}, "PK", prefix)
    assert not is_control_key({}, "PK", prefix)
