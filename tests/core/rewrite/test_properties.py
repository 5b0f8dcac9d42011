"""For any items and any state of both sides: sides are exclusive, images go both ways, and pairs come together."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from migrator.core.change import Delete, Put, Update
from migrator.core.item import Item, canonical, key_of, same_item
from migrator.core.rewrite.phases import Side, other
from migrator.core.rewrite.reconcile import Collision, Equal, Failed, Place, Repair
from migrator.core.rewrite.route import Image, NoImage, Problem, Route
from tests.core.rewrite.routes import ALL, CLAIMS, DEVICES, LOWER, PART, TASKS
from tests.core.rewrite.world import World, alike, wire

QUICK = settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)

TEXT = st.one_of(
    st.sampled_from(["", "a", "A", "#", "##", "a#b", "1", "1.0", "{x}", "USER#", "e\u0301", "\u00e9", "💥", "\0", " "]),
    st.text(max_size=6),
)
NUMBER = st.sampled_from(["0", "-0", "1", "1.0", "1.50", "1E-130", "9" * 38, "-7", "1318796827993409899"])
SCALAR: st.SearchStrategy[Any] = st.one_of(
    TEXT.map(lambda text: {"S": text}),
    NUMBER.map(lambda number: {"N": number}),
    st.just({"NULL": True}),
    st.booleans().map(lambda value: {"BOOL": value}),
    st.binary(max_size=3).map(lambda content: {"B": content}),
    st.lists(NUMBER, min_size=1, max_size=3, unique_by=lambda n: canonical({"N": n})).map(lambda ns: {"NS": ns}),
    st.lists(TEXT, min_size=1, max_size=3, unique=True).map(lambda ss: {"SS": ss}),
)
VALUE: st.SearchStrategy[Any] = st.one_of(
    SCALAR,
    st.lists(SCALAR, max_size=2).map(lambda entries: {"L": entries}),
    st.dictionaries(TEXT, SCALAR, max_size=2).map(lambda entries: {"M": entries}),
    st.lists(SCALAR, max_size=1).map(lambda entries: {"M": {"a": {"L": entries}}}),
)
NAMES = ["name", "State", "Date", "a.b", "名前", "#n0", "", "n", "title", "State#Date", "createdAt", "taskId", "email"]

_KEYS: dict[str, dict[str, st.SearchStrategy[str]]] = {
    "devices": {"DeviceID": st.sampled_from(["d", "d#1"]), "Date": st.sampled_from(["1", "1#2", "#"])},
    "players": {"PK": TEXT.map(lambda t: f"USER#{t}"), "SK": TEXT.map(lambda t: f"#METADATA#{t}")},
    "seats": {"PK": TEXT.map(lambda t: f"GAME#{t}"), "SK": TEXT.map(lambda t: f"USER#{t}")},
    "tasks": {
        "PK": st.just("p"),
        "SK": st.sampled_from(["TASK#1#a", "TASK#2#a", "TASK##a", "TASK#1#2#a", "T#a", "META"]),
    },
    "tasks elsewhere": {
        "PK": st.sampled_from(["TENANT#t#PROJECT#p", "TENANT#t#PROJECT#p/x", "T"]),
        "SK": st.sampled_from(["TASK#1#a", "TASK#1#x/a", "META"]),
    },
    "claims": {"PK": st.sampled_from(["U#1", "U#2"]), "SK": st.just("META")},
    "indexed": {"PK": st.sampled_from(["U#a", "U#", "P#a"]), "SK": st.just("META")},
    "part": {"PK": st.just("a"), "SK": st.just("b")},
    "lower": {"id": st.sampled_from(["Bob", "bob", "BOB", "ß", "ẞ", "İ"])},
    "lower within": {"id": st.sampled_from(["Bob", "bob", "BOB", "ß", "ẞ", "İ"])},
}
_OWN: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "devices": {"State": st.sampled_from([{"S": "v1"}, {"S": "v2"}, {"S": "v1#2"}, {"N": "1.50"}, {"S": ""}])},
    "tasks": {"createdAt": st.sampled_from([{"S": "1"}, {"S": "2"}, {"S": ""}, {"N": "1"}])},
    "tasks elsewhere": {"createdAt": st.sampled_from([{"S": "1"}, {"S": "2"}])},
    "claims": {"email": st.sampled_from([{"S": "a@b"}, {"S": "c@d"}, {"S": ""}])},
    "indexed": {"GSI1PK": st.sampled_from([{"S": "CITY#Rome"}, {"S": "CITY#"}, {"S": "TOWN#Rome"}])},
}


@st.composite
def old_items(draw: st.DrawFn, name: str) -> Item:
    """Items of a route's source: most are selected, with awkward values beside what keys are made of."""
    route = ALL[name]
    key: dict[str, Any] = {}
    for one in route.source_key:
        text = _KEYS.get(name, {}).get(one.name, TEXT)
        key[one.name] = {"N": draw(NUMBER)} if one.type == "N" else {"S": draw(text)}
        assume(key[one.name] != {"S": ""})
    more = draw(st.dictionaries(st.sampled_from(NAMES), VALUE, max_size=4))
    own = {n: draw(values) for n, values in _OWN.get(name, {}).items() if draw(st.integers(0, 5))}
    return {**more, **own, **key}


def image_or_none(route: Route, side: Side, item: Item) -> Image | None:
    found = route.image_of(side, item)
    return found if isinstance(found, Image) else None


@pytest.mark.parametrize("name", ALL)
@QUICK
@given(data=st.data())
def test_the_source_of_a_twin_is_the_item_itself(name: str, data: st.DataObject) -> None:
    route = ALL[name]
    item = data.draw(old_items(name))
    twin = image_or_none(route, "old", item)
    assume(twin is not None)
    assert twin is not None
    back = route.source_of(twin.item)
    assert isinstance(back, Image)
    assert same_item(back.key, key_of(item, route.source_names))
    assert alike(route, "old", back.item, item)
    assert same_item(twin.key, key_of(twin.item, route.target_names))
    if route.keep is None:
        forth = image_or_none(route, "old", back.item)
        assert forth is not None
        assert same_item(forth.key, twin.key)


@pytest.mark.parametrize("name", ALL)
@QUICK
@given(data=st.data())
def test_an_item_that_is_born_new_is_the_new_form_of_its_old_form(name: str, data: st.DataObject) -> None:
    route = ALL[name]
    item = data.draw(old_items(name))
    twin = image_or_none(route, "old", item)
    assume(twin is not None)
    assert twin is not None
    changed = {**twin.item, **{n: v for n, v in data.draw(old_items(name)).items() if n not in route.target_names}}
    if data.draw(st.booleans()):
        changed.pop(str(route.mark), None)
    old = image_or_none(route, "new", changed)
    assume(old is not None)
    assert old is not None
    if route.keep is not None and str(route.mark) in changed:
        return
    forth = image_or_none(route, "old", old.item)
    assert forth is not None
    assert same_item(forth.key, key_of(changed, route.target_names))


@pytest.mark.parametrize("name", ALL)
@QUICK
@given(data=st.data())
def test_every_item_is_on_one_side_at_most_and_a_twin_on_the_other(name: str, data: st.DataObject) -> None:
    route = ALL[name]
    item = data.draw(old_items(name))
    side = route.side_of(route.source, item)
    assert side in ("old", "new", None)
    found = route.twin_of(item)
    assert (side == "old") == (not isinstance(found, NoImage))
    if route.is_within_one_table:
        # What is old is nobody's twin; what is a twin, or stands where it belongs already, does not move.
        new = route.source_of(item)
        assert isinstance(found, NoImage) or isinstance(new, NoImage)
    if isinstance(found, Image):
        assert route.side_of(route.target, found.item) == "new"
        if route.is_within_one_table:
            assert isinstance(route.twin_of(found.item), NoImage)
    if isinstance(found, Problem):
        assert found.code
        assert found.message


@pytest.mark.parametrize("name", ALL)
@QUICK
@given(data=st.data())
def test_nothing_that_an_image_did_not_read_changes_its_key_or_what_was_rewritten(
    name: str, data: st.DataObject
) -> None:
    """The guards of an update: attributes that are not among `reads` may change, and the image follows one by one."""
    route = ALL[name]
    item = data.draw(old_items(name))
    twin = image_or_none(route, "old", item)
    assume(twin is not None)
    assert twin is not None
    other_one = data.draw(old_items(name))
    fixed = twin.reads | set(route.source_names)
    changed = {
        **{n: v for n, v in item.items() if n in fixed},
        **{n: v for n, v in other_one.items() if n not in fixed},
    }
    after = route.twin_of(changed)
    assert isinstance(after, Image)
    assert same_item(after.key, twin.key)
    for attribute in fixed - set(route.source_names):
        assert after.item.get(attribute) == twin.item.get(attribute)
    if route.decisive is not None:
        assert twin.reads - set(route.source_names) <= route.decisive


@pytest.mark.parametrize("name", ALL)
@QUICK
@given(data=st.data())
def test_from_any_state_of_both_sides_every_pair_comes_together(name: str, data: st.DataObject) -> None:
    route = ALL[name]
    authority: Side = data.draw(st.sampled_from(["old", "new"])) if not route.keeps_mark else "old"
    world = World(route)
    olds = data.draw(st.lists(old_items(name), min_size=1, max_size=4))
    world.put(route.source, *olds)
    for item in data.draw(st.lists(old_items(name), max_size=4)):
        # Twins of these items, of others, of what they were, with attributes of their own.
        twin = image_or_none(route, "old", item)
        if twin is not None:
            odd = data.draw(st.dictionaries(st.sampled_from(NAMES), VALUE, max_size=2))
            marked = dict(twin.item)
            if data.draw(st.booleans()):
                marked.pop(str(route.mark), None)
            world.put(route.target, {**marked, **{n: v for n, v in odd.items() if n not in route.target_names}})
    before = {place: item for place, (_, item) in world.items.items()}
    decided = {key for key in before if world.route.side_of(world.items[key][0], before[key]) == authority}
    verdicts = world.settle_all(authority)
    assert all(isinstance(verdict, Equal | Collision | Failed) for verdict in verdicts)
    for place in decided:
        assert same_item(world.items[place][1], before[place]), "the authority's own items are not touched"
    if all(isinstance(verdict, Equal) for verdict in verdicts):
        assert world.differences(authority) == []
    # Settled is settled: a second pass writes nothing.
    done = len(world.log)
    again = world.settle_all(authority)
    assert len(world.log) == done
    assert all(isinstance(verdict, Equal | Collision | Failed) for verdict in again)
    _never(world, authority)


def _never(world: World, authority: Side) -> None:
    for repair in world.log:
        assert repair.checks, "no write without a look at the authority"
        for table, write in repair.writes:
            assert table == world.route.table(other(authority))
            if isinstance(write, Delete):
                assert repair.what == "delete"
                assert write.key.keys() | write.guard.keys() >= world.met[Place(table, write.key).id].keys()
            elif isinstance(write, Update):
                assert write.change.guard, "an update names what it read"
            else:
                assert isinstance(write, Put)


@QUICK
@given(data=st.data(), name=st.sampled_from(["devices", "tasks", "lower", "claims", "indexed"]))
def test_a_twin_that_has_a_source_is_never_taken_from_it(name: str, data: st.DataObject) -> None:
    """Whatever one pair's transactions do, the twin of another, standing where that one wants it, stays as it is."""
    route = ALL[name]
    world = World(route)
    items = data.draw(st.lists(old_items(name), min_size=2, max_size=4))
    world.put(route.source, *items)
    assume(len(world.side("old")) > 1)
    first, *others = world.side("old")
    for item in others:
        world.settle("old", key_of(item, route.source_names))
    kept = {
        place: item
        for place, (table, item) in world.items.items()
        if isinstance(origin := route.attributed("new", item), Image)
        and table == route.target
        and not same_item(origin.key, key_of(first, route.source_names))
        and world.at(Place(route.source, origin.key)) is not None
    }
    hints = [key_of(item, route.target_names) for item in kept.values()]
    verdict = world.settle("old", key_of(first, route.source_names), hints)
    assert not isinstance(verdict, Repair)
    for place, item in kept.items():
        assert same_item(world.items[place][1], item)


@pytest.mark.deep
@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(
    "claim",
    [
        test_the_source_of_a_twin_is_the_item_itself,
        test_an_item_that_is_born_new_is_the_new_form_of_its_old_form,
        test_every_item_is_on_one_side_at_most_and_a_twin_on_the_other,
        test_nothing_that_an_image_did_not_read_changes_its_key_or_what_was_rewritten,
        test_from_any_state_of_both_sides_every_pair_comes_together,
        test_a_twin_that_has_a_source_is_never_taken_from_it,
    ],
    ids=lambda claim: claim.__name__,
)
def test_at_length(name: str, claim: Any) -> None:
    """The claims above, on a thousand examples each."""

    @settings(QUICK, max_examples=1000)
    @given(data=st.data())
    def run(data: st.DataObject) -> None:
        claim.hypothesis.inner_test(name=name, data=data)

    run()


def test_what_is_foreign_on_the_other_side_is_neither_changed_nor_deleted() -> None:
    world = World(DEVICES)
    foreign = wire(DeviceID="d", owner="somebody") | {"State#Date": {"S": "WARN#1"}}
    world.put("log-by-state", foreign)
    world.put("log", wire(DeviceID="d", Date="1", State="WARN"))
    key = wire(DeviceID="d", Date="1")
    assert world.settle("old", key) == Collision(Place("log-by-state", key_of(foreign, DEVICES.target_names)), None)
    world.remove("log", key)
    assert world.settle("old", key, [key_of(foreign, DEVICES.target_names)]) == Equal(None)
    assert world.all("log-by-state") == [foreign]


def test_what_another_left_behind_is_brought_over_in_one_transaction_that_checks_the_other_too() -> None:
    world = World(LOWER)
    world.put("people", wire(id="Bob", n=1))
    world.settle("old", wire(id="Bob"))
    world.remove("people", wire(id="Bob"))
    world.put("people", wire(id="BOB", n=1, m=2))
    done = len(world.log)
    assert isinstance(world.settle("old", wire(id="BOB")), Equal)
    (repair,) = world.log[done:]
    assert repair.what == "update"
    assert [check.key for check in repair.checks] == [wire(id="BOB"), wire(id="Bob")]
    assert not repair.checks[1].present
    (twin,) = world.all("folded")
    origin = LOWER.attributed("new", twin)
    assert isinstance(origin, Image)
    assert origin.key == wire(id="BOB")
    assert world.differences("old") == []


def test_what_is_looked_at_for_one_verdict_is_looked_at_together() -> None:
    """A hint and the source of an item that stands in the way: neither look forgets the other."""
    world = World(CLAIMS)
    for number, email in ((1, "a@b"), (2, "c@d")):
        world.put("app", wire(PK=f"U#{number}", SK="META", email=email))
        world.settle("old", wire(PK=f"U#{number}", SK="META"))
    left = wire(PK="EMAIL#c@d", SK="CLAIM")
    world.put("app", wire(PK="U#2", SK="META", email="a@b"))
    verdict = world.settle("old", wire(PK="U#2", SK="META"), [left])
    assert verdict == Collision(Place("app", wire(PK="EMAIL#a@b", SK="CLAIM")), Place("app", wire(PK="U#1", SK="META")))
    assert world.at(Place("app", left)) is None


def test_in_contract_a_twin_that_is_missing_stays_so_and_one_that_stands_follows() -> None:
    world = World(DEVICES)
    new = wire(DeviceID="d", Date="1", State="s", n=2) | {"State#Date": {"S": "s#1"}}
    world.put("log-by-state", new)
    key = key_of(new, DEVICES.target_names)
    assert world.settle("new", key, creates=False) == Equal(None)
    assert world.all("log") == []
    world.put("log", wire(DeviceID="d", Date="1", State="s", n=1))
    assert isinstance(world.settle("new", key, creates=False), Equal)
    (old,) = world.all("log")
    assert old["n"] == {"N": "2"}
    world.remove("log-by-state", key)
    assert world.settle("new", key, [wire(DeviceID="d", Date="1")], creates=False) == Equal(None)
    assert world.all("log") == []


def test_an_item_with_more_attributes_than_a_guard_holds_is_told() -> None:
    world = World(PART)
    world.put("app", wire(PK="a", SK="b", **{f"a{n}": n for n in range(150)}))
    verdict = world.settle("old", wire(PK="a", SK="b"))
    assert isinstance(verdict, Failed)
    assert verdict.code == "guard-too-large"
    assert world.all("slim") == []


@example(stays=True)
@example(stays=False)
@given(stays=st.booleans())
def test_hints_that_name_one_place_twice_or_the_item_s_own_are_asked_for_once(stays: bool) -> None:
    world = World(TASKS)
    task = wire(PK="p", SK="TASK#1#a", createdAt="1", taskId="a")
    world.put("app", task)
    if not stays:
        world.settle("old", key_of(task, TASKS.source_names))
    hint = wire(PK="p", SK="T#b")
    hints = [hint, dict(hint), key_of(task, TASKS.source_names), wire(PK="p", SK="T#a")]
    assert isinstance(world.settle("old", key_of(task, TASKS.source_names), hints), Equal)
