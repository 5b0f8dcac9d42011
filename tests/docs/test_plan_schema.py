"""The JSON Schema of a plan's document is the one that the results have, and documents hold to it."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from migrator.cli.render.document import document
from migrator.operations import AddIndex, Backfill, RenameAttribute
from tests.cli import samples
from tests.docs.plan_schema import FILE, text
from tests.simulation.world import Site, chain, migration, person

jsonschema = pytest.importorskip("jsonschema")


def check(plan: Any) -> None:
    validator = jsonschema.Draft202012Validator(json.loads(FILE.read_text(encoding="utf-8")))
    found = [f"{'/'.join(map(str, one.path))}: {one.message}" for one in validator.iter_errors(plan)]
    assert found == []


def test_the_file_is_made_from_the_results_and_is_a_schema() -> None:
    assert FILE.read_text(encoding="utf-8") == text(), "python -m tests.docs.plan_schema"
    jsonschema.Draft202012Validator.check_schema(json.loads(text()))


def test_the_sample_of_the_page_and_a_plan_without_a_look_hold_to_it() -> None:
    check(json.loads(json.dumps(document(samples.PLAN, "plan"))))
    check(document(dataclasses.replace(samples.PLAN, estimate=None, data_findings={}), "plan"))


@pytest.mark.parametrize("options", [{"full": True}, {"full": False}, {"samples": 0}])
def test_real_plans_hold_to_it(options: dict[str, Any]) -> None:
    operations = (
        Backfill(set={"label": "L#{name}"}),
        AddIndex("by-team", partition_key="team"),
        RenameAttribute("team", "squad"),
    )
    here = Site(chain(migration("001", *operations))).with_table(*(person(n) for n in range(9)), {"PK": "x", "SK": "y"})
    check(json.loads(json.dumps(document(here.runner().plan(from_base=True, **options), "plan"))))


def test_the_schema_tells_a_wrong_document() -> None:
    broken = document(samples.PLAN, "plan") | {"estimate": {"kind": "guessed"}}
    with pytest.raises(AssertionError, match="estimate"):
        check(broken)
