"""The same migrations over three tables, one of which fails: who is begun, who is not, and what a second run does."""

from __future__ import annotations

import signal

import pytest

from tests.e2e.project import Project, tasks

TARGETS = """
[targets]
acme = { tenant = "acme" }
globex = { tenant = "globex" }
initech = { tenant = "initech" }
"""
NAMES = ("acme", "globex", "initech")
OWNERS = 'Backfill(where={"entity": "Task"}, set={"GSI1PK": "OWNER#{owner}"}),'


def table(name: str) -> str:
    return f"local-{name}-app"


@pytest.fixture
def tenants(empty: Project) -> Project:
    """Three tables of a few tasks; one task of globex has no owner."""
    empty.configure(tables='tables.app.name = "local-{tenant}-app"', env=TARGETS)
    for name in NAMES:
        empty.make_table(table(name))
        empty.put(tasks(5), table(name))
    broken = {**next(iter(tasks(1))), "SK": {"S": "TASK#broken"}}
    del broken["owner"]
    empty.put([broken], table("globex"))
    empty.migration("0001", OWNERS)
    return empty


def filled(project: Project, name: str) -> int:
    return sum("GSI1PK" in item for item in project.items(table(name)))


def test_where_one_fails_nothing_further_begins_and_a_second_run_does_only_the_rest(tenants: Project) -> None:
    done = tenants.ok("upgrade", "--from-base", "--target", "*", "--parallel", "1", "-o", "json", code=6)
    states = {one["name"]: (one["state"], one["exit_code"]) for one in done.document["targets"]}
    assert states == {"acme": ("applied", 0), "globex": ("incomplete", 6), "initech": ("not-begun", 0)}
    assert (done.document["state"], done.document["not_begun"]) == ("partly", ["initech"])
    assert done.document["blocked_by"].startswith("target globex")
    assert "does only what is left" in done.document["next"]
    assert [filled(tenants, name) for name in NAMES] == [5, 5, 0]
    tenants.client.update_item(
        TableName=table("globex"),
        Key={"PK": next(iter(tasks(1)))["PK"], "SK": {"S": "TASK#broken"}},
        UpdateExpression="SET #o = :o",
        ExpressionAttributeNames={"#o": "owner"},
        ExpressionAttributeValues={":o": {"S": "ada"}},
    )
    with tenants.recording() as sent:
        done = tenants.ok("upgrade", "--from-base", "--target", "*", "-o", "json")
    assert {one["name"]: one["state"] for one in done.document["targets"]} == {
        "acme": "up-to-date",
        "globex": "applied",
        "initech": "applied",
    }
    assert not [one for one in sent if one.changes and one.body.get("TableName") == table("acme")]
    assert [filled(tenants, name) for name in NAMES] == [5, 6, 5]
    done = tenants.ok("check", "--target", "*", "-o", "json")
    assert done.document["state"] == "done"


def test_a_canary_that_fails_keeps_all_others_from_beginning_and_keep_going_begins_them(tenants: Project) -> None:
    config = (tenants.folder / "migrator.toml").read_text()
    (tenants.folder / "migrator.toml").write_text(
        config.replace(TARGETS, TARGETS.replace('acme = { tenant = "acme" }\n', "") + 'acme = { tenant = "acme" }\n')
    )
    done = tenants.ok("upgrade", "--from-base", "--target", "*", "-o", "json", code=6)
    assert [(one["name"], one["state"]) for one in done.document["targets"]] == [
        ("globex", "incomplete"),
        ("initech", "not-begun"),
        ("acme", "not-begun"),
    ]
    done = tenants.ok("upgrade", "--from-base", "--target", "*", "--keep-going", code=6)
    assert [filled(tenants, name) for name in NAMES] == [5, 5, 5]
    assert "globex" in done.out
    assert done.last_line == "next: the same command again: it does only what is left"


def test_a_pattern_chooses_and_the_others_are_not_even_looked_at(tenants: Project) -> None:
    with tenants.recording() as sent:
        done = tenants.ok("status", "--target", "a*", "--target", "init*", "-o", "json")
    assert [one["name"] for one in done.document["targets"]] == ["acme", "initech"]
    assert done.document["targets"][0]["result"]["where"]["tables"] == {"app": "local-acme-app"}
    assert not [one for one in sent if one.body.get("TableName") == table("globex")]
    tenants.refused("unknown-target", "plan", "--target", "hooli", exit_code=2)


def test_each_target_is_upgraded_by_its_own_reviewed_plan(tenants: Project) -> None:
    tenants.ok("plan", "--from-base", "--target", "[ai]*", "--out", "plans", code=0)
    assert sorted(path.name for path in (tenants.folder / "plans").iterdir()) == ["acme.json", "initech.json"]
    acme = (tenants.folder / "plans" / "acme.json").read_text()
    (tenants.folder / "plans" / "initech.json").write_text(acme)
    done = tenants.ok("upgrade", "--from-base", "--target", "[ai]*", "--plan", "plans", "-o", "json", code=3)
    states = {one["name"]: one["state"] for one in done.document["targets"]}
    assert states == {"acme": "applied", "initech": "error"}
    assert filled(tenants, "initech") == 0


def test_a_target_without_a_reviewed_plan_is_not_begun_and_nothing_suggests_to_go_on_without_one(
    tenants: Project,
) -> None:
    tenants.ok("plan", "--from-base", "--target", "acme", "--out", "plans", code=0)
    done = tenants.ok(
        "upgrade", "--from-base", "--target", "[ai]*", "--plan", "plans", "--keep-going", "-o", "json", code=2
    )
    outcomes = {one["name"]: one for one in done.document["targets"]}
    assert (outcomes["acme"]["state"], outcomes["initech"]["code"]) == ("applied", "bad-plan")
    assert "migrator plan --target initech --out plans" in outcomes["initech"]["hint"]
    assert "migrator upgrade" not in done.document["next"]
    assert filled(tenants, "initech") == 0


def test_a_target_whose_table_is_gone_is_an_error_of_its_own(tenants: Project) -> None:
    tenants.client.delete_table(TableName=table("acme"))
    done = tenants.ok("check", "--target", "*", "-o", "json", code=1)
    outcomes = {one["name"]: one for one in done.document["targets"]}
    assert outcomes["acme"]["code"] == "table-missing"
    assert outcomes["initech"]["state"] == "pending"


def test_a_signal_stops_every_target_at_its_checkpoint_and_begins_no_other(tenants: Project) -> None:
    for name in ("acme", "initech"):
        tenants.put(tasks(1_500), table(name))
    config = (tenants.folder / "migrator.toml").read_text()
    (tenants.folder / "migrator.toml").write_text(config.replace("limits = { ", "limits = { write_units = 50, "))
    running = tenants.start("upgrade", "--from-base", "--target", "[ai]*", "--canary", "0", "-o", "json")
    tenants.until(lambda: filled(tenants, "acme") > 10 and filled(tenants, "initech") > 10, why="work on both")
    running.kill(signal.SIGTERM)
    done = running.wait(30)
    assert done.code == 143, done
    assert {(one["state"], one["exit_code"]) for one in done.document["targets"]} == {("stopped", 143)}
    tenants.ok("status", "--target", "[ai]*", "-o", "json")
