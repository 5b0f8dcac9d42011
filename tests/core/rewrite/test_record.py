"""A rewrite in its language-neutral form: read back exactly, held to the schema, and refused where it is damaged."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from migrator.control.phases import ATTEMPT_MS, READER_LEASE_MS, PhaseRecord, Verified
from migrator.core.item import Item, same_item
from migrator.core.item import to_json as item_to_json
from migrator.core.rewrite.form import Form
from migrator.core.rewrite.phases import PHASES
from migrator.core.rewrite.record import from_json, to_json
from migrator.core.rewrite.rewrite import Rewrite
from migrator.core.rewrite.route import Image, Route
from migrator.core.schema import KeyAttribute
from migrator.core.view import ItemView
from migrator.core.where import Absent, BeginsWith, Exists, OneOf
from migrator.errors import MigratorError, UsageError
from tests.core.rewrite import routes
from tests.core.rewrite.routes import ALL, GAME, LOWER, MERGED, lower
from tests.core.rewrite.test_properties import NAMES, VALUE, old_items
from tests.core.rewrite.world import wire

SCHEMA = json.loads((Path(__file__).resolve().parents[3] / "docs" / "phase-record.schema.json").read_text())
WHERE = {
    "PK": BeginsWith("USER#"),
    "kind": "user",
    "n": Decimal("1.50"),
    "set": frozenset({"b", "a"}),
    "bytes": b"\x00",
    "none": None,
    "flag": True,
    "here": Exists(),
    "gone": Absent(),
    "one": OneOf("x", Decimal(2), None),
    "map": {"a.b": [Decimal(1), "x"]},
}


def resolve(name: str) -> Callable[..., Any]:
    module, _, function = name.partition(":")
    assert module == routes.__name__
    found: Callable[..., Any] = getattr(routes, function)
    return found


def same_names(rewrite: Rewrite) -> dict[str, str]:
    return {alias: alias for alias in rewrite.tables}


def schema_errors(value: Any, schema: Mapping[str, Any], where: str = "$") -> list[str]:
    """What of JSON Schema the file uses: $ref, type, const, enum, required, properties, items, oneOf and bounds."""
    if "$ref" in schema:
        *_, name = schema["$ref"].split("/")
        return schema_errors(value, SCHEMA["$defs"][name], where)
    kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "null": type(None)}
    kind = schema.get("type")
    allowed = [kind] if isinstance(kind, str) else kind
    if allowed and not any(
        isinstance(value, kinds[one]) and not (one == "integer" and isinstance(value, bool)) for one in allowed
    ):
        return [f"{where}: not {kind}"]
    found = [f"{where}: not {schema['const']}"] if "const" in schema and value != schema["const"] else []
    found += [f"{where}: not in {schema['enum']}"] if "enum" in schema and value not in schema["enum"] else []
    found += [f"{where}: too small"] if "minimum" in schema and value < schema["minimum"] else []
    found += [f"{where}: too short"] if "minItems" in schema and len(value) < schema["minItems"] else []
    found += [f"{where}: too long"] if "maxItems" in schema and len(value) > schema["maxItems"] else []
    found += [f"{where}: too many"] if "maxProperties" in schema and len(value) > schema["maxProperties"] else []
    if "pattern" in schema and isinstance(value, str) and not re.search(schema["pattern"], value):
        found.append(f"{where}: not like {schema['pattern']}")
    if "oneOf" in schema:
        fits = [one for one in schema["oneOf"] if not schema_errors(value, one, where)]
        found += [] if len(fits) == 1 else [f"{where}: fits {len(fits)} of its forms"]
    if isinstance(value, dict):
        found += [f"{where}: lacks {name}" for name in schema.get("required", []) if name not in value]
        known = schema.get("properties", {})
        for name, one in value.items():
            rest = schema.get("additionalProperties", True)
            if name in known:
                found += schema_errors(one, known[name], f"{where}.{name}")
            elif rest is False:
                found.append(f"{where}: {name} is unknown")
            elif isinstance(rest, dict):
                found += schema_errors(one, rest, f"{where}.{name}")
    if isinstance(value, list) and "items" in schema:
        for n, one in enumerate(value):
            found += schema_errors(one, schema["items"], f"{where}[{n}]")
    return found


def document_of(rewrite: Rewrite) -> dict[str, Any]:
    return to_json(rewrite, same_names(rewrite))


@pytest.mark.parametrize("name", ALL)
def test_a_rewrite_is_read_back_as_it_was(name: str) -> None:
    rewrite = Rewrite((ALL[name],), application="mirror", moves=False, accept_duplicates_in=("by-email",))
    document = document_of(rewrite)
    assert from_json(document, resolve) == rewrite
    assert json.loads(json.dumps(document)) == document
    assert schema_errors(document, SCHEMA["$defs"]["rewrite"]) == []


def test_conditions_and_their_values_are_read_back_with_their_types() -> None:
    route = Route("a", "b", (KeyAttribute("PK"),), (KeyAttribute("k", "N"),), where=WHERE, key=Form.of({"k": "{n}"}))
    document = document_of(Rewrite((route,)))
    assert schema_errors(document, SCHEMA["$defs"]["rewrite"]) == []
    (back,) = from_json(document, resolve).routes
    assert back.where == WHERE
    assert document["routes"][0]["where"]["attributes"]["n"] == {"equals": {"N": "1.50"}}
    assert document_of(Rewrite((back,))) == document


def test_tables_are_physical_names_in_it_and_aliases_outside() -> None:
    names = {"users": "prod-users", "orders": "prod-orders", "stock": "prod-stock", "one": "prod-one"}
    document = to_json(MERGED, names)
    assert {route["target"] for route in document["routes"]} == {"prod-one"}
    assert from_json(document, resolve).sources == ("prod-users", "prod-orders", "prod-stock")
    assert from_json(document, resolve, {physical: alias for alias, physical in names.items()}) == MERGED


def test_the_document_does_not_depend_on_the_order_of_definitions() -> None:
    def route(names: list[str]) -> Route:
        where: dict[str, Any] = {name: frozenset({"b", "a", "c"}) for name in names}
        return Route("a", "b", (KeyAttribute("PK"),), (KeyAttribute("k"),), where=where,
                     set=Form.of(dict.fromkeys(names, "{PK}")))  # fmt: skip

    one, other = (json.dumps(document_of(Rewrite((route(names),)))) for names in (["x", "y"], ["y", "x"]))
    assert one == other


def test_a_function_is_named_by_where_it_can_be_imported() -> None:
    document = document_of(Rewrite((LOWER,)))
    assert document["routes"][0]["key"] == {"function": "tests.core.rewrite.routes:lower"}
    (route,) = from_json(document, resolve).routes
    assert route.key is lower

    def nested(_: ItemView) -> dict[str, Any]:
        return {}

    for function in (nested, lambda item: {}):
        with pytest.raises(UsageError) as caught:
            document_of(Rewrite((Route("a", "b", LOWER.source_key, LOWER.target_key, key=function),)))
        assert caught.value.code == "function-not-importable"


def test_a_later_format_is_refused() -> None:
    document = document_of(GAME) | {"format": 2}
    with pytest.raises(MigratorError) as caught:
        from_json(document, resolve)
    assert caught.value.code == "newer-record"


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, one in entries:
        found += _places(one, (*path, name))
    return found


@pytest.mark.parametrize("wrong", [None, 5, "x", ["x"], {"x": 1}, True])
def test_whatever_is_damaged_in_it_is_an_error_with_its_name_or_changes_nothing(wrong: Any) -> None:
    whole = document_of(Rewrite((Route("a", "b", (KeyAttribute("PK"),), (KeyAttribute("k"),), where=WHERE),)))
    for path in _places(whole):
        document = copy.deepcopy(whole)
        place: Any = document
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = wrong
        assert code_of(document) in (None, "damaged-record", "newer-record"), path


def code_of(document: dict[str, Any]) -> str | None:
    try:
        from_json(document, resolve)
    except MigratorError as exc:
        return exc.code
    return None


def test_a_field_that_is_missing_is_an_error_with_its_name() -> None:
    whole = document_of(GAME)
    for name in ("format", "application", "moves", "routes", "accept_duplicates_in"):
        with pytest.raises(MigratorError, match=name):
            from_json({key: value for key, value in whole.items() if key != name}, resolve)


@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_a_rewrite_that_was_read_back_makes_the_same_twins(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(ALL)))
    (back,) = from_json(document_of(Rewrite((ALL[name],))), resolve).routes
    item: Item = data.draw(old_items(name))
    one, other = ALL[name].twin_of(item), back.twin_of(item)
    assert type(one) is type(other)
    if isinstance(one, Image):
        assert isinstance(other, Image)
        assert same_item(one.item, other.item)


@settings(max_examples=30, deadline=None)
@given(st.dictionaries(st.sampled_from([name for name in NAMES if name]), VALUE, max_size=3))
def test_any_value_of_a_condition_is_read_back(values: Item) -> None:
    document = document_of(Rewrite((Route("a", "b", (KeyAttribute("PK"),), (KeyAttribute("k"),), where={"PK": "x"}),)))
    document["routes"][0]["where"]["attributes"] = {name: {"equals": _as_json(value)} for name, value in values.items()}
    (back,) = from_json(document, resolve).routes
    again = document_of(Rewrite((back,)))["routes"][0]["where"]["attributes"]
    assert again.keys() == values.keys()
    twice = document_of(from_json(document_of(Rewrite((back,))), resolve))["routes"][0]["where"]["attributes"]
    assert twice == again


def _as_json(value: Any) -> Any:
    return item_to_json({"": value})[""]


def test_the_phase_record_as_it_is_written_fits_its_schema() -> None:
    record = PhaseRecord("20260101000000", "1", "dual-write", 2, "2026-01-01T00:00:00+00:00", rewrite=document_of(GAME))
    assert schema_errors(record.body(), SCHEMA) == []
    later = replace(record, phase="cutover", waited=2, verified=Verified(2, "2026-01-01T00:00:00+00:00", 820))
    assert schema_errors(later.body(), SCHEMA) == []
    assert set(record.body()) == set(SCHEMA["properties"])
    assert schema_errors(record.body() | {"phase": "backfill", "generation": 0}, SCHEMA) == [
        "$.phase: not in ['expand', 'dual-write', 'cutover', 'contract', 'done']",
        "$.generation: too small",
    ]


def test_the_example_of_the_page_is_a_record_that_does_what_the_page_says() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "phase-record.md").read_text()
    (block,) = re.findall(r"^```json\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    body = json.loads(block)
    assert schema_errors(body, SCHEMA) == []
    (route,) = from_json(body["rewrite"], resolve).routes
    old = wire(DeviceID="d#1", Date="2026-04-01", State="OK")
    twin = route.twin_of(old)
    assert isinstance(twin, Image)
    assert twin.item == {**old, "State#Date": {"S": "OK#2026-04-01"}}
    assert twin.key.keys() == {"DeviceID", "State#Date"}
    assert f"default {READER_LEASE_MS}" in page
    assert f"default {ATTEMPT_MS}" in page
    for name in [
        *SCHEMA["properties"],
        *SCHEMA["$defs"]["rewrite"]["properties"],
        *SCHEMA["$defs"]["route"]["properties"],
    ]:
        assert f"`{name}`" in page, name
    for phase in PHASES:
        assert f"`{phase}`" in page
