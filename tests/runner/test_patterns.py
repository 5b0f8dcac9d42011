"""Access patterns against an environment: what a plan says of them, what refuses an upgrade, and their examples."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from migrator.config import parse_patterns
from migrator.core.patterns.pattern import AccessPattern
from migrator.core.places import Allowance, Place
from migrator.errors import MigratorError
from migrator.operations import AddIndex, DropIndex, RewriteKeys
from migrator.runner.asking import ask, refuse_wrong
from migrator.runner.results import PatternsResult
from migrator.runner.runner import Runner
from migrator.testing.memory import Call, Hook
from tests.simulation.world import SHAPE, TABLE, Site, chain, migration, person

TEAM = migration("001", AddIndex("ByTeam", partition_key="team", sort_key="name"))
DROP = migration("002", DropIndex("ByTeam"))
TEXT = """
show = "{name}"
[[pattern]]
name = "one person"
holds = ["number"]
key = { PK = "P#{number}", SK = "person" }
expect = 1
[[pattern.example]]
given = { number = 2 }
answer = ["Ben"]
[[pattern]]
name = "team"
holds = ["team"]
index = "ByTeam"
key = { team = "{team}" }
[[pattern.example]]
given = { team = "red" }
answer = ["Ada", "Ben", "Cid", "Dan"]
absent = ["Eve"]
"""
PEOPLE = [person(n, team="red", name=name) for n, name in enumerate(["Dan", "Ben", "Cid", "Ada"], 1)]
EVE = {name: value for name, value in person(5, name="Eve").items() if name != "team"}


def patterns(text: str = TEXT) -> tuple[AccessPattern, ...]:
    return parse_patterns(Path("access_patterns.toml"), text)


def runner(site: Site, *hooks: Hook, text: str = TEXT) -> Runner:
    found = site.runner(*hooks)
    found.session.patterns = patterns(text)
    return found


def site() -> Site:
    """Four people in a team, and one without; the index is built."""
    found = Site(chain(TEAM)).with_table(*PEOPLE, EVE)
    found.runner().upgrade(from_base=True)
    return found


def states(result: PatternsResult) -> dict[str, list[str]]:
    return {line.name: [one.state for one in line.asked] for line in result.patterns}


# --- plan and upgrade -------------------------------------------------------------------------------------------------


def test_a_plan_says_which_patterns_a_revision_newly_serves_and_which_it_breaks() -> None:
    here = Site(chain(TEAM, DROP)).with_table(*PEOPLE)
    first, second = runner(here).plan(from_base=True).revisions
    assert (first.serves, first.breaks) == (("team",), ())
    assert (second.serves, second.breaks) == ((), ("team",))


def test_an_upgrade_that_breaks_a_pattern_is_refused_and_its_plan_too() -> None:
    here = site()
    here.migrations = chain(TEAM, DROP)
    planned = runner(here).plan()
    assert (planned.state, planned.exit_code) == ("refused", 3)
    with pytest.raises(MigratorError, match="access pattern team") as refused:
        runner(here).upgrade(yes=True)
    assert (refused.value.code, refused.value.exit_code) == ("pattern-broken", 3)
    assert "ByTeam" in here.world.tables.describe(TABLE).indexes  # type: ignore[union-attr]


def test_a_retired_pattern_and_an_allowed_drop_refuse_nothing() -> None:
    here = site()
    here.migrations = chain(TEAM, DROP)
    retired = TEXT.replace('name = "team"', 'name = "team"\nuntil = "002"')
    assert runner(here, text=retired).plan().state == "pending"
    allowed = replace(DROP, places=(Place(5, 5),), allowances=(Allowance(5, 5, ("pattern-broken",), "unused"),))
    here.migrations = chain(TEAM, allowed)
    assert runner(here).upgrade(yes=True).state == "applied"


# --- examples ---------------------------------------------------------------------------------------------------------


def test_examples_get_their_answers_in_order_and_over_several_pages() -> None:
    result = runner(site()).patterns()
    assert (result.state, result.exit_code, result.findings) == ("clean", 0, ())
    assert states(result) == {"one person": ["right"], "team": ["right"]}
    team = result.patterns[1].asked[0]
    assert team.answer == ("Ada", "Ben", "Cid", "Dan")
    assert team.pages == 4


def test_control_records_of_the_same_table_are_no_part_of_an_answer() -> None:
    everything = '[[pattern]]\nname = "P"\nkey = { PK = "__migrator__lock" }\nexpect = 0\n[[pattern.example]]\n'
    result = runner(site(), text=everything).patterns()
    assert states(result) == {"P": ["right"]}


def test_only_the_patterns_that_are_named_are_asked() -> None:
    assert list(states(runner(site()).patterns(["team"]))) == ["team"]
    with pytest.raises(MigratorError, match="no access pattern is called 'tame'"):
        runner(site()).patterns(["tame"])


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ('["Ada", "Ben", "Cid"]', "has Dan, which is not expected"),
        ('["Ada", "Ben", "Cid", "Dan", "Fay"]', "lacks Fay"),
        ('["Dan", "Ben", "Cid", "Ada"]', "comes as Ada, Ben, Cid, Dan"),
        ('["Ada", "Ben", "Cid", "Dan", {PK = "P#9", SK = "person"}]', "there is no such item"),
        ('["Ada", "Ben", "Cid", "Dan", {PK = "P#5", SK = "person"}]', "it lacks team, a part of the index's key"),
        ('["Ada", "Ben", "Cid", {name = "Dan", team = "blue"}]', "has Dan, which is not expected"),
    ],
)
def test_an_answer_that_differs_is_told_with_the_reason(answer: str, words: str) -> None:
    text = TEXT.replace('["Ada", "Ben", "Cid", "Dan"]', answer)
    result = runner(site(), text=text).patterns()
    assert (result.state, result.exit_code) == ("findings", 3)
    (only,) = result.findings
    assert (only.rule, only.pattern) == ("pattern-answer", "team")
    assert words in only.message


def test_an_item_that_must_not_come_and_a_count_out_of_bounds_are_told() -> None:
    text = TEXT.replace('absent = ["Eve"]', 'absent = ["Ada"]').replace('"team"\n', '"team"\nexpect = "0..2"\n', 1)
    rules = [finding.rule for finding in runner(site(), text=text).patterns().findings]
    assert rules == ["pattern-answer", "pattern-cardinality"]


def test_what_differs_on_an_index_is_asked_again_because_it_follows_its_table_by_a_moment() -> None:
    here = site()
    calls: list[str] = []

    def late(call: Call) -> None:
        """The item reaches the index after the first question."""
        if call.operation == "queries.ask":
            calls.append(call.operation)
            if len(calls) == 2:
                here.put(person(1, team="red", name="Dan"))

    here.put(person(1, name="Dan"))
    began = here.world.clock.monotonic()
    assert states(runner(here, late).patterns())["team"] == ["right"]
    assert here.world.clock.monotonic() - began >= 1


def test_reading_on_from_each_page_must_give_the_same_answer() -> None:
    here = site()
    calls: list[str] = []

    def removing(call: Call) -> None:
        if call.operation == "queries.ask":
            calls.append(call.operation)
            if len(calls) % 6 == 3:
                here.remove(1)
            elif len(calls) % 6 == 0:
                here.put(person(1, team="red", name="Dan"))

    rules = {finding.rule for finding in runner(here, removing).patterns().findings}
    assert rules & {"pattern-pages", "pattern-answer"}


def test_a_pattern_of_a_pending_revision_is_pending_and_one_that_drifted_away_is_not_served() -> None:
    here = Site(chain(TEAM)).with_table(*PEOPLE)
    result = runner(here).patterns()
    assert (states(result)["team"], result.exit_code) == (["pending"], 0)
    here = site()
    here.world.tables.delete_index(TABLE, "ByTeam")
    here.world.clock.sleep(3600)
    result = runner(here).patterns()
    assert (states(result)["team"], result.exit_code) == (["not-served"], 3)


def test_an_index_that_is_still_building_is_not_asked() -> None:
    here = Site(chain(TEAM)).with_table(*PEOPLE)
    here.runner().upgrade(from_base=True, no_wait=True)
    found = runner(here)
    asked = ask(found.session, found.session.patterns, found.session.base_schema(), {"team"})
    assert [(one.pattern.name, one.state) for one in asked] == [("one person", "right"), ("team", "not-ready")]


def test_a_gate_is_held_by_what_was_asked() -> None:
    here = site()
    session = runner(here).session
    refuse_wrong(ask(session, session.patterns, session.base_schema(), {"team"}))
    here.remove(1)
    session = runner(here).session
    with pytest.raises(MigratorError, match="team: the answer lacks Dan") as refused:
        refuse_wrong(ask(session, session.patterns, session.base_schema(), {"team"}))
    assert (refused.value.code, refused.value.exit_code) == ("patterns-differ", 6)


# --- before readers change over ---------------------------------------------------------------------------------------


def moved(new: str) -> tuple[Site, str]:
    """People who move to a table keyed by team, at the gate before cutover; and what is asked of that table."""
    operation = RewriteKeys(key={"PK": "TEAM#{team}", "SK": "{name}"}, to="new")
    found = Site(chain(migration("001", operation)), tables={"app": TABLE, "new": "test-new"}).with_table(*PEOPLE)
    found.world.tables.add("test-new", SHAPE)
    assert found.runner().upgrade(from_base=True).exit_code == 9
    assert found.runner().upgrade(app_ready=True).exit_code == 9
    asked = (
        'show = "{name}"\n[[pattern]]\nname = "team"\nholds = ["team"]\ntable = "new"\n'
        f'key = {{ PK = "TEAM#{{team}}" }}\n[[pattern.example]]\ngiven = {{ team = "red" }}\nanswer = [{new}]\n'
    )
    return found, asked


def test_readers_do_not_change_over_to_a_side_that_gives_another_answer() -> None:
    here, text = moved('"Ada", "Ben", "Cid", "Eve"')
    with pytest.raises(MigratorError) as refused:
        runner(here, text=text).cutover(None, yes=True)
    assert (refused.value.code, refused.value.exit_code) == ("patterns-differ", 6)
    assert "lacks Eve" in refused.value.message
    (phase,) = [one.body["phase"] for one in here.kept("phase#") if one.address.sort == "phase"]
    assert phase == "dual-write"
    assert here.history["001"].waits_for == "cutover"


def test_readers_change_over_where_every_pattern_gets_its_answer_on_the_new_side() -> None:
    here, text = moved('"Ada", "Ben", "Cid", "Dan"')
    assert runner(here, text=text).cutover(None, yes=True).exit_code == 9
    (phase,) = [one.body["phase"] for one in here.kept("phase#") if one.address.sort == "phase"]
    assert phase == "cutover"


def test_the_policy_of_a_cutover_lets_the_indexes_be_queried_that_patterns_ask_of_the_new_side(tmp_path: Path) -> None:
    operation = RewriteKeys(key={"PK": "TEAM#{team}", "SK": "{name}"}, to="new")
    index = AddIndex("ByName", table="new", partition_key="name", sort_key="PK")
    here = Site(
        chain(migration("001", index), migration("002", operation)), tables={"app": TABLE, "new": "test-new"}
    ).with_table(*PEOPLE)
    here.world.tables.add("test-new", SHAPE)
    assert here.runner().upgrade(from_base=True).exit_code == 9
    assert here.runner().upgrade(app_ready=True).exit_code == 9
    file = tmp_path / "access_patterns.toml"
    file.write_text(
        '[[pattern]]\nname = "by name"\ntable = "new"\nindex = "ByName"\nholds = ["name"]\nkey = { name = "{name}" }\n'
    )
    asking = here.runner()
    asking.session.settings = replace(asking.session.settings, access_patterns=file)
    statements = asking.iam("cutover").policy["Statement"]
    (of_index,) = [one for one in statements if str(one["Resource"]).endswith("test-new/index/ByName")]
    assert of_index["Action"] == ["dynamodb:Query", "dynamodb:Scan"]
