"""The driver under conflicts, lost answers, throttling and refusals: every pair comes to one outcome."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import pytest

from migrator.core.change import Refused, TryAgain
from migrator.core.events import Counts
from migrator.core.item import Item, same_item
from migrator.errors import AnswerLost, Throttled
from migrator.runner.results import RunResult
from migrator.testing.memory import Answer, Call, Crash
from tests.engine.rewriting.house import House, log, rewrite_state
from tests.simulation.world import quick_world, wire

LOGS = tuple(log(number) for number in range(20))
ONE = LOGS[2]


def a_house(application: Literal["dual-write", "stopped"] = "dual-write", **limits: Any) -> House:
    operation = rewrite_state(application=application)
    return House.of(operation, *LOGS, world=quick_world(page_bytes=100_000), **{"segments": 1, **limits}).prepared()


def copied(house: House, *hooks: Callable[[Call], None]) -> RunResult:
    return house.runner(*hooks).upgrade(app_ready=True)


def counts(result: RunResult) -> Counts:
    return result.outcomes[-1].counts


class Together:
    """A hook that notes how many twins each transaction writes, and does `action` before those that write ONE."""

    def __init__(self, action: Callable[[], None] = lambda: None, moment: str = "before", times: int = 1):
        self.action, self.moment, self.left = action, moment, times
        self.sizes: list[int] = []

    def __call__(self, call: Call) -> None:
        if call.operation != "items.together":
            return
        writes = call.arguments["writes"]
        if call.moment == "before":
            self.sizes.append(len(writes))
        if call.moment == self.moment and any(_is_of_one(write) for _, write in writes) and self.left:
            self.left -= 1
            self.action()


def _is_of_one(write: Any) -> bool:
    return bool(write.key["PK"] == {"S": ONE["PK"]})


def raising(error: Exception) -> Callable[[], None]:
    def action() -> None:
        raise error

    return action


def assert_copied(house: House, *items: Any) -> None:
    assert house.new == house.twins(*(items or LOGS))


# --- how many in one transaction --------------------------------------------------------------------------------------


def test_under_live_traffic_a_few_items_go_together_and_one_more_after_several_without_conflict() -> None:
    house, note = a_house(), Together()
    assert counts(copied(house, note)).written == len(LOGS)
    assert note.sizes == [4, 4, 4, 4, 4]
    house = House.of(rewrite_state(), *(log(n) for n in range(60)), world=quick_world(page_bytes=10**6), segments=1)
    note = Together()
    copied(house.prepared(), note)
    assert note.sizes[:9] == [4] * 8 + [5]


def test_while_writers_are_stopped_as_many_go_together_as_one_transaction_holds() -> None:
    house = House.of(
        rewrite_state(application="stopped"),
        *(log(n) for n in range(60)),
        world=quick_world(page_bytes=10**6),
        segments=1,
    )
    note = Together()
    copied(house.prepared(), note)
    # A write and a check each, and the check of the segment: a hundred actions at the most.
    assert note.sizes == [49, 11]


def test_at_a_conflict_the_batch_is_split_and_only_whom_it_concerns_is_read_again() -> None:
    house = a_house()
    looked: list[int] = []

    def looks(call: Call) -> None:
        if call.operation == "items.get_together" and call.moment == "before":
            looked.append(len(call.arguments["places"]))

    note = Together(lambda: house.app("dual-write").update(ONE, name="late"))
    result = copied(house, note, looks)
    assert (note.sizes[0], min(note.sizes[1:-1])) == (4, 2)
    assert (counts(result).conflicts, counts(result).failed) == (1, 0)
    # The one that changed was read once more; the others of its transaction were not.
    assert looked == [40, 2]
    assert_copied(house, *(item for item in LOGS if item is not ONE), {**ONE, "name": "late"})


# --- passing refusals -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "moment"),
    [
        (Throttled("slow down"), "before"),
        (Answer(TryAgain("transaction-conflict", "another is at work")), "before"),
        (AnswerLost("no answer, nothing done"), "before"),
        (AnswerLost("no answer, and it was done"), "after"),
    ],
    ids=["throttled", "conflict", "lost-undone", "lost-done"],
)
def test_a_passing_refusal_or_a_lost_answer_is_read_and_tried_again(error: Exception, moment: str) -> None:
    house, note = a_house(), Together(raising(error), moment, times=3)
    result = copied(house, note)
    assert result.exit_code == 9
    assert (counts(result).written, counts(result).failed) == (len(LOGS), 0)
    assert_copied(house)


def test_an_answer_that_is_never_given_ends_the_run_and_the_next_one_goes_on() -> None:
    house = a_house()
    result = copied(house, Together(raising(AnswerLost("no answer")), times=10**6))
    assert result.exit_code == 1
    assert "had no answer" in result.blocked_by
    assert copied(house).exit_code == 9
    assert_copied(house)


def test_throttling_without_end_stops_the_run_by_load() -> None:
    house = a_house()
    assert copied(house, Together(raising(Throttled("slow down")), times=10**6)).exit_code == 7
    assert copied(house).exit_code == 9
    assert_copied(house)


# --- items that cannot be written -------------------------------------------------------------------------------------


def test_what_the_service_never_takes_fails_alone_though_it_was_sent_with_others() -> None:
    house = a_house()
    result = copied(house, Together(raising(Answer(Refused("validation", "no such item"))), times=10**6))
    assert result.exit_code == 6
    failed = house.runner().failed_list().items
    assert [(one.code, one.key["PK"]) for one in failed] == [("validation", {"S": ONE["PK"]})]
    assert_copied(house, *(item for item in LOGS if item is not ONE))
    assert copied(house).exit_code == 9
    assert_copied(house)
    assert house.runner().failed_list().items == ()


def test_an_item_that_changes_under_every_decision_fails_by_name_and_the_others_are_copied() -> None:
    house = a_house()
    moves = iter(range(10**6))

    def change() -> None:
        # By a writer that knows of no twin: it changes the item before each attempt to copy it.
        house.put({**ONE, "name": f"moved {next(moves)}"})

    result = copied(house, Together(change, times=10**6))
    assert result.exit_code == 6
    (failed,) = house.runner().failed_list().items
    assert (failed.code, failed.key["PK"]) == ("guard-lost", {"S": ONE["PK"]})
    assert_copied(house, *(item for item in LOGS if item is not ONE))


def test_failed_items_are_recorded_before_their_page_is_checkpointed_and_tried_again_alone() -> None:
    house = a_house()
    told: list[str] = []

    def note(call: Call) -> None:
        if call.operation == "records.write" and call.moment == "before":
            for action in call.arguments["actions"]:
                address = getattr(action, "address", None) or action.record.address
                if address.partition.startswith("failures#"):
                    told.append("failure")
                elif address.sort.startswith("segment#") and "CopyTwins" not in address.sort:
                    told.append("checkpoint")

    copied(house, Together(raising(Answer(Refused("validation", "no"))), times=10**6), note)
    assert "checkpoint" in told[told.index("failure") :]
    scans: list[str] = []

    def count(call: Call) -> None:
        if call.operation == "items.together" and call.moment == "before":
            scans.append("together")

    assert copied(house, count).exit_code == 9
    assert scans == ["together"]


def test_a_key_that_collides_later_keeps_the_authoritys_write_and_is_a_failed_item_that_names_both() -> None:
    house = a_house()
    # Meanwhile the application made an item whose twin has the key that another's twin has.
    twin = house.twin(wire(ONE))
    foreign: Item = {**twin, "state": {"S": "other"}}
    house.world.items.put("test-new", foreign)
    result = copied(house)
    assert result.exit_code == 6
    (failed,) = house.runner().failed_list().items
    assert failed.code == "key-collision"
    assert ONE["PK"] in failed.reason
    assert twin["SK"]["S"] in failed.reason
    assert house.old == sorted(LOGS, key=lambda item: item["PK"])
    assert house.runner().failed_skip("001", [], "looked at").exit_code == 0
    assert copied(house).exit_code == 6, "the sides do not correspond: nothing is cut over"


# --- the lease --------------------------------------------------------------------------------------------------------


def test_nothing_is_sent_once_the_lease_is_lost() -> None:
    house = a_house()
    late: list[str] = []

    def freeze() -> None:
        house.world.clock.suspend(house.limits.lease)
        late.append("frozen")

    def note(call: Call) -> None:
        if late and call.moment == "before" and call.operation == "items.together":
            late.append(call.operation)

    def after_reading(call: Call) -> None:
        if call.operation == "items.get_together" and call.moment == "after" and not late:
            freeze()

    assert copied(house, after_reading, note).exit_code == 4
    assert late == ["frozen"]


def test_a_repair_is_held_to_its_segments_record_and_the_run_says_that_another_has_it() -> None:
    house = a_house()

    taken: list[bool] = []

    def take(call: Call) -> None:
        if call.operation == "items.together" and call.moment == "before" and not taken:
            taken.append(True)
            house.world.clock.advance(2 * house.limits.lease)
            assert house.runner().upgrade(app_ready=True).exit_code == 9

    assert copied(house, take).exit_code == 4
    assert_copied(house)


def test_a_run_whose_lock_was_broken_ends_at_the_first_repair_that_is_held_back() -> None:
    house = a_house()
    taken: list[bool] = []

    def claimed(call: Call) -> None:
        if call.operation == "items.together":
            raise Crash("the other run claims the segments, and dies")

    def take(call: Call) -> None:
        if call.operation == "items.together" and call.moment == "before" and not taken:
            taken.append(True)
            house.runner().lock_release(house.runner().lock_show().lock.owner)
            with pytest.raises(Crash):
                copied(house, claimed)

    assert copied(house, take).exit_code == 4
    assert house.new == []


# --- counting ---------------------------------------------------------------------------------------------------------


def test_every_outcome_is_counted_once_and_again_by_no_second_run() -> None:
    house = a_house()
    house.put({**log(50), "SK": "gone"})
    deleted = {"PK": "P#50", "SK": "gone"}
    house.app("dual-write").put(log(51))

    def delete(call: Call) -> None:
        if call.operation != "items.get_together" or call.moment != "before" or not deleted:
            return
        if any(same_item(key, wire(dict(deleted))) for _, key in call.arguments["places"]):
            house.world.items.remove("test-app", wire(dict(deleted)))
            deleted.clear()

    found = counts(copied(house, delete))
    assert (found.written, found.unchanged, found.gone, found.failed) == (len(LOGS), 1, 1, 0)
    # Twenty-two were read by the copy; the look before it is counted in its own step.
    assert found.scanned >= 22
    assert found.write_units >= 2 * len(LOGS)
