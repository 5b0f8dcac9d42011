"""Names and numbers of attributes that trip tools up."""

from __future__ import annotations

import pytest

from tests.e2e.project import Project

AWKWARD = ("State", "Date", "name", "ttl", "size", "State#Date", "GSI1-PK", "follower#", "_x", "a b", "a.b", "ümlaut")

NUMBERS = (
    "1318796827993409899",
    "110111111111111110000000000000000000000",
    "9" * 38,
    "0." + "0" * 129 + "1",
    "-0",
    "1.50",
    "1E-130",
    "-9.9999999999999999999999999999999999999E+125",
)


def test_awkward_names_work_as_target_template_field_and_condition(project: Project) -> None:
    sources = {name: {"S": f"value {number}"} for number, name in enumerate(AWKWARD)}
    project.put([{"PK": {"S": "P"}, "SK": {"S": "1"}, **sources}, {"PK": {"S": "P"}, "SK": {"S": "2"}}])
    where = {name: sources[name]["S"] for name in AWKWARD}
    targets = {f"{name}2": f"<{{{name}}}>" for name in AWKWARD}
    project.migration("0001", f"Backfill(where={where!r}, set={targets!r}),")
    project.ok("upgrade", "--from-base")
    by_key = {item["SK"]["S"]: item for item in project.items()}
    written = {name: by_key["1"].get(f"{name}2") for name in AWKWARD}
    assert written == {name: {"S": f"<{sources[name]['S']}>"} for name in AWKWARD}
    assert by_key["2"].keys() == {"PK", "SK"}
    project.ok("downgrade", "base")
    assert {item["SK"]["S"]: item for item in project.items()}["1"].keys() == {"PK", "SK", *AWKWARD}


def test_awkward_names_work_as_what_a_backfill_writes_over(project: Project) -> None:
    project.put([{"PK": {"S": "P"}, "SK": {"S": "1"}, **{name: {"S": "old"} for name in AWKWARD}}])
    project.migration("0001", f"Backfill(set={dict.fromkeys(AWKWARD, 'new')!r}, undo='journal'),")
    project.ok("upgrade", "--from-base")
    assert project.items()[0] == {"PK": {"S": "P"}, "SK": {"S": "1"}, **{name: {"S": "new"} for name in AWKWARD}}
    project.ok("downgrade", "base")
    assert project.items()[0] == {"PK": {"S": "P"}, "SK": {"S": "1"}, **{name: {"S": "old"} for name in AWKWARD}}


def test_awkward_names_work_as_index_keys_and_in_projections(project: Project) -> None:
    pairs = list(zip(AWKWARD[::2], AWKWARD[1::2], strict=True))
    project.put([{"PK": {"S": "P"}, "SK": {"S": "1"}, **{name: {"S": f"is {name}"} for name in AWKWARD}}])
    indexes = [
        f'AddIndex("index-{number}", partition_key={one!r}, projection=[{other!r}]),'
        for number, (one, other) in enumerate(pairs)
    ]
    project.migration("0001", "\n".join(indexes))
    project.ok("upgrade", "--from-base")
    for number, (one, other) in enumerate(pairs):
        (found,) = project.items(index=f"index-{number}")
        assert found == {"PK": {"S": "P"}, "SK": {"S": "1"}, one: {"S": f"is {one}"}, other: {"S": f"is {other}"}}
    with project.changing_nothing():
        project.ok("upgrade")


@pytest.mark.parametrize("name", ["a.b", "State#Date"])
def test_a_name_with_a_dot_or_a_hash_is_one_top_level_attribute(project: Project, name: str) -> None:
    project.put([{"PK": {"S": "P"}, "SK": {"S": "1"}, "a": {"M": {"b": {"S": "nested"}}}, name: {"S": "top"}}])
    project.migration("0001", f"Backfill(set={{{name + '2'!r}: '{{{name}}}!'}}),")
    project.ok("upgrade", "--from-base")
    (item,) = project.items()
    assert item[f"{name}2"] == {"S": "top!"}
    assert item["a"] == {"M": {"b": {"S": "nested"}}}


def test_attributes_that_a_backfill_does_not_name_stay_byte_for_byte(project: Project) -> None:
    untouched = {
        **{f"n{number}": {"N": text} for number, text in enumerate(NUMBERS)},
        "numbers": {"NS": list(NUMBERS[:3])},
        "bytes": {"B": b"\x00\xff"},
        "nested": {"M": {"list": {"L": [{"N": NUMBERS[1]}, {"NULL": True}, {"BOOL": False}]}}},
        "empty": {"S": ""},
    }
    project.put([{"PK": {"S": "P"}, "SK": {"S": "1"}, "owner": {"S": "o"}, **untouched}])
    (before,) = project.items()
    project.migration("0001", 'Backfill(set={"GSI1PK": "OWNER#{owner}"}),\nRenameAttribute("owner", "holder"),')
    project.ok("upgrade", "--from-base", "--offline", "--yes")
    (after,) = project.items()
    assert {name: after[name] for name in untouched} == {name: before[name] for name in untouched}
    assert after["GSI1PK"] == {"S": "OWNER#o"}
    assert after["holder"] == {"S": "o"}
    sent = [one.body for one in project.sent(lambda one: one.writes_items)]
    assert not [name for name in untouched if any(name in body["ExpressionAttributeNames"].values() for body in sent)]


def test_a_number_that_a_rename_moves_keeps_all_its_digits(project: Project) -> None:
    project.put([{"PK": {"S": "P"}, "SK": {"S": str(place)}, "old": {"N": text}} for place, text in enumerate(NUMBERS)])
    before = {item["SK"]["S"]: item["old"] for item in project.items()}
    project.migration("0001", 'RenameAttribute("old", "new"),')
    project.ok("upgrade", "--from-base", "--offline", "--yes")
    assert {item["SK"]["S"]: item["new"] for item in project.items()} == before
    assert not [item for item in project.items() if "old" in item]


def test_a_float_from_a_transform_is_a_failed_item_that_says_to_use_decimal(project: Project) -> None:
    project.put([{"PK": {"S": "P"}, "SK": {"S": "1"}}])
    project.migration("0001", "Backfill(transform=half),", code="def half(item):\n    return {'half': 0.5}\n")
    project.ok("upgrade", "--from-base", code=6)
    done = project.ok("failed", "list", code=6)
    assert "Decimal" in done.out, done
