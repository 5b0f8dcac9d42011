"""The application writes at any moment of a rewrite's life: nothing it was told is lost, nothing deleted comes back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from migrator.core.rewrite.phases import Phase
from tests.engine.rewriting.house import App, House, log, rewrite_prefix, rewrite_state
from tests.engine.rewriting.moments import BACK, FORWARD, At, Truth, command, phases_alive

REWRITES = {"another-table": rewrite_state, "one-table": rewrite_prefix}
LOGS = tuple(log(number) for number in range(5))
ONE = LOGS[2]


def put_new(truth: Truth, app: App) -> None:
    truth.put(app, log(9))


def put_over(truth: Truth, app: App) -> None:
    truth.put(app, {**ONE, "state": "s9", "name": "over"})


def update(truth: Truth, app: App) -> None:
    truth.update(app, ONE, name="late", more="yes")


def move(truth: Truth, app: App) -> None:
    truth.update(app, ONE, state="moved")


def remove_attribute(truth: Truth, app: App) -> None:
    truth.update(app, ONE, name=None)


def delete(truth: Truth, app: App) -> None:
    truth.delete(app, ONE)


def delete_and_put_again(truth: Truth, app: App) -> None:
    truth.delete(app, ONE)
    truth.put(app, {**ONE, "state": "again", "name": "again"})


def there_and_back(truth: Truth, app: App) -> None:
    truth.update(app, ONE, name="v2")
    truth.update(app, ONE, name=ONE["name"])


WRITES = (put_new, put_over, update, move, remove_attribute, delete, delete_and_put_again, there_and_back)
Write = Callable[[Truth, App], None]


def live(rewrite: str, commands: tuple[str, ...], write: Write, nth: int, instance: int) -> int:
    """One life, with one write by an instance that is in the first or the last of the phases that are alive."""
    house = House.of(REWRITES[rewrite](), *LOGS)
    truth = Truth.of(LOGS)
    where: list[tuple[str, Phase]] = []

    def act() -> None:
        phases = phases_alive(house, current[0])
        where.append((current[0], phases[instance]))
        write(truth, App(house, phases[instance]))

    hook = At(nth, act)
    current = [""]
    for name in commands:
        current[0] = name
        code = command(house, name, hook)
        assert code == (0 if name in ("contract", "rollback") else 9), f"{name} at {where}: exit {code}"
    wanted: tuple[list[dict[str, Any]], list[dict[str, Any]]]
    wanted = ([], house.twins(*truth)) if commands is FORWARD else (list(truth), [])
    assert (house.old, house.new) == wanted, f"written in {where}"
    return hook.count


LIVES: dict[tuple[str, tuple[str, ...]], int] = {}


def moments(rewrite: str, commands: tuple[str, ...]) -> int:
    if (rewrite, commands) not in LIVES:
        LIVES[(rewrite, commands)] = live(rewrite, commands, put_new, 10**9, 0)
    return LIVES[(rewrite, commands)]


@pytest.mark.parametrize("write", WRITES, ids=lambda write: write.__name__)
@pytest.mark.parametrize("commands", [FORWARD, BACK], ids=["forward", "back"])
@pytest.mark.parametrize("rewrite", REWRITES)
def test_what_the_application_writes_at_any_moment_stands_at_the_end(
    rewrite: str, commands: tuple[str, ...], write: Write
) -> None:
    for nth in range(WRITES.index(write), moments(rewrite, commands), 41):
        live(rewrite, commands, write, nth, -(nth // 41 % 2))


@pytest.mark.deep
@pytest.mark.parametrize("instance", [0, -1], ids=["behind", "ahead"])
@pytest.mark.parametrize("write", WRITES, ids=lambda write: write.__name__)
@pytest.mark.parametrize("commands", [FORWARD, BACK], ids=["forward", "back"])
@pytest.mark.parametrize("rewrite", REWRITES)
def test_what_the_application_writes_at_every_single_moment_stands_at_the_end(
    rewrite: str, commands: tuple[str, ...], write: Write, instance: int
) -> None:
    for nth in range(moments(rewrite, commands)):
        live(rewrite, commands, write, nth, instance)
