"""What an instance knows of the phase, and for how long it may rely on it."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from migrator.control.layout import phase
from migrator.control.phases import PhaseRecord
from migrator.core.ports import Record
from migrator.core.rewrite.phases import Phase
from migrator.core.rewrite.record import to_json
from migrator.dynamo.layout import Layout
from migrator.runtime import PhaseReader, PhaseUnknown
from tests.core.rewrite import routes
from tests.runtime.double import Double, Store, failure
from tests.runtime.situation import Numbers, StillClock

ROOT = Path(__file__).resolve().parents[2]
LAYOUT = Layout("control", "PK", "SK")
GAME = to_json(routes.GAME, {"game": "game-prod"})


class Control:
    """The control table, in which the tool writes the phase."""

    def __init__(self) -> None:
        self.store = Store({"control": ("PK", "SK")})
        self.client = Double(self.store)
        self.clock = StillClock()

    def enter(self, name: Phase, generation: int, **further: Any) -> None:
        one = PhaseRecord("r1", "0", name, generation, "2026-01-01T00:00:00Z", rewrite=GAME, **further)
        self.store.put("control", LAYOUT.item(Record(phase("r1", "0"), 7, one.body()), "v"))

    def reader(self, **further: Any) -> PhaseReader:
        asked = {"block_seconds": 5.0, "background": False, **further}
        return PhaseReader(self.client, table="control", revision="r1", clock=self.clock, entropy=Numbers(), **asked)

    def fail(self, code: str = "InternalServerError") -> None:
        def refuse(method: str, request: Any) -> None:
            raise failure(code, method)

        self.client.before = refuse

    def recover(self) -> None:
        self.client.before = lambda method, request: None

    @property
    def instances(self) -> list[Any]:
        return [LAYOUT.record(item) for item in self.store.all("control") if item["SK"]["S"].startswith("instance#")]


@pytest.fixture
def control() -> Control:
    return Control()


def test_a_rewrite_without_a_record_has_not_begun(control: Control) -> None:
    stance = control.reader().stance()
    assert (stance.phase, stance.rewrite) == ("expand", None)


def test_the_phase_and_the_rewrite_are_those_of_the_record(control: Control) -> None:
    control.enter("cutover", 5)
    stance = control.reader().stance()
    assert (stance.phase, stance.generation) == ("cutover", 5)
    assert stance.rewrite is not None
    assert stance.rewrite.tables == ("game-prod",)


def test_the_lease_counts_from_before_the_read_was_sent(control: Control) -> None:
    control.enter("dual-write", 1, lease_ms=60_000)

    def slow(method: str, request: Any) -> None:
        control.clock.sleep(50)

    control.client.before = slow
    stance = control.reader(acknowledge=False).stance()
    assert stance.until == 60


def test_the_record_is_read_consistently(control: Control) -> None:
    control.enter("dual-write", 1)
    control.reader().stance()
    ((_, request), *_) = control.client.requests
    assert request["ConsistentRead"] is True


def test_the_record_s_lease_counts_where_it_is_shorter(control: Control) -> None:
    control.enter("dual-write", 1, lease_ms=9_000)
    assert control.reader().stance().until == 9


def test_a_call_reads_anew_when_a_third_of_the_lease_has_passed(control: Control) -> None:
    control.enter("dual-write", 1)
    reader = control.reader()
    assert reader.stance().phase == "dual-write"
    control.enter("cutover", 2)
    control.clock.sleep(19)
    assert reader.stance().phase == "dual-write"
    control.clock.sleep(2)
    assert reader.stance().phase == "cutover"


def test_calls_under_way_go_on_for_as_long_as_their_own_phase_was_known_to_stand(control: Control) -> None:
    control.enter("dual-write", 1)
    reader = control.reader()
    held = reader.stance()
    control.clock.sleep(30)
    reader.refresh()
    assert held.until == 90, "the same generation was read again"
    control.enter("cutover", 2)
    reader.refresh()
    assert reader.stance().phase == "cutover"
    assert (held.phase, held.until) == ("dual-write", 90)
    control.clock.sleep(60)
    assert not held.is_valid


def test_a_read_that_fails_prolongs_nothing(control: Control) -> None:
    control.enter("dual-write", 1)
    reader = control.reader()
    held = reader.stance()
    control.fail()
    control.clock.sleep(30)
    assert not reader.refresh()
    assert held.until == 60


def test_an_expired_lease_blocks_and_then_fails_with_nothing_sent(control: Control) -> None:
    control.enter("dual-write", 1)
    reader = control.reader()
    reader.stance()
    control.fail("ProvisionedThroughputExceededException")
    control.clock.sleep(61)
    before = control.clock.monotonic()
    with pytest.raises(PhaseUnknown, match="ProvisionedThroughputExceededException"):
        reader.stance()
    assert control.clock.monotonic() - before >= 5


def test_a_call_that_was_blocked_goes_on_when_the_record_is_read_again(control: Control) -> None:
    control.enter("dual-write", 1)
    reader = control.reader()
    reader.stance()
    control.clock.sleep(61)
    tries: list[str] = []

    def at_first(method: str, request: Any) -> None:
        tries.append(method)
        if len(tries) < 3:
            raise failure("InternalServerError", method)

    control.client.before = at_first
    assert reader.stance().is_valid


def test_time_asleep_counts_as_time(control: Control) -> None:
    """A machine that was suspended wakes with the clock far on: what it knew is void before anything is sent."""
    control.enter("dual-write", 1)
    reader = control.reader()
    held = reader.stance()
    control.clock.seconds += 3600
    control.enter("contract", 3)
    assert not held.is_valid
    assert reader.stance().phase == "contract"


def test_a_record_of_a_later_format_is_no_phase_at_all(control: Control) -> None:
    control.enter("dual-write", 1, unknown={"format": 99})
    item = dict(control.store.all("control")[0])
    item["__migrator__"]["M"]["body"]["M"]["format"] = {"N": "99"}
    control.store.put("control", item)
    with pytest.raises(PhaseUnknown, match="format 99"):
        control.reader().stance()


def test_an_instance_says_which_generation_it_acts_on_and_takes_it_back(control: Control) -> None:
    control.enter("dual-write", 4)
    reader = control.reader(name="api-1")
    reader.stance()
    (record,) = control.instances
    assert record.address.partition == "phase#r1#0"
    assert {name: record.body[name] for name in ("name", "generation", "phase")} == {
        "name": "api-1",
        "generation": 4,
        "phase": "dual-write",
    }
    control.enter("cutover", 5)
    reader.refresh()
    assert [one.body["generation"] for one in control.instances] == [5]
    reader.close()
    assert control.instances == []


def test_an_instance_that_may_not_report_itself_works_all_the_same(control: Control) -> None:
    control.enter("dual-write", 4)

    def deny(method: str, request: Any) -> None:
        if method == "put_item":
            raise failure("AccessDeniedException", method)

    control.client.before = deny
    assert control.reader().stance().generation == 4


def test_a_function_that_the_rewrite_names_is_given_or_imported(control: Control) -> None:
    folded = to_json(routes.Rewrite((routes.LOWER,)), {"people": "people", "folded": "folded"})
    one = PhaseRecord("r1", "0", "dual-write", 1, "", rewrite=folded)
    control.store.put("control", LAYOUT.item(Record(phase("r1", "0"), 7, one.body()), "v"))
    assert control.reader().stance().rewrite == routes.Rewrite((routes.LOWER,))
    named = folded["routes"][0]["key"]["function"]
    given = control.reader(functions={named: len}).stance().rewrite
    assert given is not None
    assert given.routes[0].key is len


def test_the_background_reads_again_and_again_until_it_is_closed(control: Control) -> None:
    control.enter("dual-write", 1)
    again = threading.Event()

    def count(method: str, request: Any) -> None:
        if len([one for one, _ in control.client.requests if one == "get_item"]) >= 3:
            again.set()

    control.client.before = count
    with control.reader(background=True, lease_seconds=0.03) as reader:
        assert again.wait(10)
    assert not any(thread.name.startswith("migrator-phase") for thread in threading.enumerate())
    reader.close()


def test_the_runtime_loads_nothing_that_only_the_command_needs() -> None:
    heavy = ["typer", "rich", "structlog", "ministack", "migrator.engine", "migrator.wiring", "migrator.cli"]
    code = f"import sys, migrator.runtime; sys.exit(sorted({{*{heavy!r}}} & sys.modules.keys()).__repr__())"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.stderr.strip() == "[]"
