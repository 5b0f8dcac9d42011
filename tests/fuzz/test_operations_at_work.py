"""Operations with arguments of any type, planned and applied: each does what it says, or says why not."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from migrator.core.graph import Graph
from tests.fuzz.bounds import bounded, tried
from tests.fuzz.edge import SiteHouse, sound, typed
from tests.fuzz.test_migration_files import BODY, BROKEN, loaded
from tests.simulation.world import Site, person

NAMES = st.sampled_from(
    ["'name'", "'team'", "'PK'", "'a.b'", "'x' * 300", "'é'", "' '", "'app'", "'nobody'", "''", "'__migrator__'"]
)
VALUES = st.sampled_from(
    [
        "'{name}'",
        "'{nobody}'",
        "'{PK}#{SK}'",
        "'x' * 400000",
        "1",
        "10 ** 37",
        "True",
        "b''",
        "b'x'",
        "{'a': [1, {'b': {1, 2}}]}",
        "['']",
        "''",
    ]
)
CALLS = st.one_of(
    st.builds("AddIndex({}, partition_key={}, sort_key={})".format, NAMES, NAMES, NAMES),
    st.builds("AddIndex({}, partition_key=N({}), projection=[{}])".format, NAMES, NAMES, NAMES),
    st.builds(
        "AddIndex({}, partition_key=[{}, {}], provisioned=({}, 1))".format, NAMES, NAMES, NAMES, st.integers(-1, 10**9)
    ),
    st.builds(
        "Backfill(set={{{}: {}}}, missing={!r})".format, NAMES, VALUES, st.sampled_from(["fail", "skip", "remove"])
    ),
    st.builds("Backfill(where={{{}: {}}}, set={{{}: {}}}, undo='journal')".format, NAMES, VALUES, NAMES, VALUES),
    st.builds("Backfill(where={{{}: OneOf({})}}, remove={}, once=True)".format, NAMES, VALUES, NAMES),
    st.builds("RenameAttribute({}, {})".format, NAMES, NAMES),
    st.builds("RemoveAttributes({})".format, NAMES),
    st.builds("PutItems([{{'PK': {}, 'SK': {}, {}: {}}}])".format, NAMES, VALUES, NAMES, VALUES),
    st.builds("DeleteItems({{{}: {}}})".format, NAMES, VALUES),
    st.builds("CreateTable({}, partition_key={}, sort_key={})".format, NAMES, NAMES, NAMES),
    st.builds("DropIndex({})".format, NAMES),
    st.builds("UpdateIndex({}, on_demand_maximum=({}, 5))".format, NAMES, st.integers(-1, 10**9)),
    st.builds("SetTimeToLive({})".format, NAMES),
    st.builds("SetStream({})".format, st.sampled_from(["None", "'KEYS_ONLY'", "'ALL'", "1"])),
    st.builds(
        "SetBillingMode({}, provisioned=({}, 1))".format,
        st.sampled_from(["'PROVISIONED'", "'x'"]),
        st.integers(-1, 10**9),
    ),
    st.builds("RunPython({})".format, st.sampled_from(["print", "program", "lambda t: None", "ending"])),
)
PROGRAMS = """
from migrator import *
def program(table):
    print("to nobody's result")
    for item in table.scan():
        table.update({"PK": item["PK"], "SK": item["SK"]}, expected={"name": item["name"]}, set={"seen": True})
def ending(table):
    raise SystemExit(0)
"""


@bounded(50)
@given(st.lists(CALLS, min_size=1, max_size=3))
def test_operations_of_any_kind_are_planned_applied_and_taken_back_or_say_why_not(calls: list[str]) -> None:
    found = loaded(f"{BROKEN}{PROGRAMS}{BODY}\noperations = [{', '.join(calls)}]\n")
    if not isinstance(found, Graph):
        return
    tried["operations at work"] += 1
    site = Site(tuple(found.order())).with_table(person(1), person(2))
    before = site.items
    house = SiteHouse(site)
    assert sound(typed(house, "plan", "--from-base")).code in (0, 1, 2, 3)
    assert site.items == before
    upgraded = sound(typed(house, "upgrade", "--from-base", "--yes"))
    if upgraded.code == 0:
        assert sound(typed(house, "status")).code in (0, 3)
        assert sound(typed(house, "upgrade")).document["state"] == "up-to-date"
        if sound(typed(house, "downgrade", "base")).code == 0 and "'PK'" not in str(calls):
            assert {item["PK"] for item in site.items} >= {item["PK"] for item in before}
    elif "ending" in str(calls):
        assert upgraded.code != 0
