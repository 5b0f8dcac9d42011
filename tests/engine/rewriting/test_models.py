"""Real models, rewritten through all phases and back: every item with its new key, and all else as it was."""

from __future__ import annotations

from collections.abc import Sequence

from migrator.config import Limits
from migrator.core.item import Item, fingerprint, key_of
from migrator.core.plan import Operation
from migrator.core.schema import Index, KeyAttribute, Table
from migrator.core.where import BeginsWith
from migrator.operations import CopyTable, RewriteKeys
from tests.core.rewrite.world import battle_royale, workbench
from tests.engine.rewriting.moments import command
from tests.simulation.world import Site, chain, migration, quick_world

OLD, NEW = "DeviceStateLog", "device-log"


def _site(*operations: Operation) -> Site:
    site = Site(
        chain(*(migration(f"{n:03}", one) for n, one in enumerate(operations, 1))), quick_world(page_bytes=50_000)
    )
    site.limits = Limits(workers=1, segments=2)
    return site


def _same(found: Sequence[Item], wanted: Sequence[Item]) -> bool:
    return sorted(map(fingerprint, found)) == sorted(map(fingerprint, wanted))


def _devices() -> Site:
    site = _site(
        CopyTable("app", "new", key={"State#Date": "{State}#{Date}"}, partition_key="DeviceID", sort_key="State#Date")
    )
    site.tables = {"app": OLD, "new": NEW}
    site.world.tables.add(OLD, Table("app", KeyAttribute("DeviceID"), KeyAttribute("Date")))
    site.world.items.put(OLD, *workbench("nwb-devicestatelog-v1.json"))
    return site


def test_the_device_log_moves_to_the_keys_of_its_third_version_with_all_else_as_in_the_first() -> None:
    site, first, third = _devices(), workbench("nwb-devicestatelog-v1.json"), workbench("nwb-devicestatelog-v3.json")
    wanted = [{**item, "State#Date": {"S": f"{item['State']['S']}#{item['Date']['S']}"}} for item in first]
    for name in ("upgrade", "ready", "cutover"):
        assert command(site, name) == 9, name
        assert _same(site.world.items.all(OLD), first)
        assert _same(site.world.items.all(NEW), [] if name == "upgrade" else wanted)
    assert command(site, "contract") == 0
    found = site.world.items.all(NEW)
    assert (site.world.items.all(OLD), len(found)) == ([], 11)
    assert _same(found, wanted)
    names = ("DeviceID", "State#Date")
    assert _same([key_of(item, names) for item in found], [key_of(item, names) for item in third])


def test_a_change_of_state_moves_the_twin_and_the_way_back_leaves_the_first_version() -> None:
    site, first = _devices(), workbench("nwb-devicestatelog-v1.json")
    for name in ("upgrade", "ready"):
        assert command(site, name) == 9
    changed = {**first[0], "State": {"S": "NORMAL9"}}
    site.world.items.put(OLD, changed)
    assert site.runner().verify(None, repair=True).exit_code == 0
    keys = [item["State#Date"]["S"] for item in site.world.items.all(NEW)]
    assert len(keys) == 11
    assert f"NORMAL9#{first[0]['Date']['S']}" in keys
    assert command(site, "cutover") == 9
    assert command(site, "rollback") == 0
    assert _same(site.world.items.all(OLD), [changed, *first[1:]])
    assert site.world.items.all(NEW) == []


def test_a_prefix_changes_in_every_key_of_a_game_and_its_indexes_hold_as_many_entries_as_before() -> None:
    players = RewriteKeys(
        where={"PK": BeginsWith("USER#"), "SK": BeginsWith("#METADATA#")},
        key={"PK": "PLAYER#{player}"},
        old={"PK": "USER#{player}"},
        readers="runtime",
    )
    seats = RewriteKeys(
        where={"PK": BeginsWith("GAME#"), "SK": BeginsWith("USER#")},
        key={"SK": "PLAYER#{player}"},
        old={"SK": "USER#{player}"},
        readers="runtime",
    )
    indexes = [
        Index("OpenGamesIndex", (KeyAttribute("map"),), (KeyAttribute("open_timestamp"),)),
        Index("InvertedIndex", (KeyAttribute("SK"),), (KeyAttribute("PK"),)),
    ]
    site, items = _site(players, seats), battle_royale()
    site.with_table(indexes=indexes)
    site.world.items.put("test-app", *items)
    before = {index.name: _entries(site, index.name) for index in indexes}
    for number in ("001", "002"):
        assert site.runner().upgrade(number, from_base=number == "001").exit_code == 9
        assert site.runner().upgrade(number, app_ready=True).exit_code == 9
        assert site.runner().cutover(number).exit_code == 9
        assert site.runner().contract(number, yes=True).exit_code == 0
    found = site.world.items.all("test-app")
    assert len(found) == len(items) == 835
    assert {index.name: _entries(site, index.name) for index in indexes} == before
    assert not [item for item in found if item["PK"]["S"].startswith("USER#") or item["SK"]["S"].startswith("USER#")]


def _entries(site: Site, index: str) -> int:
    count, start = 0, None
    while True:
        page = site.world.items.as_another().scan_index("test-app", index, ("PK", "SK"), start=start)
        count += len(page.items)
        if page.next is None:
            return count
        start = page.next
