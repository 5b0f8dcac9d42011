"""Every group of sources with one new key is found, whatever the order, and memory stays bounded."""

from __future__ import annotations

import random
import subprocess
import sys
import tracemalloc
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from migrator.core.rewrite import collisions
from migrator.core.rewrite.collisions import Collisions, Group, Groups
from migrator.core.rewrite.reconcile import Place
from tests.core.rewrite.world import wire

ROOT = Path(__file__).resolve().parents[3]
Claim = tuple[Place, Place]


def target(name: str, table: str = "new") -> Place:
    return Place(table, wire(id=name))


def source(name: str, table: str = "old") -> Place:
    return Place(table, wire(id=name))


def found(claims: list[Claim]) -> list[Group]:
    first = Collisions()
    for new, old in claims:
        first.add(new, old)
    second = Groups(first.suspects())
    for new, old in claims:
        second.add(new, old)
    return list(second.groups())


def folded(names: Iterable[str]) -> list[Claim]:
    return [(target(name.lower()), source(name)) for name in names]


def test_sources_of_one_new_key_are_a_group() -> None:
    (group,) = found(folded(["Bob", "eve", "bob", "Ada", "BOB"]))
    assert group.target == target("bob")
    assert {str(one.key["id"]["S"]) for one in group.members} == {"Bob", "bob", "BOB"}
    assert group.count == 3


def test_one_source_that_is_met_twice_is_no_collision() -> None:
    twin = (target("bob"), source("Bob"))
    assert found([twin, twin, (target("bob", "elsewhere"), source("BOB"))]) == []
    first = Collisions()
    for _ in range(2):
        first.add(*twin)
    assert len(first.suspects()) == 0


def test_an_item_that_stands_where_a_twin_belongs_is_one_of_the_group() -> None:
    (group,) = found([(target("bob", "t"), target("bob", "t")), (target("bob", "t"), source("Bob", "t"))])
    assert group.count == 2


def test_keys_that_are_the_same_number_are_one_key() -> None:
    one, other = Place("new", wire(n=1)), Place("new", {"n": {"N": "1.0"}})
    (group,) = found([(one, source("a")), (other, source("b"))])
    assert group.count == 2


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from("pqrst")), max_size=30),
    st.randoms(use_true_random=False),
)
def test_groups_are_those_of_a_plain_dictionary_in_any_order(
    pairs: list[tuple[str, str]], chance: random.Random
) -> None:
    claims = [(target(new), source(old)) for new, old in pairs]
    wanted: dict[str, set[str]] = {}
    for new, old in pairs:
        wanted.setdefault(new, set()).add(old)
    several = {new: olds for new, olds in wanted.items() if len(olds) > 1}
    groups = found(claims)
    assert {str(one.target.key["id"]["S"]): {m.key["id"]["S"] for m in one.members} for one in groups} == several
    chance.shuffle(claims)
    assert found(claims) == groups


def test_two_keys_that_share_a_hash_come_apart_at_the_second_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collisions, "place_hash", lambda place: {"a": 1, "b": 1}.get(place.key["id"]["S"], 2))
    first = Collisions()
    claims = [(target("a"), source("x")), (target("b"), source("a"))]
    for new, old in claims:
        first.add(new, old)
    suspects = first.suspects()
    assert list(suspects) == [1]
    second = Groups(suspects)
    for new, old in claims:
        second.add(new, old)
    assert second.groups() == []


def test_of_many_groups_some_are_shown_and_all_are_counted() -> None:
    claims = folded(name for n in range(300) for name in (f"K{n}", f"k{n}"))
    first = Collisions()
    for claim in claims:
        first.add(*claim)
    suspects = first.suspects()
    assert len(suspects) == 300
    seen = []
    for start in range(0, 300, 100):
        second = Groups(suspects, start=start)
        for claim in reversed(claims):
            second.add(*claim)
        assert second.unseen == 200 - start
        assert len(second.groups()) == 100
        seen += [group.target.id for group in second.groups()]
    assert len(set(seen)) == 300
    assert len(first) == 0


def test_of_a_large_group_the_same_few_members_are_shown_in_any_order() -> None:
    claims = [(target("one"), source(str(n))) for n in range(1000)]
    (group,) = found(claims)
    assert len(group.members) == collisions.MOST_MEMBERS
    assert group.count == 1000
    assert found(claims[::-1]) == [group]


def test_segments_may_add_at_the_same_time() -> None:
    first = Collisions()

    def segment(number: int) -> None:
        for n in range(500):
            first.add(target(str(n)), source(f"{n}-{number % 2}"))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(segment, range(4)))
    assert len(first) == 2000
    assert len(first.suspects()) == 500


def test_a_key_takes_little_memory_until_the_first_look_ends() -> None:
    count = 30_000
    chance = random.Random(1)
    tracemalloc.start()
    try:
        first = Collisions()
        for _ in range(count):
            first.add_hashes(chance.getrandbits(64), chance.getrandbits(64))
        assert tracemalloc.get_traced_memory()[0] < count * 20 + 300_000
        first.suspects()
        assert tracemalloc.get_traced_memory()[1] < count * 30 + 1_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.deep
@pytest.mark.parametrize("kind", ["apart", "pairs", "one"])
def test_ten_million_keys_fit_into_500_mb(kind: str) -> None:
    """The whole process, at its largest: all keys apart, all in pairs, and all the same."""
    run = [sys.executable, str(Path(__file__).with_name("ten_million.py")), kind]
    out = subprocess.run(run, cwd=ROOT, check=True, capture_output=True, text=True, env={"PYTHONPATH": str(ROOT)})
    megabytes, suspects = map(int, out.stdout.split())
    assert megabytes < 500
    assert suspects == {"apart": 0, "pairs": 5_000_000, "one": 1}[kind]
