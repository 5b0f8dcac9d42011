"""The mirror: whatever the streams bring, and in whatever order, the twins follow the side that decides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from migrator.config import ControlConfig
from migrator.core.rewrite.hints import jobs_of_changes
from migrator.core.schema import KeyAttribute, Table
from migrator.core.where import BeginsWith
from migrator.engine.rewriting.mirror import RETAINED_SECONDS, Mirror
from migrator.errors import LeaseLost, MigratorError, Throttled
from migrator.operations import RewriteKeys
from migrator.testing.memory import Call, Crash, CrashAt, Once
from tests.engine.rewriting.house import NEW, OLD, log, rewrite_prefix, rewrite_state
from tests.engine.rewriting.mirrored import Mirrored
from tests.simulation.world import wire

REWRITES = {"another-table": rewrite_state, "one-table": rewrite_prefix}
LOGS = tuple(log(number) for number in range(6))
ONE = LOGS[2]
each_rewrite = pytest.mark.parametrize("rewrite", REWRITES)


def mirrored(rewrite: str = "another-table", **options: Any) -> Mirrored:
    return Mirrored.around(REWRITES[rewrite](application="mirror"), *LOGS, **options)


# --- what an application may do ---------------------------------------------------------------------------------------


def insert(house: Mirrored) -> None:
    house.put(log(9))


def change(house: Mirrored) -> None:
    house.put({**ONE, "name": "changed", "more": "yes"})


def lose_an_attribute(house: Mirrored) -> None:
    house.put({name: value for name, value in ONE.items() if name != "name"})


def move(house: Mirrored) -> None:
    house.put({**ONE, "state": "moved"})


def move_there_and_back(house: Mirrored) -> None:
    house.put({**ONE, "state": "moved"})
    house.put({**ONE, "state": "again"})
    house.put(ONE)


def delete(house: Mirrored) -> None:
    house.take(ONE)


def move_and_delete(house: Mirrored) -> None:
    house.put({**ONE, "state": "moved"})
    house.take(ONE)


def delete_and_create(house: Mirrored) -> None:
    house.take(ONE)
    house.put({**ONE, "state": "other", "name": "second life"})


def there_and_back(house: Mirrored) -> None:
    house.put({**ONE, "name": "v2"})
    house.put(ONE)


WRITES = (
    insert,
    change,
    lose_an_attribute,
    move,
    move_there_and_back,
    delete,
    move_and_delete,
    delete_and_create,
    there_and_back,
)
each_write = pytest.mark.parametrize("write", WRITES, ids=lambda one: one.__name__)


@each_write
@each_rewrite
def test_twins_follow_what_is_written_on_the_old_side(rewrite: str, write: Callable[[Mirrored], None]) -> None:
    house = mirrored(rewrite).ready()
    with house.worker() as mirror:
        write(house)
        house.drain(mirror)
    house.assert_alike()


@each_write
@each_rewrite
def test_records_that_are_read_one_by_one_and_then_all_again_do_no_harm(
    rewrite: str, write: Callable[[Mirrored], None]
) -> None:
    house = mirrored(rewrite, page=1).ready()
    with house.worker() as mirror:
        write(house)
        house.drain(mirror, most=400)
        house.assert_alike()
        counted = mirror.counts.written
        house.forget_shards()
        mirror.begin()
        house.drain(mirror, most=400)
        assert mirror.counts.written == counted, "nothing was written a second time"
    house.assert_alike()


@each_write
@each_rewrite
def test_the_order_of_records_does_not_matter(rewrite: str, write: Callable[[Mirrored], None]) -> None:
    house = mirrored(rewrite).ready()
    with house.worker() as mirror:
        house.drain(mirror)
        (records,) = house.streams.records(OLD)
        before = len(records)
        write(house)
        # The numbers stay in order: only what they stand for is disturbed.
        numbers = [one.sequence for one in records[before:]]
        late = [replace(one, sequence=n) for one, n in zip(reversed(records[before:]), numbers, strict=True)]
        records[before:] = late
        house.drain(mirror)
    house.assert_alike()


def test_an_item_that_starts_to_be_selected_gets_a_twin_and_one_that_stops_loses_it() -> None:
    operation = RewriteKeys(
        where={"kind": "log"}, key={"SK": "{state}#{date}"}, old={"SK": "{date}"}, to="new", application="mirror"
    )
    logs = [log(number, kind="log" if number % 2 else "other") for number in range(4)]
    house = Mirrored.around(operation, *logs).ready()
    with house.worker() as mirror:
        house.put({**logs[0], "kind": "log"}, {**logs[1], "kind": "other"})
        house.drain(mirror)
    assert [item["PK"] for item in house.new] == ["P#0", "P#3"]


def test_the_mirrors_own_writes_come_back_to_it_and_end_there() -> None:
    house = mirrored().ready()
    with house.worker() as mirror:
        change(house)
        house.drain(mirror)
        written = mirror.counts.written
        for _ in range(5):
            mirror.step()
        assert mirror.counts.written == written == 1


def test_a_twin_that_somebody_wrote_alone_is_brought_back_to_its_item() -> None:
    house = mirrored().ready()
    with house.worker() as mirror:
        house.put_new({**ONE, "name": "one-sided"})
        house.take_new(LOGS[3])
        house.drain(mirror)
    house.assert_alike()


def test_items_that_only_keys_select_are_followed_by_keys_alone() -> None:
    operation = rewrite_prefix(set={"team": "{state}"}, application="mirror")
    house = Mirrored.around(operation, *LOGS, view="KEYS_ONLY").ready()
    with house.worker() as mirror:
        insert(house)
        house.take(ONE)
        house.drain(mirror)
        # What its new form lacks is no reason to leave the twin behind when it goes.
        house.put({name: value for name, value in LOGS[3].items() if name != "state"})
        house.take(LOGS[3])
        house.drain(mirror)
    house.assert_alike()


@pytest.mark.parametrize("view", ["KEYS_ONLY", "NEW_IMAGE", ""])
def test_a_stream_that_does_not_tell_where_a_twin_stood_is_refused(view: str) -> None:
    house = mirrored()
    house.prepared()
    house.streams.disable(OLD)
    if view:
        house.streams.enable(OLD, view)
    with house.worker() as mirror, pytest.raises(MigratorError) as caught:
        mirror.step()
    assert (caught.value.code, caught.value.exit_code) == ("mirror-stream", 2)
    assert OLD in caught.value.message


def test_a_hint_is_read_once_for_all_records_of_an_item() -> None:
    house = mirrored().ready()
    move_there_and_back(house)
    (records,) = house.streams.records(OLD)
    (job,) = jobs_of_changes(house.rewrite, "old", OLD, records[-3:])
    assert {hint["SK"]["S"].split("#")[0] for hint in job.hints} == {ONE["state"], "moved", "again"}


# --- shards -----------------------------------------------------------------------------------------------------------


def test_children_are_read_after_their_parents() -> None:
    house = mirrored(page=1).ready()
    arn = house.arn(OLD)
    order: list[str] = []

    def note(call: Call) -> None:
        if call.operation == "streams.read" and call.moment == "before" and call.arguments["arn"] == arn:
            order.append(call.arguments["shard"])

    with house.worker(note) as mirror:
        house.drain(mirror, most=400)
        order.clear()
        house.put(*({**one, "name": "first"} for one in LOGS))
        house.streams.split(OLD)
        house.put(*({**one, "name": "second"} for one in LOGS))
        house.streams.split(OLD)
        house.put(*({**one, "name": "third"} for one in LOGS))
        house.drain(mirror, most=400)
    for parent, child in (("0", "1"), ("0", "2"), ("1", "3"), ("2", "5")):
        parents = [at for at, shard in enumerate(order) if shard == f"{arn}-{parent}"]
        assert max(parents) < order.index(f"{arn}-{child}")
    house.assert_alike()


def test_shards_that_split_while_they_are_read_lose_nothing_though_the_listing_lags() -> None:
    house = mirrored(page=2).ready()
    with house.worker() as mirror:
        house.put(*({**one, "name": "first"} for one in LOGS))
        mirror.step()
        house.streams.lag(OLD, 8.0)
        house.streams.split(OLD)
        house.put(*({**one, "name": "second", "state": "x"} for one in LOGS))
        for _ in range(40):
            mirror.step()
            house.world.clock.advance(1.0)
    house.assert_alike()


def test_a_worker_that_takes_over_goes_on_where_the_first_one_was() -> None:
    house = mirrored().ready()
    with house.worker() as mirror:
        change(house)
        house.drain(mirror)
    asked: list[Any] = []

    def note(call: Call) -> None:
        if call.operation == "streams.position" and call.moment == "before":
            asked.append(call.arguments["after"])

    with house.worker(note) as mirror:
        mirror.step()
    assert asked
    assert all(after is not None for after in asked)


def test_a_position_that_expired_is_asked_for_anew() -> None:
    house = mirrored().ready()
    expired = MigratorError("stream-position-expired", "older than fifteen minutes")

    def fail() -> None:
        raise expired

    with house.worker(Once("streams.read", fail, nth=3)) as mirror:
        change(house)
        house.drain(mirror)
    house.assert_alike()


# --- what was missed --------------------------------------------------------------------------------------------------


def trim(house: Mirrored) -> None:
    house.streams.trim(OLD)


def shards_gone(house: Mirrored) -> None:
    house.streams.split(OLD)
    house.streams.forget_closed(OLD)


def enabled_anew(house: Mirrored) -> None:
    house.streams.disable(OLD)
    house.take(LOGS[4])
    house.streams.enable(OLD)


def a_day(house: Mirrored) -> None:
    house.streams.trim(OLD)
    house.world.clock.advance(RETAINED_SECONDS + 60)


@pytest.mark.parametrize("miss", [trim, shards_gone, enabled_anew, a_day], ids=lambda one: one.__name__)
def test_changes_that_were_gone_before_they_were_read_are_recorded_and_found_at_cutover(
    miss: Callable[[Mirrored], None],
) -> None:
    house = mirrored().ready()
    with house.worker() as mirror:
        house.drain(mirror)
    house.put({**ONE, "name": "missed"})
    house.take(LOGS[1])
    miss(house)
    with house.worker() as mirror:
        house.drain(mirror)
        assert house.state.body["lost"] == house.record.generation
        assert any("changes were missed" in text for text in house.said)
    with house.following():
        result = house.runner().cutover(None, yes=True)
        assert result.exit_code == 6
        assert house.runner().verify(None, repair=True).exit_code == 0
        assert house.runner().cutover(None, yes=True).exit_code == 9
    house.assert_alike()


def test_that_records_are_lost_is_recorded_before_the_next_are_read() -> None:
    house = mirrored().ready()
    with house.worker() as mirror:
        house.drain(mirror)
    change(house)
    house.streams.trim(OLD)
    change(house)
    with pytest.raises(Crash), house.worker(CrashAt(0, "streams.read")) as mirror:
        mirror.step()
    assert house.state.body["lost"] == house.record.generation


# --- phases -----------------------------------------------------------------------------------------------------------


def test_nothing_is_mirrored_before_dual_write_nor_after_the_end() -> None:
    house = mirrored()
    house.prepared()
    with house.worker() as mirror:
        change(house)
        house.drain(mirror)
        assert house.new == []
    house.ready()
    with house.following() as mirror:
        assert house.runner().cutover(None, yes=True).exit_code == 9
        assert house.runner().contract(None, yes=True).exit_code == 0
        assert mirror.step() == "the rewrite is over"
    assert house.old == []


def test_a_phase_that_changes_within_a_page_stops_what_was_decided_by_the_one_before() -> None:
    """The mirror has read a page in dual-write; before it writes, the tool cuts over and the new side moves on."""
    house = mirrored().ready()
    late = {**ONE, "name": "new side"}
    written: list[Any] = []

    def cut_over(call: Call) -> None:
        if call.operation != "items.together" or call.moment != "before" or written:
            return
        written.append(call)
        house.set_phase("cutover")
        house.put_new(late)

    with house.worker(cut_over) as mirror:
        house.put({**ONE, "name": "old side, unseen"})
        mirror.step()
        assert written
        assert late["name"] in {item["name"] for item in house.new}
        house.drain(mirror)
    # By the rules of cutover the old side follows.
    house.assert_alike()
    assert late in house.old


def test_after_cutover_the_old_side_follows_the_new_one_and_the_way_back_brings_it_all() -> None:
    house = mirrored().over()
    with house.worker() as mirror:
        house.put_new({**ONE, "name": "by the new side"})
        house.put_new(log(8))
        house.take_new(LOGS[0])
        house.drain(mirror)
    assert house.old == sorted(
        [{**ONE, "name": "by the new side"}, log(8), *(one for one in LOGS if one not in (ONE, LOGS[0]))],
        key=lambda item: item["PK"],
    )
    standing = house.old
    with house.following():
        assert house.runner().rollback(None).exit_code == 0
    assert (house.old, house.new) == (standing, [])


def test_the_way_back_brings_what_the_mirror_had_not_read_yet() -> None:
    house = mirrored().over()
    house.put_new({**ONE, "name": "by the new side"})
    house.take_new(LOGS[0])
    assert house.runner().rollback(None).exit_code == 0
    assert {item["name"] for item in house.old} == {"by the new side", *(f"n{n}" for n in (1, 3, 4, 5))}


def test_in_contract_old_twins_that_stand_are_kept_equal_and_none_is_made() -> None:
    house = mirrored().over()
    with house.worker() as mirror:
        house.drain(mirror)
        house.set_phase("contract")
        house.put_new({**ONE, "name": "kept equal"})
        house.put_new(log(8))
        house.take_new(LOGS[0])
        house.drain(mirror)
    assert {item["name"] for item in house.old} == {"kept equal", *(f"n{n}" for n in (1, 3, 4, 5))}


def test_with_a_mirror_no_instance_is_waited_for() -> None:
    house = mirrored()
    began = house.world.clock.true_seconds
    house.over()
    assert house.world.clock.true_seconds - began < house.record.wait_seconds


# --- several workers, and their deaths --------------------------------------------------------------------------------


def test_a_second_worker_waits_for_the_first_and_takes_over_when_it_is_dead() -> None:
    house = mirrored().ready()
    with pytest.raises(MigratorError) as caught, house.following(), house.worker(wait=30.0):
        pass
    assert caught.value.code == "lock-held"
    assert "mirror of 001" in caught.value.message
    with pytest.raises(Crash), house.worker(CrashAt(0)) as mirror:
        mirror.step()
    change(house)
    with house.worker() as mirror:
        house.drain(mirror)
    house.assert_alike()


@each_rewrite
def test_a_worker_that_froze_and_wakes_after_another_took_over_changes_nothing(rewrite: str) -> None:
    house = mirrored(rewrite).ready()
    change(house)
    standing: dict[int, Any] = {}

    def tables() -> Any:
        return {table: house.world.items.all(table) for table in house.tables.values()}

    def another_works() -> None:
        house.world.clock.advance(2 * house.limits.lease)
        with house.worker() as second:
            house.drain(second)
            house.put({**ONE, "name": "later"})
            house.drain(second)
        standing[0] = tables()

    with pytest.raises(LeaseLost), house.worker(Once("items.together", another_works)) as mirror:
        mirror.step()
    assert tables() == standing[0]
    house.assert_alike()


def one_round(house: Mirrored, *hooks: Any) -> None:
    with house.worker(*hooks) as mirror:
        house.drain(mirror)


def test_a_worker_that_dies_at_any_call_leaves_what_the_next_one_completes() -> None:
    def scene() -> Mirrored:
        house = mirrored(page=2).ready()
        house.streams.split(OLD)
        for write in (insert, move, delete_and_create, there_and_back):
            write(house)
        house.streams.split(OLD)
        house.take(LOGS[4])
        return house

    calls = 0

    def every(_call: Call) -> None:
        nonlocal calls
        calls += 1

    one_round(scene(), every)
    for moment in range(0, calls, max(1, calls // 25)):
        house = scene()
        with pytest.raises(Crash):
            one_round(house, CrashAt(moment))
        house.world.clock.advance(3 * house.limits.lease)
        one_round(house)
        house.assert_alike()


def test_a_service_that_refuses_for_long_does_not_end_the_mirror() -> None:
    house = mirrored().ready()
    change(house)
    failing = [True]

    def refuse(call: Call) -> None:
        if failing and call.operation == "items.get_together" and call.moment == "before":
            raise Throttled("too many requests", ())

    with house.worker(refuse) as mirror:
        mirror.step()
        assert any("not mirrored yet" in text for text in house.said)
        failing.clear()
        house.drain(mirror)
    house.assert_alike()


def error_of(result: Any) -> str:
    return str(result.outcomes[-1].error)


# --- probes -----------------------------------------------------------------------------------------------------------


def test_nothing_is_copied_while_nobody_meets_the_probe() -> None:
    house = mirrored()
    house.prepared()
    result = house.runner().upgrade(app_ready=True)
    assert "mirror-not-live" in error_of(result)
    assert "migrator mirror run 001" in result.next
    assert (house.new, house.old) == ([], list(LOGS)), "the probe is gone, and nothing was copied"


def test_a_mirror_that_reads_one_table_alone_is_not_live() -> None:
    house = mirrored()
    house.prepared()

    def deaf(call: Call) -> None:
        if call.operation == "streams.read" and call.arguments["arn"] == house.arn(NEW):
            raise MigratorError("stream-position-expired", "again")

    with house.following(deaf):
        assert "mirror-not-live" in error_of(house.runner().upgrade(app_ready=True))


def test_a_mirror_that_met_the_probe_and_fell_silent_is_not_live() -> None:
    house = mirrored().ready()

    def stuck(call: Call) -> None:
        """One shard brings records without end, and then the process dies."""
        if call.operation == "streams.read" and house.state.body["probes"] and dying:
            raise LeaseLost("lease-lost", "dead")

    dying: list[bool] = []
    mirror: Mirror
    house.world.clock.at(3.0, lambda: dying.append(True))
    with house.following(stuck) as mirror:
        assert "mirror-not-live" in error_of(house.runner().cutover(None, yes=True))
    assert mirror.state.probes
    assert house.record.phase == "dual-write"


def test_cutover_waits_until_every_shard_is_read_to_its_end_children_included() -> None:
    house = mirrored(page=1).ready()
    house.streams.split(OLD)
    house.put(*(log(number) for number in range(20, 40)))
    house.streams.lag(OLD, 15.0)
    house.streams.split(OLD)
    house.put(*({**log(number), "name": "again"} for number in range(20, 40)))
    with house.following(every=0.5):
        result = house.runner().cutover(None, yes=True)
    assert result.exit_code == 9, result
    house.assert_alike()
    assert house.record.phase == "cutover"


def test_one_page_without_records_is_not_the_end_of_a_shard() -> None:
    house = mirrored().ready()
    house.streams.gap(2)
    house.put(*(log(number) for number in range(20, 40)))
    with house.following():
        assert house.runner().cutover(None, yes=True).exit_code == 9
    house.assert_alike()


def test_tables_whose_partition_key_is_a_number_are_refused() -> None:
    operation = RewriteKeys(
        where={"SK": BeginsWith("day")}, key={"PK": "{PK}", "SK": "{SK}!"}, to="new", application="mirror"
    )
    house = Mirrored.around(operation)
    for name in (OLD, NEW):
        house.world.tables.drop(name)
        house.world.tables.add(name, Table("x", KeyAttribute("PK", "N"), KeyAttribute("SK")))
        house.streams.enable(name)
    house.control = ControlConfig(name="control")
    house.world.items.put(OLD, {"PK": {"N": "1"}, "SK": {"S": "day1"}})
    assert "mirror-probe" in error_of(house.runner().upgrade(from_base=True))
    assert not house.kept("phase#"), "before anything else"


def test_a_run_that_died_with_its_probe_in_the_tables_takes_it_away() -> None:
    house = mirrored()
    house.prepared()

    def die(call: Call) -> None:
        if call.operation == "items.write" and call.moment == "after" and "probe#" in str(call.arguments["write"]):
            raise Crash("dead")

    with pytest.raises(Crash):
        house.runner(die).upgrade(app_ready=True)
    assert any("probe#" in str(item) for item in house.items)
    house.world.clock.advance(3 * house.limits.lease)
    with house.following():
        assert house.runner().upgrade(app_ready=True).exit_code == 9
    assert house.items == list(LOGS)


def test_status_tells_how_far_behind_the_mirror_is() -> None:
    house = mirrored().ready()
    with house.worker() as mirror:
        house.drain(mirror)
        change(house)
        house.world.clock.advance(12.0)
        mirror.step()
        mirror._tell(house.record, is_due=True)
        assert house.state.body["lag_ms"] == 12_000
        result = house.runner().mirror_status(None)
        assert (result.state, result.lag_ms) == ("following", 12_000)
        house.drain(mirror)
        house.world.clock.advance(3.0)
        mirror.step()
        assert house.runner().mirror_status(None).lag_ms == 0


def test_wire_forms_are_as_the_application_wrote_them() -> None:
    house = mirrored().ready()
    item = {**wire(log(30)), "n": {"N": "1.50"}, "s": {"NS": ["2", "1"]}, "b": {"B": b"\x00"}}
    with house.worker() as mirror:
        house.world.items.put(OLD, item)
        house.drain(mirror)
    assert house.twin(item) in house.world.items.all(NEW)
