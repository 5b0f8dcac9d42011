"""What operators ask: a record of its own, meant for one run, changed by several people without loss."""

from __future__ import annotations

from dataclasses import replace

import pytest

from migrator.control.layout import REQUESTS
from migrator.control.requests import Asked, RequestBook, Requests, Throttle, without
from migrator.core.ports import Expect, PutRecord, Record
from migrator.errors import MigratorError, RecordConflict
from migrator.testing.memory import Once, World

DANA = Asked("n1", "dana", "laptop-3", "2026-11-30T12:04:10+00:00", None, "checkout is slow")
SAM = Asked("n2", "sam", "", "2026-11-30T12:05:00+00:00", 7200.0)


def book(world: World) -> RequestBook:
    return RequestBook(world.records)


def test_what_is_asked_is_read_back_as_it_was() -> None:
    world = World()
    wanted = Requests("run-1", DANA, Throttle(SAM, "500", "25%"), replace(SAM, nonce="n3"))
    book(world).change("run-1", lambda _: wanted)
    assert book(world).of("run-1") == wanted


def test_what_was_asked_of_one_run_says_nothing_to_the_next() -> None:
    world = World()
    book(world).change("run-1", lambda found: replace(found, cancel=DANA))
    assert book(world).of("run-2") == Requests("run-2")
    book(world).change("run-2", lambda found: replace(found, pause=SAM))
    assert book(world).of("run-2") == Requests("run-2", pause=SAM)
    assert book(world).of("run-1") == Requests("run-1")


def test_two_operators_at_once_lose_neither_request() -> None:
    world = World()
    other = world.as_another()
    world.on_call.append(
        Once("records.write", lambda: book(other).change("run", lambda found: replace(found, pause=SAM)) and None)
    )
    book(world).change("run", lambda found: replace(found, throttle=Throttle(DANA, "5")))
    assert book(world).of("run") == Requests("run", pause=SAM, throttle=Throttle(DANA, "5"))


def test_a_record_that_changes_all_the_time_is_given_up_on() -> None:
    world = World()
    other = world.as_another()

    def meddle(call: object) -> None:
        if getattr(call, "operation", "") == "records.write" and getattr(call, "moment", "") == "before":
            book(other).change("run", lambda found: replace(found, pause=SAM))

    world.on_call.append(meddle)
    with pytest.raises(RecordConflict):
        book(world).change("run", lambda found: replace(found, cancel=DANA))


def test_a_damaged_request_is_named_and_one_of_another_run_is_replaced() -> None:
    world = World()
    damaged = Record(REQUESTS, 0, {"owner": "run", "pause": {"nonce": 5}})
    world.records.write(PutRecord(damaged, Expect()))
    with pytest.raises(MigratorError, match="nonce holds int"):
        book(world).of("run")
    assert book(world).of("another") == Requests("another")


def test_each_request_is_told_with_who_asked_and_since_when() -> None:
    asked = Requests("run", DANA, Throttle(SAM, "500", "25%"))
    assert asked.texts == (
        "paused by dana (host laptop-3) since 12:04:10 UTC: checkout is slow",
        "throttled to 500 write units/s, 25% of the read capacity by sam since 12:05:00 UTC until 14:05:00 UTC",
    )


def test_a_moment_that_cannot_be_read_is_shown_as_it_stands() -> None:
    assert replace(DANA, at="noon").since == "since noon"
    assert replace(SAM, seconds=1e15).since == f"since {SAM.at}"


def test_a_request_whose_time_is_over_leaves_the_others() -> None:
    asked = Requests("run", DANA, Throttle(SAM, "5"))
    assert without(asked, frozenset({"n2"})) == Requests("run", DANA)
    assert without(asked, frozenset({"n1"})) == Requests("run", None, Throttle(SAM, "5"))
