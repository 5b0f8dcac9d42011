from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import pytest

from migrator.core.change import Change, Check
from migrator.core.item import Item, Key, fingerprint, from_python, key_of
from migrator.core.schema import Index as IndexShape
from migrator.core.schema import KeyAttribute, Table, key_attributes
from migrator.core.template import Template
from migrator.core.transform import (
    Decided,
    Decider,
    Decision,
    Failed,
    NotSelected,
    Skipped,
    Transform,
    Unchanged,
    index_key_problem,
    takes_lookup,
)
from migrator.core.view import ItemView, Lookup
from migrator.core.where import Absent, Exists
from migrator.errors import ServiceError

INDEXES = (
    Table("app", KeyAttribute("PK"), KeyAttribute("SK"))
    .with_index(IndexShape("ByOwner", key_attributes("owner"), key_attributes("at")))
    .with_index(IndexShape("ByScore", (KeyAttribute("score", "N"),), (KeyAttribute("hash", "B"),)))
)


class Reads:
    def __init__(self, *items: Item):
        self.items = items

    def get(self, alias: str, key: Key) -> Item | None:
        return next((i for i in self.items if fingerprint(key_of(i, ("PK", "SK"))) == fingerprint(key)), None)

    def collection(self, alias: str, partition: Key, most: int) -> Sequence[Item]:
        return [item for item in self.items if item["PK"] == partition["PK"]][: most + 1]

    def key_names(self, alias: str) -> tuple[str, ...]:
        return ("PK", "SK")

    def physical(self, alias: str) -> str:
        return alias


def item(pk: str = "p", sk: str = "s", **attributes: Any) -> dict[str, Any]:
    return {name: from_python(value) for name, value in {"PK": pk, "SK": sk, **attributes}.items()}


def decide(transform: Transform, one: Item, *others: Item) -> Decision:
    return Decider(transform, "app", ("PK", "SK"), INDEXES.index_key_types(), Reads(one, *others)).decide(one)


def by(function: Callable[..., Mapping[str, Any] | None], **options: Any) -> Transform:
    return Transform(function=function, **options)


def templates(**sources: str) -> dict[str, Template]:
    return {name: Template.parse(source) for name, source in sources.items()}


def failure(decision: Decision) -> str:
    assert isinstance(decision, Failed), decision
    return decision.code


def change(decision: Decision) -> Change:
    assert isinstance(decision, Decided), decision
    return decision.change


# --- templates --------------------------------------------------------------------------------------------------------


def test_a_template_reads_and_guards_what_it_names_and_what_it_replaces() -> None:
    work = Transform(where={"entity": "Task"}, set=templates(owner="USER#{user}"))
    found = change(decide(work, item(entity="Task", user="u1", other="x")))
    assert found.set == {"owner": {"S": "USER#u1"}}
    assert found.guard == {"entity": {"S": "Task"}, "user": {"S": "u1"}, "owner": None}
    assert found.remove == frozenset()
    assert found.checks == ()


def test_the_key_is_never_guarded_beside_itself() -> None:
    found = change(decide(Transform(set=templates(owner="{PK}#{SK}")), item()))
    assert found.guard == {"owner": None}


def test_an_item_that_is_right_already_is_not_written() -> None:
    work = Transform(set={**templates(owner="U#{user}"), "n": {"N": "1"}}, remove=("old",))
    assert decide(work, item(user="u", owner="U#u", n=Decimal("1.0"))) == Unchanged()


def test_an_item_that_where_does_not_select_is_left() -> None:
    assert decide(Transform(where={"entity": "Task"}, set=templates(a="{b}")), item(entity="User")) == NotSelected()


def test_a_value_replaced_is_guarded_as_it_was_read() -> None:
    found = change(decide(Transform(set={"n": {"N": "2"}}), item(n=Decimal("1.50"))))
    assert found.guard == {"n": {"N": "1.50"}}


@pytest.mark.parametrize(
    ("missing", "outcome"),
    [("fail", "template-attribute-absent"), ("skip", Skipped("user")), ("remove", {"owner"})],
)
def test_an_absent_attribute_fails_skips_or_removes(missing: Any, outcome: Any) -> None:
    decision = decide(Transform(set=templates(owner="U#{user}"), missing=missing), item(owner="old"))
    if isinstance(decision, Failed):
        assert decision.code == outcome
        assert "missing='skip'" in decision.message
    elif isinstance(decision, Skipped):
        assert decision == outcome
    else:
        assert change(decision).remove == outcome
        assert change(decision).guard == {"owner": {"S": "old"}, "user": None}


def test_removing_for_an_absent_attribute_leaves_an_item_without_the_target_alone() -> None:
    assert decide(Transform(set=templates(owner="{user}"), missing="remove"), item()) == Unchanged()


def test_a_skipped_item_is_not_changed_in_part() -> None:
    work = Transform(set=templates(a="{b}", c="{d}"), missing="skip")
    assert decide(work, item(b="x")) == Skipped("d")


def test_a_template_over_a_value_that_is_no_text_fails_the_item() -> None:
    assert failure(decide(Transform(set=templates(owner="U#{user}")), item(user=["u"]))) == "template-type"


@pytest.mark.parametrize(
    "name",
    ["State", "Date", "name", "ttl", "size", "State#Date", "GSI1-PK", "follower#", "_x", "a b", "a.b", "ümlaut"],
)
def test_any_name_can_be_source_and_target(name: str) -> None:
    target = "to " + name
    work = Transform(where={name: Exists()}, set={target: Template.parse("X#{" + name + "}")}, remove=(name + "!",))
    found = change(decide(work, item(**{name: "v", name + "!": "gone"})))
    assert found.set == {target: {"S": "X#v"}}
    assert found.remove == {name + "!"}
    assert set(found.guard) == {name, target, name + "!"}


# --- renames, copies, removals ----------------------------------------------------------------------------------------


def test_a_rename_moves_the_value_and_guards_both_names() -> None:
    found = change(decide(Transform(rename={"old": "new"}), item(old=5)))
    assert (found.set, found.remove) == ({"new": {"N": "5"}}, {"old"})
    assert found.guard == {"old": {"N": "5"}, "new": None}


def test_a_rename_finishes_where_both_names_agree() -> None:
    found = change(decide(Transform(rename={"old": "new"}), item(old=Decimal("5.0"), new=5)))
    assert (found.set, found.remove) == ({}, {"old"})
    assert found.guard == {"old": {"N": "5.0"}, "new": {"N": "5"}}


def test_a_copy_leaves_the_old_name() -> None:
    work = Transform(copy={"old": "new"})
    found = change(decide(work, item(old=5)))
    assert (found.set, found.remove) == ({"new": {"N": "5"}}, frozenset())
    assert decide(work, item(old=5, new=5)) == Unchanged()
    assert work.targets == {"new"}
    assert work.is_provably_idempotent


@pytest.mark.parametrize("work", [Transform(rename={"old": "new"}), Transform(copy={"old": "new"})])
def test_two_names_with_different_values_are_a_conflict(work: Transform) -> None:
    assert failure(decide(work, item(old="a", new="b"))) == "rename-conflict"


@pytest.mark.parametrize("work", [Transform(rename={"old": "new"}), Transform(copy={"old": "new"})])
def test_an_item_without_the_old_name_is_unchanged(work: Transform) -> None:
    assert decide(work, item(new="b")) == Unchanged()
    assert decide(work, item()) == Unchanged()


# --- functions --------------------------------------------------------------------------------------------------------


def title(one: ItemView) -> dict[str, Any] | None:
    if one.get("status") == "DONE":
        return None
    return {"title": one["name"].strip().title(), "legacy": None}


def test_a_functions_reads_are_guarded_and_none_removes() -> None:
    found = change(decide(by(title), item(name=" write copy ", legacy=1, other="x")))
    assert found.set == {"title": {"S": "Write Copy"}}
    assert found.remove == {"legacy"}
    assert found.guard == {
        "status": None,
        "name": {"S": " write copy "},
        "title": None,
        "legacy": {"N": "1"},
    }


def test_none_and_an_empty_mapping_mean_no_change() -> None:
    assert decide(by(title), item(status="DONE")) == Unchanged()
    assert decide(by(lambda one: {}), item()) == Unchanged()


def test_removing_what_is_absent_is_no_change() -> None:
    assert decide(by(lambda one: {"gone": None}), item()) == Unchanged()


@pytest.mark.parametrize(
    ("function", "code"),
    [
        (lambda one: {"price": 1.5}, "float-value"),
        (lambda one: {"price": [Decimal(1), {"x": 0.1}]}, "float-value"),
        (lambda one: {"n": 10**40 + 1}, "number-range"),
        (lambda one: {"s": set()}, "empty-set"),
        (lambda one: {"s": object()}, "unknown-type"),
        (lambda one: {1: "x"}, "transform-result"),
        (lambda one: {"": "x"}, "transform-result"),
        (lambda one: "x", "transform-result"),
        (lambda one: one, "transform-result"),
        (lambda one: {"copy": one}, "reads-whole-item"),
        (lambda one: dict(one), "reads-whole-item"),
        (lambda one: copy.deepcopy(one), "reads-whole-item"),
        (lambda one: {**one, "x": 1}, "reads-whole-item"),
        (lambda one: {"n": len(one)}, "reads-whole-item"),
        (lambda one: {"x": one["absent"]}, "transform-error"),
        (lambda one: {"x": 1 // 0}, "transform-error"),
        (lambda one: {"PK": "other"}, "table-key"),
        (lambda one: {"SK": None}, "table-key"),
    ],
)
def test_what_a_function_did_wrong_fails_the_item_with_a_code(function: Any, code: str) -> None:
    assert failure(decide(by(function), item())) == code


def test_a_float_is_named_with_its_attribute_and_the_way_out() -> None:
    decision = decide(by(lambda one: {"price": {"eur": 1.5}}), item())
    assert isinstance(decision, Failed)
    assert "price.eur" in decision.message
    assert "Decimal" in decision.message


def test_an_error_of_the_service_in_a_lookup_stops_the_step_and_not_the_item() -> None:
    class Broken(Reads):
        def get(self, alias: str, key: Key) -> Item | None:
            raise ServiceError("credentials-expired", "the session has ended")

    work = by(lambda one, lookup: {"x": lookup.get({"PK": "q", "SK": "r"})})
    with pytest.raises(ServiceError):
        Decider(work, "app", ("PK", "SK"), {}, Broken()).decide(item())


# --- idempotence ------------------------------------------------------------------------------------------------------


def appended(one: ItemView) -> dict[str, Any]:
    return {"name": one["name"] + "!"}


def test_a_step_that_changes_its_own_result_again_is_refused() -> None:
    assert failure(decide(by(appended), item(name="x"))) == "not-idempotent"
    assert failure(decide(Transform(set=templates(name="{name}!")), item(name="x"))) == "not-idempotent"


def test_once_lets_it_through() -> None:
    assert change(decide(by(appended, once=True), item(name="x"))).set == {"name": {"S": "x!"}}
    work = Transform(set=templates(name="{name}!"), once=True)
    assert change(decide(work, item(name="x"))).set == {"name": {"S": "x!"}}


def test_a_where_that_the_result_no_longer_meets_makes_a_step_idempotent() -> None:
    work = Transform(where={"v": Absent()}, set={**templates(name="{name}!"), "v": {"N": "2"}})
    assert change(decide(work, item(name="x"))).set == {"name": {"S": "x!"}, "v": {"N": "2"}}


def test_a_step_that_would_fail_on_its_own_result_is_refused_at_once() -> None:
    work = Transform(set=templates(new="X#{old}"), remove=("old",))
    assert failure(decide(work, item(old="1"))) == "not-idempotent"
    selected = Transform(where={"old": Exists()}, set=templates(new="X#{old}"), remove=("old",))
    assert change(decide(selected, item(old="1"))).remove == {"old"}
    skipping = Transform(set=templates(new="X#{old}"), remove=("old",), missing="skip")
    assert change(decide(skipping, item(old="1"))).remove == {"old"}


def test_a_function_that_looks_at_itself_by_lookup_is_judged_by_its_result() -> None:
    def counts(one: ItemView, lookup: Lookup) -> dict[str, Any]:
        itself = lookup.get({"PK": one["PK"], "SK": one["SK"]})
        assert itself is not None
        return {"n": itself.get("n", 0) + 1}

    assert failure(decide(by(counts), item(n=1))) == "not-idempotent"


@pytest.mark.parametrize(
    ("work", "proven"),
    [
        (Transform(set=templates(a="{b}#{c}")), True),
        (Transform(set={"a": {"S": "x"}}, remove=("b",), rename={"c": "d"}), True),
        (Transform(set=templates(a="{a}!")), False),
        (Transform(set=templates(a="{b}", b="{c}")), False),
        (Transform(set=templates(a="{b}"), remove=("b",)), False),
        (Transform(set=templates(a="{d}"), rename={"c": "d"}), False),
        (Transform(set=templates(a="{b}"), version="v"), False),
        (by(title), False),
    ],
)
def test_idempotence_is_proven_where_no_template_reads_what_is_written(work: Transform, proven: bool) -> None:
    assert work.is_provably_idempotent is proven


# --- lookups ----------------------------------------------------------------------------------------------------------


def project_name(one: ItemView, lookup: Lookup) -> dict[str, Any]:
    project = lookup.get({"PK": one["project"], "SK": "META"})
    return {"projectName": None if project is None else project["name"]}


def test_what_was_looked_up_is_checked_with_the_write() -> None:
    found = change(decide(by(project_name), item(project="P1"), item("P1", "META", name="Launch", other="x")))
    assert found.set == {"projectName": {"S": "Launch"}}
    key = {"PK": {"S": "P1"}, "SK": {"S": "META"}}
    assert found.checks == (Check("app", key, present=True, guard={"name": {"S": "Launch"}}),)


def test_a_looked_up_absence_is_checked_too() -> None:
    found = change(decide(by(project_name), item(project="P1", projectName="old")))
    assert found.remove == {"projectName"}
    assert [check.present for check in found.checks] == [False]


def member_count(one: ItemView, lookup: Lookup) -> dict[str, Any]:
    return {"members": len(lookup.collection())}


def test_a_step_that_reads_collections_repeats() -> None:
    decision = decide(by(member_count), item(), item(sk="m1"), item(sk="m2"))
    assert isinstance(decision, Decided)
    assert decision.repeats
    assert change(decision).set == {"members": {"N": "2"}}
    assert len(change(decision).checks) == 2


def reads_all(one: ItemView, lookup: Lookup) -> dict[str, Any]:
    return {"total": sum(len(str(other.get(f"a{n}", ""))) for other in lookup.collection() for n in range(200))}


def test_looked_up_attributes_beyond_one_guard_fail_the_item() -> None:
    assert failure(decide(by(reads_all), item(), item(sk="m1"))) == "lookup-too-wide"


def test_looked_up_values_beyond_one_transaction_fail_the_item() -> None:
    def reads_big(one: ItemView, lookup: Lookup) -> dict[str, Any]:
        return {"total": sum(len(other["big"]) for other in lookup.collection())}

    others = [item(sk=f"m{n}", big="x" * 350_000) for n in range(12)]
    assert failure(decide(by(reads_big), item(), *others)) == "lookup-too-wide"
    assert change(decide(by(reads_big), item(), *others[:5])).set == {"total": {"N": str(5 * 350_000)}}


def test_too_many_lookups_fail_the_item() -> None:
    others = [item(sk=f"m{n:03}") for n in range(98)]
    assert failure(decide(by(member_count), item(), *others)) == "lookup-too-wide"


def test_a_lookup_is_asked_for_by_the_second_parameter() -> None:
    assert takes_lookup(project_name)
    assert not takes_lookup(title)


# --- version ----------------------------------------------------------------------------------------------------------


def everything(one: ItemView) -> dict[str, Any]:
    return {"names": sorted(set(one) - {"names", "v"})}


def test_a_version_lets_the_function_read_everything_and_is_guarded_and_raised() -> None:
    found = change(decide(by(everything, version="v"), item(a=1, v=41)))
    assert found.guard == {"v": {"N": "41"}, "names": None}
    assert found.set["v"] == {"N": "42"}
    assert found.set["names"] == from_python(["PK", "SK", "a"])


def test_the_first_version_is_one_and_its_absence_is_guarded() -> None:
    found = change(decide(by(everything, version="v"), item()))
    assert found.guard["v"] is None
    assert found.set["v"] == {"N": "1"}


def test_a_version_is_not_raised_for_an_item_that_is_right() -> None:
    assert decide(by(everything, version="v"), item(names=["PK", "SK"], v=3)) == Unchanged()


@pytest.mark.parametrize(("version", "raised"), [(Decimal("1E+3"), "1001"), (10**37, str(10**37 + 1))])
def test_a_version_counts_exactly(version: Any, raised: str) -> None:
    assert change(decide(by(everything, version="v"), item(v=version))).set["v"] == {"N": raised}


@pytest.mark.parametrize("version", ["7", Decimal("1.5"), None])
def test_a_version_that_is_no_whole_number_fails_the_item(version: Any) -> None:
    assert failure(decide(by(everything, version="v"), item(v=version))) == "version-type"


# --- index keys and limits --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("attribute", "value", "code"),
    [
        ("owner", 5, "index-key-type"),
        ("owner", "", "index-key-empty"),
        ("owner", "ü" * 1025, "index-key-size"),
        ("owner", True, "index-key-type"),
        ("at", "x" * 1025, "index-key-size"),
        ("score", "high", "index-key-type"),
        ("hash", b"", "index-key-empty"),
        ("hash", b"x" * 1025, "index-key-size"),
        ("hash", "x", "index-key-type"),
    ],
)
def test_a_value_that_an_index_would_not_take_fails_the_item(attribute: str, value: Any, code: str) -> None:
    decision = decide(by(lambda one: {attribute: value}), item())
    assert failure(decision) == code
    assert isinstance(decision, Failed)
    assert "key of index" in decision.message


@pytest.mark.parametrize(
    ("attribute", "value"),
    [("owner", "ü" * 1024), ("at", "x" * 1024), ("score", 0), ("hash", b"x"), ("owner", None), ("free", "")],
)
def test_a_value_at_the_limit_or_of_no_index_is_taken(attribute: str, value: Any) -> None:
    before = item(**{attribute: "x"}) if attribute in ("owner", "free") else item()
    assert isinstance(decide(by(lambda one: {attribute: value}), before), Decided)


def test_null_is_no_index_key() -> None:
    assert failure(decide(Transform(set={"owner": {"NULL": True}}), item())) == "index-key-null"


def test_an_old_violation_that_the_step_does_not_touch_does_not_fail_it() -> None:
    assert change(decide(Transform(set={"x": {"S": "y"}}), item(owner=5))).set == {"x": {"S": "y"}}


@pytest.mark.parametrize(
    ("value", "kind", "role", "code"),
    [
        ({"S": "x" * 2048}, "S", "partition", None),
        ({"S": "x" * 2049}, "S", "partition", "index-key-size"),
        ({"S": "x" * 1024}, "S", "sort", None),
        ({"S": "x" * 1025}, "S", "sort", "index-key-size"),
        ({"N": "0"}, "N", "partition", None),
        ({"B": b""}, "B", "sort", "index-key-empty"),
        ({"NULL": True}, "S", "sort", "index-key-null"),
        ({"L": []}, "S", "sort", "index-key-type"),
    ],
)
def test_index_key_problems(value: Any, kind: Any, role: Any, code: str | None) -> None:
    problem = index_key_problem(value, kind, role)
    assert (None if problem is None else problem[0]) == code


def test_a_guard_beyond_the_services_limits_fails_the_item() -> None:
    def reads_many(one: ItemView) -> dict[str, Any]:
        return {"n": sum(one.get(f"a{n}", 0) for n in range(200))}

    assert failure(decide(by(reads_many), item())) == "guard-too-large"


def test_a_change_applied_to_an_item_touches_nothing_else() -> None:
    one = item(a=1, b=2)
    found = Change(guard={}, set={"a": {"N": "3"}, "c": {"S": "x"}}, remove=frozenset({"b"}))
    assert found.applied_to(one) == {**item(a=3), "c": {"S": "x"}}
    assert one == item(a=1, b=2)


# --- undo by removal --------------------------------------------------------------------------------------------------


def undo(transform: Transform, one: Item) -> Decision:
    return Decider(transform, "app", ("PK", "SK"), {}, Reads(one)).decide_undo(one)


OWNER = Transform(where={"entity": "Task"}, set=templates(owner="U#{user}", kind="Task"))


def test_undo_removes_what_is_still_as_written_and_guards_what_it_rests_on() -> None:
    found = change(undo(OWNER, item(entity="Task", user="u", owner="U#u", kind="Task")))
    assert (found.set, found.remove) == ({}, {"owner", "kind"})
    assert found.guard == {
        "entity": {"S": "Task"}, "user": {"S": "u"}, "owner": {"S": "U#u"}, "kind": {"S": "Task"}
    }  # fmt: skip


def test_undo_leaves_what_the_application_wrote() -> None:
    assert change(undo(OWNER, item(entity="Task", user="u", owner="other", kind="Task"))).remove == {"kind"}
    assert undo(OWNER, item(entity="Task", user="u", owner="other")) == Unchanged()
    assert undo(OWNER, item(entity="User", user="u", owner="U#u")) == NotSelected()


def test_undo_leaves_an_item_that_the_step_could_not_change() -> None:
    assert undo(OWNER, item(entity="Task")) == Unchanged()
    assert undo(OWNER, item(entity="Task", owner="U#u")) == Unchanged()
    assert undo(OWNER, item(entity="Task", user=["u"], owner="U#u")) == Unchanged()


def test_undo_of_a_copy_removes_the_new_name_where_it_equals_the_old() -> None:
    copied = Transform(copy={"old": "new"})
    assert change(undo(copied, item(old=5, new=Decimal("5.0")))).remove == {"new"}
    assert undo(copied, item(old=5, new=6)) == Unchanged()
    assert undo(copied, item(new=5)) == Unchanged()


def test_undo_selects_as_the_item_was_and_guards_as_it_is() -> None:
    work = Transform(where={"kind": Absent()}, set=templates(kind="Task", owner="U#{user}"))
    assert change(undo(work, item(user="u", kind="Task", owner="U#u"))).remove == {"kind", "owner"}
    found = change(undo(work, item(user="u", kind="Bug", owner="U#u")))
    assert found.remove == {"owner"}
    assert found.guard == {"user": {"S": "u"}, "owner": {"S": "U#u"}, "kind": {"S": "Bug"}}


def test_a_where_that_raises_on_one_item_fails_that_item_alone() -> None:
    def is_task(one: ItemView) -> bool:
        return bool(one["entity"] == "Task")

    work = Transform(where=is_task, set=templates(owner="U#{user}"))
    assert failure(undo(work, item(user="u", owner="U#u"))) == "transform-error"


@pytest.mark.parametrize(
    ("work", "can"),
    [
        (Transform(set=templates(a="{b}")), True),
        (Transform(copy={"a": "b"}), True),
        (Transform(remove=("a",)), False),
        (Transform(set=templates(a="{b}"), rename={"c": "d"}), False),
        (Transform(set=templates(a="{b}"), once=True), False),
        (Transform(set=templates(a="{b}"), version="v"), False),
        (by(title), False),
    ],
)
def test_removal_restores_only_where_the_step_adds_and_nothing_else(work: Transform, can: bool) -> None:
    assert work.can_be_undone_by_removal is can
