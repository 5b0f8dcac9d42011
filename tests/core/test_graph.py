"""The revision graph: what it refuses, its order, and what targets name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrator.core.graph import Graph
from migrator.core.plan import Migration
from migrator.errors import UsageError


def migration(revision: str, *parents: str, path: str | None = None) -> Migration:
    return Migration(revision, parents, (), "", path or f"migrations/{revision}.py", "v1:0", "v1:0")


def chain(*revisions: str) -> Graph:
    return Graph(
        migration(one, *before) for one, before in zip(revisions, [(), *((r,) for r in revisions)], strict=False)
    )


CHAIN = chain("001", "002", "003", "004")
MERGED = Graph(
    [
        migration("001"),
        migration("002a", "001"),
        migration("003a", "002a"),
        migration("002b", "001"),
        migration("004m", "003a", "002b"),
        migration("005", "004m"),
    ]
)
FORKED = Graph([migration("001"), migration("002a", "001"), migration("002b", "001")])


def ids(migrations: tuple[Migration, ...]) -> list[str]:
    return [one.revision for one in migrations]


def refused(call, *arguments: object) -> UsageError:
    with pytest.raises(UsageError) as caught:
        call(*arguments)
    return caught.value


# --- what is no graph -------------------------------------------------------------------------------------------------


def test_two_files_with_one_revision_are_refused_with_both_names():
    error = refused(Graph, [migration("001", path="a.py"), migration("001", path="b.py")])
    assert error.code == "duplicate-revision"
    assert "a.py" in error.message
    assert "b.py" in error.message


def test_an_unknown_parent_is_refused_with_the_files_name():
    error = refused(Graph, [migration("001"), migration("002", "000")])
    assert error.code == "unknown-parent"
    assert "migrations/002.py" in error.message
    assert "'000'" in error.message


@pytest.mark.parametrize(
    ("migrations", "named"),
    [
        ([migration("001", "002"), migration("002", "001")], ["001", "002"]),
        (
            [migration("001"), migration("002", "001", "004"), migration("003", "002"), migration("004", "003")],
            ["002", "003", "004"],
        ),
        ([migration("001", "001")], ["001"]),
        ([migration("001", "002"), migration("002", "001"), migration("003", "002")], ["001", "002"]),
    ],
)
def test_a_cycle_is_refused_with_the_files_in_it_and_no_others(migrations: list[Migration], named: list[str]):
    error = refused(Graph, migrations)
    assert error.code == "revision-cycle"
    for one in migrations:
        assert (one.path in error.message) == (one.revision in named)


def test_an_empty_graph_has_nothing_to_do():
    empty = Graph([])
    assert (empty.heads, empty.bases, empty.order(), len(empty)) == ((), (), (), 0)
    assert empty.resolve("head", ()) == ()
    assert empty.pending("head", ()) == ()


# --- shape ------------------------------------------------------------------------------------------------------------


def test_heads_and_bases_are_the_ends():
    assert (CHAIN.heads, CHAIN.bases) == (("004",), ("001",))
    assert FORKED.heads == ("002a", "002b")
    assert MERGED.heads == ("005",)


def test_order_puts_parents_first_and_then_the_smaller_id():
    assert ids(MERGED.order()) == ["001", "002a", "002b", "003a", "004m", "005"]
    assert ids(chain("9", "5", "7").order()) == ["9", "5", "7"]


def test_ancestors_and_descendants_reach_through_merges():
    assert MERGED.ancestors("004m") == {"001", "002a", "002b", "003a"}
    assert MERGED.ancestors("002b", inclusive=True) == {"001", "002b"}
    assert MERGED.descendants("002b") == {"004m", "005"}
    assert MERGED.descendants("005", inclusive=True) == {"005"}
    assert refused(MERGED.ancestors, "999").code == "unknown-revision"


@given(st.data())
def test_any_order_of_files_gives_the_same_order_with_every_parent_before_its_child(data: st.DataObject):
    size = data.draw(st.integers(1, 12))
    names = data.draw(st.permutations([f"{n:02}" for n in range(size)]))
    migrations = [
        migration(name, *data.draw(st.lists(st.sampled_from(names[:n]), unique=True, max_size=3) if n else st.just([])))
        for n, name in enumerate(names)
    ]
    order = ids(Graph(migrations).order())
    assert order == ids(Graph(data.draw(st.permutations(migrations))).order())
    assert sorted(order) == sorted(names)
    for one in migrations:
        assert all(order.index(parent) < order.index(one.revision) for parent in one.down_revisions)


# --- against a history ------------------------------------------------------------------------------------------------


def test_an_unapplied_ancestor_of_an_applied_revision_is_out_of_order_and_does_not_let_004_slip_past():
    applied = {"001", "003"}
    assert CHAIN.out_of_order(applied) == ("002",)
    assert ids(CHAIN.pending("head", applied)) == ["002", "004"]
    assert ids(CHAIN.pending("+1", applied)) == ["002"]


def test_two_heads_joined_by_a_merge_are_not_out_of_order():
    assert MERGED.out_of_order({"001", "002a", "003a"}) == ()
    assert MERGED.out_of_order({"001", "002b"}) == ()
    assert ids(MERGED.pending("head", {"001", "002a", "003a"})) == ["002b", "004m", "005"]


def test_a_branch_that_an_applied_merge_builds_on_is_out_of_order():
    assert MERGED.out_of_order({"001", "002a", "003a", "004m"}) == ("002b",)


def test_out_of_order_is_about_ancestors_and_not_about_ids():
    graph = Graph([migration("005"), migration("001", "005"), migration("003", "001")])
    assert graph.out_of_order({"005", "001"}) == ()
    assert graph.out_of_order({"003"}) == ("005", "001")


def test_current_is_what_no_other_applied_revision_builds_on():
    assert CHAIN.current({"001", "002"}) == ("002",)
    assert CHAIN.current({"001", "003"}) == ("003",)
    assert MERGED.current({"001", "002a", "002b"}) == ("002a", "002b")
    assert MERGED.current({"001", "002a", "002b", "003a", "004m"}) == ("004m",)
    assert CHAIN.current(()) == ()


def test_an_applied_revision_without_a_file_is_missing_and_changes_nothing_else():
    applied = {"001", "zzz"}
    assert CHAIN.missing(applied) == ("zzz",)
    assert CHAIN.current(applied) == ("001",)
    assert CHAIN.out_of_order(applied) == ()
    assert ids(CHAIN.pending("head", applied)) == ["002", "003", "004"]
    assert ids(CHAIN.to_undo("base", applied)) == ["001"]


@pytest.mark.parametrize(
    ("graph", "target", "applied", "undone"),
    [
        (CHAIN, "002", "001 002 003 004", ["004", "003"]),
        (CHAIN, "base", "001 002 003", ["003", "002", "001"]),
        (CHAIN, "-1", "001 002 003", ["003"]),
        (CHAIN, "-3", "001 002 003", ["003", "002", "001"]),
        (CHAIN, "003-1", "001 002 003 004", ["004", "003"]),
        (CHAIN, "003", "001 002 003", []),
        (CHAIN, "-1", "001 003", ["003"]),
        (MERGED, "-1", "001 002a 002b 003a 004m", ["004m"]),
        (MERGED, "002b", "001 002a 002b 003a 004m 005", ["005", "004m"]),
        (MERGED, "001", "001 002a 002b 003a 004m", ["004m", "003a", "002b", "002a"]),
    ],
)
def test_a_downgrade_undoes_what_builds_on_the_target_newest_first(
    graph: Graph, target: str, applied: str, undone: list[str]
):
    assert ids(graph.to_undo(target, set(applied.split()))) == undone


def test_a_downgrade_to_what_is_not_applied_is_refused():
    assert refused(CHAIN.to_undo, "003", {"001"}).code == "not-applied"
    assert refused(CHAIN.to_undo, "+1", {"001"}).code == "not-applied"


# --- targets ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("graph", "target", "applied", "found"),
    [
        (CHAIN, "head", "", ("004",)),
        (CHAIN, "heads", "", ("004",)),
        (FORKED, "heads", "", ("002a", "002b")),
        (CHAIN, "base", "001", ()),
        (CHAIN, "002", "", ("002",)),
        (MERGED, "004", "", ("004m",)),
        (CHAIN, "+1", "", ("001",)),
        (CHAIN, "+2", "001", ("003",)),
        (CHAIN, "+0", "001 002", ("002",)),
        (CHAIN, "-0", "001 002", ("002",)),
        (CHAIN, "-1", "001 002", ("001",)),
        (CHAIN, "-2", "001 002", ()),
        (CHAIN, "002+1", "", ("003",)),
        (CHAIN, "002-1", "", ("001",)),
        (CHAIN, "002-2", "", ()),
        (CHAIN, "head-1", "", ("003",)),
        (CHAIN, "base+2", "", ("002",)),
        (FORKED, "+1", "001 002a", ("002a", "002b")),
        (MERGED, "005-1", "", ("004m",)),
    ],
)
def test_a_target_names_the_topmost_revisions(graph: Graph, target: str, applied: str, found: tuple[str, ...]):
    assert graph.resolve(target, set(applied.split())) == found


@pytest.mark.parametrize(
    ("graph", "target", "applied", "code"),
    [
        (FORKED, "head", "", "multiple-heads"),
        (FORKED, "head-1", "", "multiple-heads"),
        (FORKED, "+1", "001", "multiple-heads"),
        (FORKED, "-1", "001 002a 002b", "ambiguous-target"),
        (FORKED, "001+1", "", "ambiguous-target"),
        (MERGED, "004m-1", "", "ambiguous-target"),
        (MERGED, "-2", "001 002a 002b 003a 004m", "ambiguous-target"),
        (CHAIN, "00", "", "ambiguous-revision"),
        (CHAIN, "99", "", "unknown-revision"),
        (CHAIN, "", "", "unknown-revision"),
        (CHAIN, "HEAD", "", "unknown-revision"),
        (CHAIN, "heads+1", "", "unknown-revision"),
        (CHAIN, "+", "", "unknown-revision"),
        (CHAIN, "add_index", "", "unknown-revision"),
        (CHAIN, "+5", "", "no-such-target"),
        (CHAIN, "-2", "001", "no-such-target"),
        (CHAIN, "002-3", "", "no-such-target"),
        (CHAIN, "004+1", "", "no-such-target"),
    ],
)
def test_an_unclear_target_is_refused(graph: Graph, target: str, applied: str, code: str):
    assert refused(graph.resolve, target, set(applied.split())).code == code


def test_two_heads_are_named_with_the_way_to_join_them():
    error = refused(FORKED.pending, "head", set())
    assert "002a (migrations/002a.py)" in error.message
    assert "002b (migrations/002b.py)" in error.message
    assert "migrator merge 002a 002b" in (error.hint or "")


def test_a_whole_id_goes_before_those_that_it_begins():
    assert chain("1", "10", "100").resolve("1", ()) == ("1",)


def test_an_ambiguous_prefix_shows_what_it_begins():
    assert "001, 002, 003, 004" in refused(CHAIN.find, "00").message


def test_a_long_chain_needs_no_recursion():
    names = [f"{n:05}" for n in range(5000)]
    long = chain(*names)
    assert len(long.ancestors("04999")) == 4999
    assert len(long.pending("head", set())) == 5000
