"""What an operator does, each with a table as it stood before: the suite disturbs every one of these in every way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from migrator.core.schema import N
from migrator.core.settings import TimeToLive
from migrator.core.where import Absent, BeginsWith, Exists
from migrator.engine.function import GuardedTable, ItemChanged
from migrator.operations import (
    AddIndex,
    Backfill,
    CreateTable,
    DeleteItems,
    DropIndex,
    PutItems,
    RebuildCounter,
    RemoveAttributes,
    RenameAttribute,
    RewriteKeys,
    RunPython,
    SetBillingMode,
    SetDeletionProtection,
    SetPointInTimeRecovery,
    SetStream,
    SetTimeToLive,
    SplitItem,
    UpdateIndex,
)
from migrator.operations.index_spec import Index
from migrator.runner.runner import Runner
from tests.simulation.world import SHAPE, TABLE, Site, chain, migration, person

BY_TEAM = Index("by-team", partition_key="team")
PEOPLE = tuple(person(number) for number in range(8))

SEEDS = ({"PK": "SEED#1", "SK": "seed", "name": "one"}, {"PK": "SEED#2", "SK": "seed", "name": "two"})


# --- functions of migrations ------------------------------------------------------------------------------------------


def upper(item: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"upper": item["name"].upper()}


def exclaim(item: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"name": item["name"] + "!"}


def with_boss(item: Mapping[str, Any], lookup: Any) -> Mapping[str, Any]:
    boss = lookup.get({"PK": "P#0", "SK": "person"})
    return {"boss": boss["name"] if boss else "nobody"}


def summary(item: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"size": len([name for name in item if name not in ("size", "v")])}


def mark_all(table: GuardedTable) -> None:
    for item in table.scan():
        if "marked" not in item:
            key = {"PK": item["PK"], "SK": item["SK"]}
            try:
                table.update(key, expected={"name": item["name"], "marked": None}, set={"marked": True})
            except ItemChanged:
                continue


def unmark_all(table: GuardedTable) -> None:
    for item in table.scan():
        if item.get("marked") is True:
            table.update({"PK": item["PK"], "SK": item["SK"]}, expected={"marked": True}, remove=("marked",))


# --- scenarios --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scenario:
    """`given` makes the site; `command` is what the operator types, and types again after an interruption."""

    name: str
    given: Callable[[], Site]
    command: Callable[[Runner], Any]
    done: tuple[str, ...] = ()
    """Codes by which the same command, typed again, says that it is done already."""
    most_changes: int = 1
    """How often the undisturbed command changes one item."""

    before: Callable[[], Site] | None = None
    """For a way back: the site before the revision that it takes back."""

    def __str__(self) -> str:
        return self.name


def upgrade(runner: Runner) -> Any:
    return runner.upgrade(from_base=True, yes=True)


def _up(name: str, *operations: Any, most_changes: int = 1, **table: Any) -> Scenario:
    def given() -> Site:
        return Site(chain(migration("001", *operations))).with_table(*PEOPLE, **table)

    return Scenario(name, given, upgrade, most_changes=most_changes)


def _down(name: str, *operations: Any, **table: Any) -> Scenario:
    def before() -> Site:
        return Site(chain(migration("001", *operations))).with_table(*PEOPLE, **table)

    def given() -> Site:
        site = before()
        assert site.runner().upgrade(from_base=True, yes=True).exit_code in (0, 9)
        return site

    return Scenario(f"down-{name}", given, lambda runner: runner.downgrade("base"), before=before)


def _new_table() -> Site:
    created = CreateTable("app", partition_key="PK", sort_key="SK", indexes=[BY_TEAM], ttl="expires")
    return Site(chain(migration("001", created), migration("002", AddIndex("by-name", partition_key="name"))))


def _gated() -> Site:
    site = Site(chain(migration("001", RenameAttribute("name", "title")))).with_table(*PEOPLE)
    assert site.runner().upgrade(from_base=True).exit_code == 9
    return site


def _with_failures() -> Site:
    site = Site(chain(migration("001", Backfill(set={"label": "{nick}"})))).with_table(
        *(person(number, **({} if number % 3 == 0 else {"nick": f"k{number}"})) for number in range(8))
    )
    assert site.runner().upgrade(from_base=True).exit_code == 6
    return site


def _mended() -> Site:
    site = _with_failures()
    for number in (0, 3, 6):
        site.update(number, nick="late")
    return site


def _unfinished() -> Site:
    site = Site(
        chain(
            migration(
                "001",
                AddIndex("by-team", partition_key="team"),
                Backfill(set={"label": "L#{name}"}),
                Backfill(transform=upper),
                Backfill(set={"other": "{nick}"}),
            )
        )
    ).with_table(*PEOPLE)
    assert site.runner().upgrade(from_base=True).exit_code == 6
    return site


def _edited() -> Site:
    site = Site(chain(migration("001", Backfill(set={"label": "L#{name}"})))).with_table(*PEOPLE)
    assert site.runner().upgrade(from_base=True).exit_code == 0
    site.migrations = chain(migration("001", Backfill(set={"label": "M#{name}"}), content="2"))
    return site


def _restored() -> Site:
    site = Site(chain(migration("001", Backfill(set={"label": "L#{name}"})))).with_table(*PEOPLE)
    assert site.runner().upgrade(from_base=True).exit_code == 0
    site.world.tables.alter("test-app", table_id="another")
    return site


def _drifted() -> Site:
    site = Site(chain(migration("001", AddIndex("by-team", partition_key="team")))).with_table(*PEOPLE)
    assert site.runner().upgrade(from_base=True).exit_code == 0
    site.world.tables.as_another().delete_index("test-app", "by-team")
    site.world.clock.advance(60)
    return site


def _skip_all(runner: Runner) -> Any:
    return runner.failed_skip("001", [], "archived")


def _settings() -> tuple[Any, ...]:
    return (
        SetTimeToLive("expires"),
        SetPointInTimeRecovery(True),
        SetDeletionProtection(True),
        SetBillingMode("PROVISIONED", provisioned=(50, 40), indexes={"by-team": (20, 10)}),
    )


def _rewriting(*done: str, **options: Any) -> Site:
    """A site whose items move to another table, with these commands behind it."""
    operation = RewriteKeys(key={"PK": "{team}#{n}", "SK": "{SK}"}, old={"PK": "P#{n}"}, to="new", **options)
    site = Site(chain(migration("001", operation)), tables={"app": TABLE, "new": "test-new"}).with_table(*PEOPLE[:4])
    site.world.tables.add("test-new", SHAPE)
    for command in done:
        assert _REWRITE[command](site.runner()).exit_code == 9
    return site


def _splitting(*done: str) -> Site:
    operation = SplitItem("name", key={"SK": "{SK}#name"}, where={"team": Exists()})
    site = Site(chain(migration("001", operation))).with_table(*PEOPLE[:4])
    for command in done:
        assert _REWRITE[command](site.runner()).exit_code == 9
    return site


def _rewriting_within() -> Site:
    operation = RewriteKeys(
        where={"PK": BeginsWith("P#")}, key={"PK": "PERSON#{n}"}, old={"PK": "P#{n}"}, readers="runtime"
    )
    site = Site(chain(migration("001", operation))).with_table(*PEOPLE[:4])
    for command in ("prepare", "ready"):
        assert _REWRITE[command](site.runner()).exit_code == 9
    return site


def _with_strays(*done: str) -> Site:
    """Somebody wrote the old side alone."""
    site = _rewriting(*done)
    site.update(0, name="late")
    site.update(1, team="t9")
    site.remove(2)
    return site


_REWRITE: dict[str, Callable[[Runner], Any]] = {
    "prepare": lambda runner: runner.upgrade(from_base=True),
    "ready": lambda runner: runner.upgrade(app_ready=True),
    "cutover": lambda runner: runner.cutover("001", yes=True),
    "contract": lambda runner: runner.contract("001", yes=True),
    "rollback": lambda runner: runner.rollback("001"),
    "repair": lambda runner: runner.verify("001", repair=True),
}

REWRITES = (
    Scenario("rewrite-prepare", _rewriting, _REWRITE["prepare"]),
    Scenario("rewrite-ready", lambda: _rewriting("prepare"), _REWRITE["ready"]),
    Scenario("rewrite-ready-stopped", lambda: _rewriting("prepare", application="stopped"), _REWRITE["ready"]),
    Scenario("rewrite-cutover", lambda: _rewriting("prepare", "ready"), _REWRITE["cutover"], done=("other-gate",)),
    Scenario(
        "rewrite-contract",
        lambda: _rewriting("prepare", "ready", "cutover"),
        _REWRITE["contract"],
        done=("not-at-gate",),
    ),
    Scenario("rewrite-within-cutover", _rewriting_within, _REWRITE["cutover"], done=("other-gate",)),
    Scenario("split-ready", lambda: _splitting("prepare"), _REWRITE["ready"]),
    Scenario("split-contract", lambda: _splitting("prepare", "ready"), _REWRITE["contract"], done=("not-at-gate",)),
    Scenario("rewrite-repair", lambda: _with_strays("prepare", "ready"), _REWRITE["repair"]),
)
REWRITES_BACK = (
    Scenario(
        "rollback-split",
        lambda: _splitting("prepare", "ready"),
        _REWRITE["rollback"],
        done=("nothing-to-roll-back",),
        before=_splitting,
    ),
    Scenario(
        "rollback-rewrite-ready",
        lambda: _rewriting("prepare", "ready"),
        _REWRITE["rollback"],
        done=("nothing-to-roll-back",),
        before=_rewriting,
    ),
    Scenario(
        "rollback-rewrite-cutover",
        lambda: _rewriting("prepare", "ready", "cutover"),
        _REWRITE["rollback"],
        done=("nothing-to-roll-back",),
        before=_rewriting,
    ),
)

UPGRADES = (
    Scenario("create-table", _new_table, lambda runner: runner.upgrade()),
    _up("add-index", AddIndex("by-team", partition_key="team")),
    _up("add-two-indexes", AddIndex("by-team", partition_key="team"), AddIndex("by-name", partition_key="name")),
    _up("backfill-template", Backfill(set={"label": "L#{name}"})),
    _up("backfill-unchecked", Backfill(set={"label": "L#{name}"}, check="none")),
    _up("backfill-journal", Backfill(set={"label": "L#{name}"}, remove="team", undo="journal")),
    _up("backfill-function", Backfill(transform=upper)),
    _up("backfill-lookup", Backfill(where={"boss": Absent()}, transform=with_boss)),
    _up("backfill-once", Backfill(transform=exclaim, once=True)),
    _up("backfill-once-forgetting", Backfill(transform=exclaim, once=True, undo="none")),
    _up("backfill-version", Backfill(transform=summary, version="v")),
    _up("backfill-then-index", Backfill(set={"rank": 5}), AddIndex("by-rank", partition_key=N("rank"))),
    _up("rename", RenameAttribute("name", "title")),
    _up("remove-attributes", RemoveAttributes("team")),
    _up("put-items", PutItems(SEEDS)),
    _up("delete-items", DeleteItems({"team": "t1"})),
    _up("rebuild-counter", RebuildCounter("size", where={"team": "t1"}, count={"SK": BeginsWith("")})),
    _up("drop-index", DropIndex("by-team"), indexes=[BY_TEAM]),
    _up(
        "update-index",
        UpdateIndex("by-team", on_demand_maximum=(100, 100)),
        indexes=[BY_TEAM],
    ),
    _up("settings", *_settings(), indexes=[BY_TEAM], settings=(TimeToLive("old"),)),
    _up("stream-off", SetStream(None)),
    _up("run-python", RunPython(mark_all, unmark_all)),
)

WAYS_BACK = (
    _down("add-index", AddIndex("by-team", partition_key="team")),
    _down("adopted-index", AddIndex("by-team", partition_key="team"), indexes=[BY_TEAM]),
    _down("backfill-template", Backfill(set={"label": "L#{name}"})),
    _down("backfill-journal", Backfill(set={"label": "L#{name}"}, remove="team", undo="journal")),
    _down("backfill-function", Backfill(transform=upper)),
    _down("backfill-once", Backfill(transform=exclaim, once=True)),
    _down("remove-attributes", RemoveAttributes("team")),
    _down("put-items", PutItems(SEEDS)),
    _down("delete-items", DeleteItems({"team": "t1"})),
    _down("drop-index", DropIndex("by-team"), indexes=[BY_TEAM]),
    _down("update-index", UpdateIndex("by-team", on_demand_maximum=(100, 100)), indexes=[BY_TEAM]),
    _down("settings", *_settings(), indexes=[BY_TEAM], settings=(TimeToLive("expires"),)),
    _down("run-python", RunPython(mark_all, unmark_all)),
    Scenario(
        "rollback-gated",
        _gated,
        lambda runner: runner.rollback("001"),
        done=("nothing-to-roll-back",),
        before=lambda: Site(_gated().migrations).with_table(*PEOPLE),
    ),
    Scenario(
        "rollback-unfinished",
        _unfinished,
        lambda runner: runner.rollback("001"),
        done=("nothing-to-roll-back",),
        most_changes=2,
        before=lambda: Site(_unfinished().migrations).with_table(*PEOPLE),
    ),
)

MENDINGS = (
    Scenario("contract", _gated, lambda runner: runner.contract("001", yes=True), done=("not-at-gate",)),
    Scenario("failed-retry", _mended, lambda runner: runner.failed_retry()),
    Scenario("failed-skip", _with_failures, _skip_all),
    Scenario("stamp", lambda: Site(_edited().migrations).with_table(*PEOPLE), lambda runner: runner.stamp("head")),
    Scenario("repair-checksum", _edited, lambda runner: runner.repair(checksum="001")),
    Scenario("repair-restored", _restored, lambda runner: runner.repair(restored=True)),
    Scenario("repair-drift", _drifted, lambda runner: runner.repair(drift=True)),
)

ALL = (*UPGRADES, *REWRITES, *WAYS_BACK, *REWRITES_BACK, *MENDINGS)
NAMED = {scenario.name: scenario for scenario in ALL}
