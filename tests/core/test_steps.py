from __future__ import annotations

from typing import Any

import pytest

from migrator.core import steps
from migrator.core.schema import Index, KeyAttribute, Table, Throughput, key_attributes
from migrator.core.settings import SETTINGS, BillingMode, Stream, TimeToLive
from migrator.core.template import Template
from migrator.core.transform import Transform

SHAPE = Table("app", KeyAttribute("PK"), KeyAttribute("n", "N"))
INDEX = Index("ByOwner", key_attributes(["tenant", "owner"]), key_attributes("at"))


def tidy(item: Any) -> dict[str, Any]:
    return {}


BACKFILL = steps.TransformItems("app", Transform(function=tidy))


@pytest.mark.parametrize(
    ("step", "title"),
    [
        (steps.CreateTable("app", SHAPE), "create table app (PK, N(n))"),
        (steps.CreateTable("app", SHAPE.with_index(INDEX)), "create table app (PK, N(n)) with 1 index"),
        (steps.CreateIndex("app", INDEX), "build index ByOwner on app (tenant, owner / at), projection ALL"),
        (steps.DeleteIndex("app", "ByOwner"), "delete index ByOwner of app"),
        (
            steps.UpdateIndex("app", Index("ByOwner", (), provisioned=Throughput(5, 10), warm=Throughput(1, 2))),
            "set throughput of index ByOwner of app: provisioned 5 read, 10 write units; warm 1 read, 2 write units",
        ),
        (steps.ChangeSetting("app", TimeToLive("ttl")), "set TTL on ttl on app"),
        (steps.ChangeSetting("app", Stream(None)), "set stream off on app"),
        (
            steps.ChangeSetting("app", BillingMode("PROVISIONED", Throughput(5, 5))),
            "set provisioned 5 read, 5 write units on app",
        ),
        (steps.Restore("app", "index:ByOwner"), "restore index:ByOwner of app as it was before"),
        (BACKFILL, "backfill app: by tidy()"),
        (
            steps.TransformItems(
                "app", Transform(set={"a": Template.parse("{b}")}, rename={"c": "d"}, copy={"e": "f"}, remove=("g",))
            ),
            "backfill app: set a; copy e to f; rename c to d; remove g",
        ),
        (steps.PutItems("app", ({},)), "put 1 item into app"),
        (steps.PutItems("app", ({}, {})), "put 2 items into app"),
        (steps.DeleteItems("app", {"entity": "x"}), "delete items of app"),
        (steps.UndoItems("app", BACKFILL, 0), "undo: backfill app: by tidy()"),
        (steps.RunFunction("app", tidy), "run tidy() on app"),
    ],
)
def test_a_step_says_what_it_does(step: Any, title: str) -> None:
    assert step.title == title


def test_the_names_of_settings_differ() -> None:
    assert len({kind.name for kind in SETTINGS}) == len(SETTINGS)
