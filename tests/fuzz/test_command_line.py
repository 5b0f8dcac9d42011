"""What is typed: targets, keys and plan files of any content are understood or refused."""

from __future__ import annotations

import copy
import json
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrator.core.graph import Graph
from migrator.errors import UsageError
from migrator.operations import AddIndex, Backfill, RemoveAttributes
from tests.fuzz.bounds import bounded, tried
from tests.fuzz.edge import SiteHouse, refused_well, sound, typed
from tests.simulation.world import Site, chain, migration, person

PARENTS = {
    "20260101": (),
    "20260102": ("20260101",),
    "20260103": ("20260102",),
    "x.1": ("20260102",),
    "m": ("20260103", "x.1"),
}
GRAPH = Graph([migration(revision, after=parents) for revision, parents in PARENTS.items()])
ANCHORS = st.one_of(
    st.sampled_from(
        [
            "",
            "head",
            "heads",
            "base",
            "Head",
            " head ",
            "2026",
            "20260101",
            "x",
            "m",
            "\0",
            "🧨",
            "\udcff",
            "..",
            "head\n",
        ]
    ),
    st.text(max_size=6),
)
OFFSETS = st.one_of(
    st.sampled_from(
        [
            "",
            "+0",
            "-0",
            "+1",
            "-1",
            "+999999999999",
            "-999999999999",
            "+" + "9" * 5000,
            "-" + "9" * 5000,
            "+-1",
            "+1+1",
            "+1.5",
            "+٣",
            "- 1",
            "+",
            "-",
        ]
    ),
    st.integers(-9, 9).map(lambda number: f"{number:+}"),
)
APPLIED = st.sets(st.sampled_from([*PARENTS, "gone"]))


@bounded(400)
@given(ANCHORS, OFFSETS, APPLIED)
def test_a_target_names_revisions_of_the_graph_or_is_refused(anchor: str, offset: str, applied: set[str]) -> None:
    tried["targets"] += 1
    for resolve in (GRAPH.resolve, GRAPH.pending, GRAPH.to_undo):
        try:
            found = resolve(anchor + offset, applied)
        except UsageError as exc:
            refused_well(exc)
        else:
            assert all(getattr(one, "revision", one) in GRAPH for one in found)


COMMANDS = ("upgrade", "downgrade", "plan", "stamp", "rollback", "contract", "failed list", "failed retry", "show")


def small() -> Site:
    return Site(
        chain(migration("001", Backfill(set={"label": "L#{name}"})), migration("002", RemoveAttributes("label")))
    ).with_table(person(1))


@bounded(20)
@given(st.sampled_from(COMMANDS), ANCHORS, OFFSETS)
def test_a_command_with_a_target_of_any_text_answers_well(command: str, anchor: str, offset: str) -> None:
    tried["targets"] += 1
    sound(typed(SiteHouse(small()), *command.split(), "--", anchor + offset))


@bounded(15)
@given(
    st.one_of(
        st.text(max_size=12),
        st.sampled_from(
            [
                "{}",
                "{",
                "[" * 5000,
                '{"PK": {"S": "\\ud800"}}',
                '{"PK": {"S": "P#1"}, "SK": {"S": "person"}}',
                '{"PK": 1}',
                '{"PK": {"N": "NaN"}}',
                '{"PK": {"N": "' + "9" * 5000 + '"}}',
                '{"PK": {"B": "!"}}',
                '{"a": ' * 3000,
                '{"PK": {"L": ' + "[" * 900 + "]" * 900 + "}}",
                'PK="P#1" SK="person"',
                "{\udcff}",
                '{"PK": {"N": "' + "1" * 50 + 'E9999999"}}',
            ]
        ),
    )
)
def test_a_key_of_any_text_names_a_failed_item_or_is_refused(key: str) -> None:
    tried["keys"] += 1
    site = Site(chain(migration("001", Backfill(set={"label": "{nick}"})))).with_table(person(1))
    assert site.runner().upgrade(from_base=True).exit_code == 6
    answer = sound(typed(SiteHouse(site), "failed", "skip", "001", "--because", "old", "--", key))
    is_it = key in ('{"PK": {"S": "P#1"}, "SK": {"S": "person"}}', 'PK="P#1" SK="person"')
    assert answer.code == 0 if is_it else answer.code != 0


@cache
def reviewed() -> tuple[Site, str]:
    """A site, and the plan that was made of it."""
    site = Site(
        chain(
            migration("001", AddIndex("by-team", partition_key="team"), Backfill(set={"label": "L#{name}"})),
            migration("002", RemoveAttributes("team")),
        )
    ).with_table(person(1), person(2))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "plan.json")
        assert sound(typed(SiteHouse(site), "plan", "--from-base", "--out", str(path))).code == 0
        return site, path.read_text()


def upgrade_with(content: str | bytes) -> tuple[Site, Any]:
    tried["plan files"] += 1
    site, _ = reviewed()
    site.migrations = site.migrations
    fresh = Site(site.migrations).with_table(person(1), person(2))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "plan.json")
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        answer = sound(typed(SiteHouse(fresh), "upgrade", "--from-base", "--plan", str(path)))
    if answer.code != 0:
        assert fresh.items == Site(site.migrations).with_table(person(1), person(2)).items, (
            "refused, and nothing was changed"
        )
    return fresh, answer


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=6)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)),
    max_leaves=5,
)


def paths(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, inner in entries for found in ((*way, key), *paths(inner, (*way, key)))]


@bounded(25)
@given(st.data(), JSON)
def test_a_changed_plan_applies_as_reviewed_or_is_refused(data: st.DataObject, other: Any) -> None:
    content = json.loads(reviewed()[1])
    way = data.draw(st.sampled_from(paths(content)))
    at = content
    for key in way[:-1]:
        at = at[key]
    if data.draw(st.booleans()):
        at[way[-1]] = other
    else:
        del at[way[-1]]
    upgrade_with(json.dumps(content))


@bounded(30)
@given(st.one_of(st.binary(max_size=60), JSON.map(lambda value: json.dumps(value).encode())))
def test_a_plan_of_any_content_is_refused(content: bytes) -> None:
    assert upgrade_with(content)[1].error == "bad-plan"


@pytest.mark.parametrize(
    "content",
    [
        "[" * 100_000,
        '{"command": "plan", "fingerprint": ' + "[" * 900 + "]" * 900 + "}",
        '{"command": "plan", "fingerprint": {}}',
        '{"command": "plan", "fingerprint": "\\ud800"}',
        '{"command": "plan", "fingerprint": ' + "9" * 5000 + "}",
        '{"command": "plan", "fingerprint": true, "target": []}',
        "NaN",
        "\0",
    ],
    ids=range(8),
)
def test_an_outlandish_plan_is_refused(content: str) -> None:
    _, answer = upgrade_with(content)
    assert answer.code != 0


def test_the_plan_itself_is_applied_where_it_was_made() -> None:
    site, plan = reviewed()
    fresh = copy.copy(site)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "plan.json")
        path.write_text(plan)
        answer = sound(typed(SiteHouse(fresh), "upgrade", "--from-base", "--plan", str(path)))
    assert answer.code == 0, answer
    reviewed.cache_clear()


def test_half_characters_come_out_of_every_command_as_text(tmp_path: Path) -> None:
    odd = "half \udcff \ud800"
    site = Site(chain(migration("001", Backfill(set={"label": "{nick}"})))).with_table(person(1))
    house = SiteHouse(site)
    for words in (
        ("plan", "--from-base", "--out", str(tmp_path / "plan.json")),
        ("upgrade", "--from-base"),
        ("status",),
        ("upgrade", odd),
        ("failed", "skip", "001", "--because", odd),
        ("lock", "release", "--owner", odd),
        ("stamp", odd),
        (odd,),
        ("show", odd),
    ):
        sound(typed(house, *words))
    json.loads((tmp_path / "plan.json").read_text())


def test_half_characters_get_into_no_file_that_is_made(tmp_path: Path) -> None:
    odd = "half \udcff \ud800"
    config = str(tmp_path / "migrator.toml")
    assert sound(typed(None, "init", "-c", config)).code == 0
    for words in (("revision", odd), ("revision", "-m", odd), ("history",), ("heads",)):
        sound(typed(None, *words, "-c", config))
    assert len(list((tmp_path / "migrations").glob("*.py"))) >= 1
    for path in tmp_path.rglob("*.*"):
        path.read_text(encoding="utf-8")
