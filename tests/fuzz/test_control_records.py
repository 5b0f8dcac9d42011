"""Control records damaged by hand: each command says so or comes to a right end, and no item suffers."""

from __future__ import annotations

import copy
import copyreg
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrator.core.ports import Record
from migrator.operations import AddIndex, Backfill, RenameAttribute
from migrator.testing.hooks import Crash, CrashAt
from tests.fuzz.bounds import bounded, tried
from tests.fuzz.edge import SiteHouse, sound, typed
from tests.simulation.scenarios import exclaim
from tests.simulation.world import Site, chain, migration, person

for lock in (threading.RLock, threading.Lock):
    # A copied site has locks of its own; those that its parts share stay shared.
    copyreg.pickle(type(lock()), lambda _, lock=lock: (lock, ()))  # type: ignore[misc]

PEOPLE = tuple(person(number, **({"nick": f"k{number}"} if number else {})) for number in range(6))
REVISIONS = (
    migration("001", AddIndex("by-team", partition_key="team"), Backfill(set={"label": "L#{name}"})),
    migration("002", Backfill(transform=exclaim, once=True)),
    migration("003", Backfill(set={"other": "{nick}"})),
    migration("004", RenameAttribute("team", "group")),
)


def _site(count: int) -> Site:
    return Site(chain(*REVISIONS[:count])).with_table(*PEOPLE)


@cache
def incomplete() -> Site:
    """Two revisions applied, one with a journal; the third incomplete, with one failed item."""
    site = _site(3)
    assert site.runner().upgrade(from_base=True).exit_code == 6
    return site


@cache
def killed() -> Site:
    """The second revision died in the middle of its items: the lock is held, checkpoints and a journal stand."""
    site = _site(2)
    with pytest.raises(Crash):
        site.runner(CrashAt(6, "items.transact")).upgrade(from_base=True)
    assert site.kept("checkpoints")
    assert site.kept("journal")
    return site


@cache
def gated() -> Site:
    """The last revision waits at its gate."""
    site = _site(4)
    site.put({**PEOPLE[0], "nick": "k0"})
    assert site.runner().upgrade(from_base=True).exit_code == 9
    return site


STATES: Mapping[str, Callable[[], Site]] = {"incomplete": incomplete, "killed": killed, "gated": gated}


def anew(site: Site) -> Site:
    """A copy of the site to damage."""
    return copy.deepcopy(site)


def ways(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every field of a body, inner ones included."""
    yield way
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from ways(inner, (*way, key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from ways(inner, (*way, number))


def fields() -> list[tuple[str, tuple[str, str], str, tuple[Any, ...]]]:
    """(state, address, part of the record, path) of every field of every kind of record."""
    found = []
    for name, make in STATES.items():
        for record in make().records:
            address = (record.address.partition, record.address.sort)
            found += [(name, address, "body", way) for way in ways(dict(record.body))]
            found += [(name, address, "items", way) for way in ways({n: dict(i) for n, i in record.items.items()})]
            found.append((name, address, "token", ()))
    return found


REMOVED = object()
OTHERS = (
    REMOVED,
    None,
    True,
    False,
    0,
    -1,
    10**37,
    "",
    "x",
    "\ud83e\udde8"[:0] + "é",
    "0",
    "1e9",
    [],
    ["x"],
    [[]],
    {},
    {"x": 1},
    {"S": "x"},
    {"fate": "x"},
    {"N": "x"},
    {"B": "x"},
    "half",
)


def damaged(value: Any, way: tuple[Any, ...], other: Any) -> Any:
    """The body with the field at `way` removed, cut in half, or holding something else."""
    if not way:
        if other == "half" and isinstance(value, str):
            return value[: len(value) // 2]
        return {} if other is REMOVED else other
    inner = copy.deepcopy(value)
    if other is REMOVED and len(way) == 1:
        del inner[way[0]]
    else:
        inner[way[0]] = damaged(inner[way[0]], way[1:], other)
    return inner


def strike(site: Site, address: tuple[str, str], part: str, way: tuple[Any, ...], other: Any) -> None:
    store = site.world.records.store.records
    record = store[address]
    if part == "token":
        record = replace(record, token=other if isinstance(other, int) else 1)
    else:
        record = replace(record, **{part: damaged(getattr(record, part), way, other)})
    store[address] = record


COMMANDS = (
    ("status",),
    ("check",),
    ("plan",),
    ("current",),
    ("lock", "show"),
    ("lock", "show", "--observe", "5s"),
    ("failed", "list"),
    ("upgrade", "--yes"),
    ("rollback",),
    ("downgrade", "-1"),
    ("downgrade", "base"),
    ("failed", "retry"),
    ("failed", "skip", "003", "--because", "old"),
    ("contract", "--yes"),
    ("stamp", "head"),
    ("repair", "--checksum", "001"),
    ("repair", "--restored"),
    ("repair", "--drift"),
)


def right_or_said(site: Site, command: tuple[str, ...]) -> None:
    """The command's answer is sound, no untouched attribute changed, and success means that items are as it says."""
    before = {item["PK"]: item for item in site.items}
    answer = sound(typed(SiteHouse(site), *command))
    items = {item["PK"]: item for item in site.items}
    told = f"{answer.words}\n{answer.out}\n{answer.log}\n{site.items}"
    assert items.keys() == before.keys(), told
    for number in range(len(PEOPLE)):
        item, was = items[f"P#{number}"], before[f"P#{number}"]
        for name in ("SK", "nick"):
            assert item.get(name) == was.get(name), told
        # `once`: at most one exclamation mark, and never one less than none.
        assert item["name"] in (f"n{number}", f"n{number}!"), told
        assert item.get("team", item.get("group")) == f"t{number % 3}", told
    if answer.code == 0 and command[0] == "upgrade" and answer.document["state"] in ("applied", "up-to-date"):
        for item in items.values():
            assert item["label"] == f"L#{item['name'].rstrip('!')}", told
    if command[0] in ("status", "check", "plan", "current") or command[:2] in (("lock", "show"), ("failed", "list")):
        assert items == before, told


@bounded(100)
@given(st.data())
def test_a_damaged_record_is_named_or_does_no_harm(data: st.DataObject) -> None:
    tried["damaged control records"] += 1
    state, address, part, way = data.draw(st.sampled_from(fields()))
    other = data.draw(st.sampled_from(OTHERS))
    command = data.draw(st.sampled_from(COMMANDS))
    site = anew(STATES[state]())
    strike(site, address, part, way, other)
    right_or_said(site, command)


@pytest.mark.deep
@pytest.mark.parametrize("state", STATES)
def test_every_field_of_every_record_may_be_damaged_in_every_way(state: str) -> None:
    for name, address, part, way in fields():
        for other in OTHERS if name == state else ():
            for command in COMMANDS:
                tried["damaged control records"] += 1
                site = anew(STATES[state]())
                strike(site, address, part, way, other)
                right_or_said(site, command)


@bounded(15)
@given(st.sampled_from(list(STATES)), st.sampled_from(COMMANDS), st.data())
def test_a_record_that_is_gone_is_missed_or_does_no_harm(
    state: str, command: tuple[str, ...], data: st.DataObject
) -> None:
    tried["damaged control records"] += 1
    site = anew(STATES[state]())
    store = site.world.records.store.records
    gone: Record = store.pop(data.draw(st.sampled_from(sorted(store))))
    assert gone
    right_or_said(site, command)
