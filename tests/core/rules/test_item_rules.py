"""Rules over what steps write into items."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from migrator import AddIndex, Backfill, CreateTable, N, OneOf, PutItems, RemoveAttributes, RunPython, SetTimeToLive
from migrator.core.rules import (
    destructive_without_journal,
    irreversible_step,
    local_time,
    reserved_key_prefix,
    ttl_milliseconds,
    unpadded_number,
)
from migrator.core.rules.local_time import local_sign
from tests.core.rules import functions
from tests.core.rules.files import TABLE, says, told

# --- irreversible-step, destructive-without-journal -------------------------------------------------------------------


def test_a_program_without_a_way_back_is_told_and_one_with_is_not() -> None:
    assert says(irreversible_step.RULE, [RunPython(functions.touch)]) == [("001", 0)]
    assert says(irreversible_step.RULE, [RunPython(functions.touch, undo=functions.touch)]) == []


def test_undo_none_says_itself_that_there_is_no_way_back() -> None:
    assert says(irreversible_step.RULE, [RemoveAttributes("old", undo="none")]) == []


@pytest.mark.parametrize(
    ("operation", "found"),
    [
        (RemoveAttributes("old", undo="none"), True),
        (RemoveAttributes("old"), False),
        (Backfill(rename={"a": "b"}, undo="none"), True),
        (Backfill(transform=functions.in_utc, undo="none"), True),
        (Backfill(set={"a": 1}, undo="none"), False),
    ],
)
def test_removal_without_a_journal_is_told(operation: Any, found: bool) -> None:
    assert bool(says(destructive_without_journal.RULE, [operation])) is found


# --- reserved-key-prefix ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "operation",
    [
        PutItems([{"PK": "__migrator__#x", "SK": "a"}]),
        Backfill(set={"GSI1PK": "__migrator__#{id}"}),
        Backfill(set={"GSI1PK": "__migrator__"}),
    ],
)
def test_a_value_that_begins_like_a_control_record_is_told(operation: Any) -> None:
    assert says(reserved_key_prefix.RULE, [operation]) == [("001", 0)]


@pytest.mark.parametrize(
    "operation",
    [PutItems([{"PK": "x#__migrator__", "SK": "a", "l": ["__migrator__"]}]), Backfill(set={"k": "{id}__migrator__"})],
)
def test_the_prefix_elsewhere_in_a_value_is_fine(operation: Any) -> None:
    assert says(reserved_key_prefix.RULE, [operation]) == []


# --- unpadded-number --------------------------------------------------------------------------------------------------

SORTED = AddIndex("ByScore", partition_key="game", sort_key="rank")
RANK = Backfill(set={"rank": "SCORE#{score}"})


@pytest.mark.parametrize(
    "seen",
    [
        AddIndex("Numbers", partition_key="game", sort_key=N("score")),
        PutItems([{"PK": "a", "SK": "b", "score": Decimal(5)}]),
        Backfill(set={"score": 0}, where={"entity": "Game"}),
        Backfill(set={"other": "x"}, where={"score": OneOf(1, 2)}),
    ],
)
def test_a_number_in_a_sort_key_of_text_is_told_however_it_is_known(seen: Any) -> None:
    assert says(unpadded_number.RULE, [TABLE, RANK], [SORTED], [seen]) == [("001", 1)]


def test_what_is_not_known_as_a_number_is_fine() -> None:
    seen = Backfill(set={"score": "0005", "flag": True}, where={"score": OneOf("1"), "open": True})
    assert says(unpadded_number.RULE, [TABLE, RANK, SORTED, seen]) == []


def test_a_partition_key_and_a_copied_number_are_fine() -> None:
    number = AddIndex("Numbers", partition_key="x", sort_key=N("score"))
    partition = AddIndex("ByRank", partition_key="rank")
    assert says(unpadded_number.RULE, [TABLE, RANK, partition, number]) == []
    copied = Backfill(set={"rank": "{score}"})
    assert says(unpadded_number.RULE, [TABLE, copied, SORTED, number]) == []


# --- local-time -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "is_local"),
    [
        ("2026-11-30T17:22:04+02:00", True),
        ("2026-11-30 17:22:04.123-05:00", True),
        ("+05:30", True),
        ("%Y-%m-%d %H:%M", True),
        ("2026-11-30T17:22:04+00:00", False),
        ("2026-11-30T17:22:04Z", False),
        ("%Y-%m-%dT%H:%M:%SZ", False),
        ("%Y-%m-%dT%H:%M:%S%z", False),
        ("%Y-%m-%d", False),
        ("TASK#12-09:30", False),
        ("+020", False),
        ("MON#09:00-10:30", False),
        ("09:30-10:30", False),
        (" 12:00+02:00", True),
    ],
)
def test_offsets_and_hours_without_a_zone_are_local(text: str, is_local: bool) -> None:
    assert bool(local_sign(text)) is is_local


@pytest.mark.parametrize(
    ("operation", "words"),
    [
        (Backfill(set={"at": "{day}T12:00:00+02:00"}), "set at: the offset +02:00"),
        (Backfill(set={"at": "{time}+02:00"}), "set at: the offset +02:00"),
        (PutItems([{"PK": "a", "SK": "b", "log": [{"at": "2026-01-01T00:00:00+01:00"}]}]), "item 1, log"),
        (Backfill(transform=functions.in_berlin), "in_berlin(): the offset +02:00"),
        (Backfill(transform=functions.without_zone), "without_zone(): the format"),
        (Backfill(transform=functions.by_the_machine), "by_the_machine(): localtime"),
    ],
)
def test_a_local_time_is_told_with_its_place(operation: Any, words: str) -> None:
    (only,) = told(local_time.RULE, [operation])
    assert words in only[2]


def test_utc_is_fine_and_a_docstring_is_no_code() -> None:
    assert says(local_time.RULE, [Backfill(transform=functions.in_utc), RunPython(functions.touch)]) == []


# --- ttl-milliseconds -------------------------------------------------------------------------------------------------

EXPIRES = Backfill(set={"expiresAt": 1924905600000})


def test_milliseconds_in_the_attribute_that_items_expire_by_are_told() -> None:
    table = CreateTable(partition_key="PK", ttl="expiresAt")
    assert says(ttl_milliseconds.RULE, [table], [EXPIRES]) == [("002", 0)]
    assert says(ttl_milliseconds.RULE, [EXPIRES], [SetTimeToLive("expiresAt")]) == [("001", 0)]
    assert says(ttl_milliseconds.RULE, [table, PutItems([{"PK": "a", "expiresAt": 1924905600000}])]) == [("001", 1)]


def test_seconds_and_other_attributes_are_fine() -> None:
    table = CreateTable(partition_key="PK", ttl="expiresAt")
    assert says(ttl_milliseconds.RULE, [table, Backfill(set={"expiresAt": 1924905600})]) == []
    assert says(ttl_milliseconds.RULE, [table, Backfill(set={"createdAt": 1924905600000})]) == []
