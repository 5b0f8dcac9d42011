"""A pass over an export in place of the table: guards, what checks it, crashes, refusals."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from migrator.dynamo.exported import read_export
from migrator.errors import MigratorError
from migrator.operations import Backfill, DeleteItems, PutItems
from migrator.runner.results import RunResult
from migrator.testing.memory import Call, Crash, CrashAt, Hook
from tests.exported import write_export
from tests.simulation.world import TABLE, Effects, Site, chain, migration, person, quick_world, wire

PEOPLE = tuple(person(number, photo=b"\x00\xff", tags=[{"raw": b"B"}]) for number in range(12))
LABELS = Backfill(set={"label": "L#{name}"})


def exclaim(item: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"name": item["name"] + "!"}


def shout(item: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"label": item["nick"].upper()}


ONCE = Backfill(transform=exclaim, once=True, undo="journal")
OLD = DeleteItems(where={"team": "t0"})
CASES = {"template": LABELS, "once": ONCE, "deletion": OLD}


@dataclass
class Place:
    """A site, and the folder of its exports."""

    site: Site
    folder: Path
    taken: int = 0

    def export(self, name: str = "", **summary: Any) -> Path:
        """An export of the table as it stands now."""
        self.taken += 1
        items = sorted(self.site.world.items.all(TABLE), key=repr)
        control = wire({"PK": "__migrator__#lock", "SK": "lock"})
        live = self.site.world.tables.as_another().describe(TABLE)
        assert live is not None
        folder = self.folder / (name or f"export-{self.taken}")
        arguments: dict[str, Any] = {
            "table_arn": live.arn,
            "table_id": live.table_id,
            "time": self.site.world.clock.now(),
        } | summary
        write_export(folder, [*items, control], export_id=f"0170000000000{self.taken}-1234abcd", **arguments)
        return folder

    def run(self, *hooks: Hook, **options: Any) -> RunResult:
        runner = self.site.runner(*hooks)
        runner.session.ports = replace(runner.session.ports, read_export=read_export)
        return runner.upgrade(from_base=True, yes=True, **options)

    def plan(self, export: Path) -> Any:
        runner = self.site.runner()
        runner.session.ports = replace(runner.session.ports, read_export=read_export)
        return runner.plan(from_base=True, from_export=export)

    def refused(self, **options: Any) -> MigratorError:
        """Run what must be refused before anything is written."""
        with pytest.raises(MigratorError) as caught:
            self.run(**options)
        assert self.site.records == []
        return caught.value


def place(folder: Path, *operations: Any, **options: Any) -> Place:
    site = Site(chain(migration("001", *(operations or (LABELS,)))), world=quick_world(**options))
    return Place(site.with_table(*PEOPLE), folder)


def labelled(site: Site) -> list[str]:
    return [item["label"] for item in site.items if "label" in item]


class Tally:
    """A hook that counts calls."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()

    def __call__(self, call: Call) -> None:
        if call.moment == "before":
            self.calls[call.operation] += 1


# --- the pass and the scan after it -----------------------------------------------------------------------------------


def test_items_are_written_from_the_export_and_one_scan_checks(tmp_path: Path) -> None:
    at = place(tmp_path)
    tally = Tally()
    result = at.run(tally, from_export=at.export())
    assert result.state == "applied"
    assert labelled(at.site) == [f"L#{item['name']}" for item in at.site.items]
    counts = result.outcomes[0].counts
    assert (counts.scanned, counts.written, counts.conflicts) == (12, 12, 0)
    scans = Tally()
    plain = place(tmp_path / "plain")
    plain.run(scans)
    # Look before, pass and check by scan, against one scan that writes nothing.
    assert 2 <= tally.calls["items.scan"] * 3 <= scans.calls["items.scan"] + 3
    assert all(item["photo"] == b"\x00\xff" and item["tags"] == [{"raw": b"B"}] for item in at.site.items)


def test_what_changed_came_or_went_since_the_export_is_decided_as_it_stands(tmp_path: Path) -> None:
    at = place(tmp_path)
    export = at.export()
    at.site.update(3, name="renamed")
    at.site.remove(5)
    at.site.put(person(77))
    result = at.run(from_export=export)
    assert result.state == "applied"
    assert at.site.get(5) is None, "deleted since: not brought back"
    assert {item["PK"]: item["label"] for item in at.site.items} == {
        item["PK"]: f"L#{item['name']}" for item in at.site.items
    }
    counts = result.outcomes[0].counts
    assert (counts.scanned, counts.written, counts.conflicts, counts.gone) == (12, 12, 1, 1)


def test_an_item_that_the_export_shows_as_right_and_is_not_any_more_is_found_by_the_scan(tmp_path: Path) -> None:
    at = place(tmp_path)
    at.site.update(2, label="L#n2")
    export = at.export()
    at.site.update(2, name="renamed")
    assert at.run(from_export=export).state == "applied"
    assert at.site.get(2) is not None
    assert at.site.get(2)["label"] == "L#renamed"  # type: ignore[index]


def test_without_a_check_nothing_is_scanned_and_the_outcome_says_so(tmp_path: Path) -> None:
    at = place(tmp_path, Backfill(set={"label": "L#{name}"}, check="none", undo="none"))
    tally, export = Tally(), at.export()
    at.site.put(person(77))
    assert at.run(tally, from_export=export).state == "applied"
    assert tally.calls["items.scan"] == 0
    assert len(labelled(at.site)) == 12
    (step,) = at.site.history["001"].steps.values()
    assert "from the export of" in step["outcome"]
    assert "not checked" in step["outcome"]


def test_a_once_step_changes_each_item_once_and_the_scan_writes_none_again(tmp_path: Path) -> None:
    at = place(tmp_path, ONCE)
    tally = Tally()
    assert at.run(tally, from_export=at.export()).state == "applied"
    assert all(item["name"].count("!") == 1 for item in at.site.items)
    assert tally.calls["items.transact"] == 12


def test_a_deletion_journals_the_item_as_it_was_and_spares_one_that_changed(tmp_path: Path) -> None:
    at = place(tmp_path, OLD)
    export = at.export()
    at.site.update(0, team="t1")
    result = at.run(from_export=export)
    assert result.state == "applied"
    assert {item["PK"] for item in at.site.items} == {item["PK"] for item in PEOPLE} - {"P#3", "P#6", "P#9"}
    assert len(at.site.kept("journal")) == 3
    assert at.site.runner().downgrade("base").state == "downgraded"
    assert len(at.site.items) == 12


def test_failed_items_of_the_export_keep_the_revision_incomplete(tmp_path: Path) -> None:
    at = place(tmp_path, Backfill(transform=shout))
    for number in range(11):
        at.site.update(number, nick="k")
    export = at.export()
    assert at.run(from_export=export).exit_code == 6
    at.site.update(11, nick="late")
    assert at.run(from_export=export).state == "applied"
    assert len(labelled(at.site)) == 12
    assert at.site.kept("failures#") == []


# --- crashes ----------------------------------------------------------------------------------------------------------


def _ends(folder: Path, operation: Any, moment: int | None) -> tuple[Place, Effects]:
    """The upgrade that dies at a moment, and is typed again until it is through."""
    at = place(folder, operation)
    export = at.export()
    at.site.update(4, name="renamed")
    at.site.put(person(77))
    effects = Effects(at.site)
    for run in range(6):
        hooks = (effects, CrashAt(moment)) if run == 0 and moment is not None else (effects,)
        try:
            result = at.run(*hooks, from_export=export)
        except Crash:
            continue
        if result.state == "applied":
            return at, effects
    raise AssertionError("it never came through")


@pytest.mark.parametrize("name", CASES)
def test_a_run_that_died_anywhere_ends_as_if_it_had_not(tmp_path: Path, name: str) -> None:
    wanted, effects = _ends(tmp_path / "undisturbed", CASES[name], None)
    for moment in sorted(random.Random(name).sample(range(effects.moments), 14)):
        found, disturbed = _ends(tmp_path / str(moment), CASES[name], moment)
        assert found.site.items == wanted.site.items, moment
        assert disturbed.most_changed <= 1, moment
        assert disturbed.applied == {"001": 1}, moment
        assert found.site.kept("checkpoints") == [], moment


@pytest.mark.deep
@pytest.mark.parametrize("name", CASES)
def test_a_run_that_died_at_every_single_moment_ends_as_if_it_had_not(tmp_path: Path, name: str) -> None:
    wanted, effects = _ends(tmp_path / "undisturbed", CASES[name], None)
    for moment in range(effects.moments):
        found, disturbed = _ends(tmp_path / str(moment), CASES[name], moment)
        assert found.site.items == wanted.site.items, moment
        assert disturbed.most_changed <= 1, moment
        assert found.site.kept("checkpoints") == [], moment


def test_an_interrupted_pass_goes_on_at_its_line_of_the_file(tmp_path: Path) -> None:
    at = place(tmp_path)
    at.site.put(*(person(number) for number in range(12, 450)))
    export = at.export(files=1)
    first, second = Tally(), Tally()
    runner = at.site.runner()

    def stop(call: Call) -> None:
        if first.calls["items.write"] == 250:
            runner.stop(15)

    runner.session.ports = replace(
        at.site.runner(first, stop).session.ports, read_export=read_export, clock=runner.session.ports.clock
    )
    result = runner.upgrade(from_base=True, from_export=export)
    assert result.exit_code == 143
    (segment,) = [one for one in at.site.kept("checkpoints#001#0.apply.0:export") if one.address.sort != "head"]
    assert segment.items["next"]["line"]["N"] == "300"
    result = at.run(second, from_export=export)
    assert result.state == "applied"
    assert result.outcomes[0].counts.scanned == 450
    assert (first.calls["items.write"], second.calls["items.write"]) == (300, 150), "no item is decided again"


def test_another_export_begins_the_pass_anew_and_no_half_read_table_counts_as_its_check(tmp_path: Path) -> None:
    at = place(tmp_path)
    first = at.export()
    with pytest.raises(Crash):
        at.run(CrashAt(60), from_export=first)
    at.site.put(person(77))
    assert at.run(from_export=at.export()).state == "applied"
    assert len(labelled(at.site)) == 13


def test_a_scan_that_was_interrupted_after_a_write_is_not_taken_for_the_check(tmp_path: Path) -> None:
    at = place(tmp_path)
    export = at.export()
    at.site.put(person(77))

    def die(call: Call) -> None:
        if call.operation == "items.write" and call.moment == "after" and "label" in (at.site.get(77) or {}):
            raise Crash

    with pytest.raises(Crash):
        at.run(die, from_export=export)
    checked: list[str] = []

    def note(call: Call) -> None:
        if call.operation == "records.write":
            checked.extend(repr(action) for action in call.arguments["actions"] if "0.apply.0:check" in repr(action))

    assert at.run(note, from_export=export).state == "applied"
    # What the dead run wrote is counted nowhere: only another scan that finds nothing is a check.
    assert any("segment#" in action and "PutRecord" in action for action in checked)


# --- a later export in place of the scan ------------------------------------------------------------------------------


def _later(at: Place, name: str = "later") -> Path:
    at.site.world.clock.advance(300)
    return at.export(name)


def test_a_later_export_checks_once_its_time_is_after_the_pass_and_no_item_is_scanned(tmp_path: Path) -> None:
    at, tally = place(tmp_path), Tally()
    first, later = at.export(), at.folder / "later"
    options = {"from_export": first, "from_export_check": later}
    waits = at.run(tally, **options)
    assert (waits.state, waits.exit_code) == ("incomplete", 6)
    assert "to be checked by an export of a time after" in waits.blocked_by
    assert "export-table-to-point-in-time" in waits.next
    assert str(later) in waits.next
    _later(at)
    assert at.run(tally, **options).state == "applied"
    assert tally.calls["items.scan"] == 0
    assert tally.calls["items.write"] == 12
    (step,) = at.site.history["001"].steps.values()
    assert "what was written since was not looked at" in step["outcome"]


def test_an_export_of_a_time_before_the_end_of_the_pass_checks_nothing(tmp_path: Path) -> None:
    at = place(tmp_path)
    first = at.export()
    at.site.world.clock.advance(30)
    early = at.export("early")
    result = at.run(from_export=first, from_export_check=early)
    assert result.exit_code == 6
    assert at.run(from_export=first, from_export_check=early).exit_code == 6


def test_what_a_later_export_still_shows_to_change_is_changed_and_asks_for_one_more(tmp_path: Path) -> None:
    at = place(tmp_path)
    first = at.export()
    options: dict[str, Any] = {"from_export": first, "from_export_check": at.folder / "later"}
    assert at.run(**options).exit_code == 6
    at.site.put(person(77))
    _later(at)
    again = at.run(**options)
    assert again.exit_code == 6
    assert "1 item still to change" in again.blocked_by
    assert at.site.get(77) is not None
    assert at.site.get(77)["label"] == "L#n77"  # type: ignore[index]
    assert at.run(**options).exit_code == 6, "the same export does not check its own pass"
    assert at.run(from_export=first, from_export_check=_later(at, "last")).state == "applied"


def test_an_item_that_the_application_mended_since_the_later_export_is_not_found(tmp_path: Path) -> None:
    at = place(tmp_path)
    options: dict[str, Any] = {"from_export": at.export(), "from_export_check": at.folder / "later"}
    assert at.run(**options).exit_code == 6
    at.site.put(person(77))
    _later(at)
    at.site.update(77, label="L#n77")
    assert at.run(**options).state == "applied"


@pytest.mark.parametrize("name", CASES)
def test_a_check_by_a_later_export_that_died_anywhere_ends_as_if_it_had_not(tmp_path: Path, name: str) -> None:
    def ends(folder: Path, moment: int | None) -> tuple[Place, int, Effects]:
        at = place(folder, CASES[name])
        options: dict[str, Any] = {"from_export": at.export(), "from_export_check": at.folder / "later"}
        assert at.run(**options).exit_code == 6
        at.site.put(person(78))
        _later(at)
        effects = Effects(at.site)
        hooks = (effects,) if moment is None else (effects, CrashAt(moment))
        try:
            code = at.run(*hooks, **options).exit_code
        except Crash:
            code = at.run(effects, **options).exit_code
        return at, code, effects

    wanted, code, effects = ends(tmp_path / "undisturbed", None)
    assert code == 6
    for moment in sorted(random.Random(name).sample(range(effects.moments), 8)):
        found, code, disturbed = ends(tmp_path / str(moment), moment)
        assert code == 6, f"died at {moment}: what the later export still showed to change needs one more"
        assert found.site.items == wanted.site.items, moment
        assert disturbed.most_changed <= 1, moment


# --- refusals ---------------------------------------------------------------------------------------------------------


def _spoil(folder: Path) -> tuple[Path, Path]:
    (summary,) = folder.glob("AWSDynamoDB/*/manifest-summary.json")
    return summary, summary.parent / "data" / "file1.json.gz"


def test_a_missing_file_and_one_that_is_not_the_manifests_are_refused_by_name_before_the_first_write(
    tmp_path: Path,
) -> None:
    at = place(tmp_path)
    export = at.export()
    _, file = _spoil(export)
    content = file.read_bytes()
    file.unlink()
    missing = at.refused(from_export=export)
    assert missing.code == "bad-export"
    assert str(file) in missing.message
    file.write_bytes(content[:-4] + b"spoilt")
    spoilt = at.refused(from_export=export)
    assert spoilt.code == "bad-export"
    assert str(file) in spoilt.message
    assert "MD5" in spoilt.message


@pytest.mark.parametrize(
    ("summary", "code", "says"),
    [
        ({"exportType": "INCREMENTAL_EXPORT"}, "bad-export", "incremental"),
        ({"outputFormat": "ION"}, "bad-export", "ION"),
        ({"itemCount": 99}, "bad-export", "99 items"),
        ({"exportTime": "yesterday"}, "bad-export", "no summary"),
        ({"table_id": "another"}, "other-export", "TableId another"),
        ({"table_arn": "arn:aws:dynamodb:eu-west-1:000000000000:table/other"}, "other-export", "table/other"),
    ],
)
def test_an_export_that_cannot_stand_for_the_table_is_refused(
    tmp_path: Path, summary: dict[str, Any], code: str, says: str
) -> None:
    at = place(tmp_path)
    error = at.refused(from_export=at.export(**summary))
    assert error.code == code
    assert says in error.message


def test_an_export_from_before_what_an_earlier_revision_wrote_is_refused(tmp_path: Path) -> None:
    at = place(tmp_path)
    export = at.export()
    at.site.world.clock.advance(600)
    assert at.run().state == "applied"
    at.site.migrations = chain(*at.site.migrations, migration("002", Backfill(set={"sign": "{label}"})))
    with pytest.raises(MigratorError) as caught:
        at.run(from_export=export)
    assert caught.value.code == "export-too-old"
    assert "001" in caught.value.message
    assert at.run(from_export=_later(at)).state == "applied"
    assert all(item["sign"] == item["label"] for item in at.site.items)


def test_an_export_stands_for_one_data_step_and_only_for_the_first_that_writes(tmp_path: Path) -> None:
    at = place(tmp_path, LABELS, Backfill(set={"sign": "{label}"}))
    error = at.refused(from_export=at.export())
    assert error.code == "export-steps"
    assert "label" in error.message
    assert "sign" in error.message
    seeded = place(tmp_path / "seeded", PutItems(items=({"PK": "S", "SK": "s"},)), LABELS)
    assert seeded.refused(from_export=seeded.export()).code == "export-steps"
    after = place(tmp_path / "after", LABELS, PutItems(items=({"PK": "S", "SK": "s"},)))
    assert after.run(from_export=after.export()).state == "applied"


def test_a_plan_says_how_old_the_export_is_and_what_an_upgrade_would_refuse(tmp_path: Path) -> None:
    at = place(tmp_path)
    export = at.export()
    at.site.world.clock.advance(timedelta(hours=5).total_seconds())
    notes = at.plan(export).revisions[0].notes
    assert any("5.0 hours old: 13 items in 3 files" in note for note in notes)
    two = place(tmp_path / "two", LABELS, Backfill(set={"sign": "{label}"}))
    assert "[export-steps]" in two.plan(two.export()).blocked_by
