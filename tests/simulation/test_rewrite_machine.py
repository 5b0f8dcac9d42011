"""Random lives of a rewrite: nothing acknowledged is lost, nothing undone, and what was compared corresponds.

The application writes at any moment of any command, and of any wait; runs crash, freeze and lose answers.
"""

from __future__ import annotations

import random
from typing import get_args

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from tests.simulation.rewriting import NUMBERS, REWRITES, Event, Life, What, Write

WHAT: tuple[What, ...] = get_args(What)
WRITES = st.builds(
    Write,
    instance=st.sampled_from([1, 0, 2]),
    what=st.sampled_from(WHAT),
    number=st.integers(0, len(NUMBERS) - 1),
    value=st.integers(0, 9),
    lost=st.booleans(),
)
MOMENTS = st.integers(0, 260)
EVENTS = st.lists(
    st.one_of(
        st.builds(Event, kind=st.just("write"), after=MOMENTS, write=WRITES),
        st.builds(Event, kind=st.just("write"), after=MOMENTS, write=WRITES, seconds=st.floats(0.5, 40.0)),
        st.builds(Event, kind=st.sampled_from(["crash", "lose", "freeze"]), after=MOMENTS),
    ),
    max_size=6,
)


class Rewriting(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.life = Life("another-table")

    @initialize(rewrite=st.sampled_from(sorted(REWRITES)), seed=st.integers(0, 9))
    def begin(self, rewrite: str, seed: int) -> None:
        self.life = Life(rewrite, seed)

    @rule(one=WRITES)
    def the_application_writes(self, one: Write) -> None:
        self.life.write(one)

    @rule(seconds=st.floats(1.0, 60.0))
    def time_passes(self, seconds: float) -> None:
        self.life.house.world.clock.advance(seconds)
        self.life.check()

    @precondition(lambda self: self.life.at == "none")
    @rule(events=EVENTS)
    def upgrade(self, events: list[Event]) -> None:
        self.life.command("upgrade", events)

    @precondition(lambda self: self.life.at == "prepared")
    @rule(events=EVENTS)
    def make_ready(self, events: list[Event]) -> None:
        self.life.command("ready", events)

    @precondition(lambda self: self.life.at == "copied")
    @rule(events=EVENTS)
    def cut_over(self, events: list[Event]) -> None:
        self.life.command("cutover", events)

    @precondition(lambda self: self.life.at in ("copied", "cut"))
    @rule()
    def verify(self) -> None:
        assert self.life.house.runner().verify(None).exit_code == 0
        self.life.check_pairs()

    @precondition(lambda self: self.life.at in ("prepared", "copied", "cut"))
    @rule(events=EVENTS)
    def roll_back(self, events: list[Event]) -> None:
        self.life.command("rollback", events)

    @precondition(lambda self: self.life.at == "cut")
    @rule(events=EVENTS)
    def contract(self, events: list[Event]) -> None:
        self.life.command("contract", events)


def random_life(seed: int) -> None:
    """One life, as the machine would live it, of a plain seed: quick to try by the hundred."""
    chance = random.Random(seed)
    life = Life(chance.choice(sorted(REWRITES)), seed)

    def a_write() -> Write:
        what = chance.choice(WHAT)
        return Write(
            chance.randrange(3), what, chance.randrange(len(NUMBERS)), chance.randrange(10), chance.random() < 0.2
        )

    def an_event() -> Event:
        kind = chance.choices(("write", "late", "crash", "lose", "freeze"), weights=(4, 3, 1, 1, 1))[0]
        after = chance.randrange(260)
        if kind == "late":
            return Event("write", after, a_write(), chance.uniform(0.5, 40.0))
        return Event("write", after, a_write()) if kind == "write" else Event(kind, after)  # type: ignore[arg-type]

    for _ in range(12):
        if life.at == "done" or chance.random() < 0.4:
            life.write(a_write())
            continue
        onward = {"none": "upgrade", "prepared": "ready", "copied": "cutover", "cut": "contract"}[life.at]
        back = life.at != "none" and chance.random() < 0.25
        life.command("rollback" if back else onward, [an_event() for _ in range(chance.randrange(6))])


def lives(examples: int, steps: int) -> None:
    """Let so many lives go by; a failure prints the steps that led to it, and the seed."""
    run_state_machine_as_test(
        Rewriting,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            derandomize=True,
            database=None,
            print_blob=True,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_in_random_lives_nothing_is_lost_and_nothing_undone() -> None:
    lives(25, 12)


def test_in_lives_of_a_seed_nothing_is_lost_and_nothing_undone() -> None:
    for seed in range(40):
        try:
            random_life(seed)
        except Exception as exc:
            raise AssertionError(f"random_life({seed})") from exc


@pytest.mark.deep
def test_in_thousands_of_random_lives_nothing_is_lost_and_nothing_undone() -> None:
    lives(3000, 16)
