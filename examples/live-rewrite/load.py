"""Users of the help desk, each a thread, and the ledger of what they were told is written."""

from __future__ import annotations

import random
import threading
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import ClientError
from service import STATUSES, HelpDesk, Item

TEAMS = ("ada", "bob", "cyd")
SHARED = 12
"""Tickets that everybody watches, and that nobody deletes."""
MOST_OWN = 12
"""Tickets that a user has at a time."""
MOST_TRIES = 40


@dataclass
class Ledger:
    """What was acknowledged: tickets by team and number, and how often each shared one was watched."""

    tickets: dict[tuple[str, int], Item] = field(default_factory=dict)
    watched: Counter[tuple[str, int]] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def put(self, team: str, number: int, item: Item) -> None:
        with self.lock:
            self.tickets[team, number] = {name: one for name, one in item.items() if name != "watchers"}

    def drop(self, team: str, number: int) -> None:
        with self.lock:
            del self.tickets[team, number]

    def watch(self, team: str, number: int) -> None:
        with self.lock:
            self.watched[team, number] += 1

    def expected(self) -> dict[tuple[str, int], Item]:
        return {place: {**item, "watchers": {"N": str(self.watched[place])}} for place, item in self.tickets.items()}


@dataclass
class Stage:
    """What the users did and met while one thing was happening."""

    name: str
    seconds: list[float] = field(default_factory=list)
    conflicts: int = 0
    """Requests that met another of the service's own on the same item, and were said again."""
    failed: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    """Reads that did not show what was acknowledged."""


class User:
    """Opens, changes, moves, deletes and reads tickets of its own; watches and moves those that are shared."""

    def __init__(self, load: Load, number: int):
        self._load, self._number = load, number
        self._random = random.Random(number)
        self._mine: dict[int, str] = {}
        self._next = number * 10_000

    @property
    def _desk(self) -> HelpDesk:
        """The instance that answers this user."""
        return self._load.desks[self._number % len(self._load.desks)]

    def run(self) -> None:
        while not self._load.is_over:
            with self._load.turn():
                self._act()
            time.sleep(self._random.uniform(0, 2 * self._load.pause))

    def _act(self) -> None:
        acts = (self._open, self._retitle, self._move, self._replace, self._watch, self._read, self._list, self._delete)
        act = self._random.choices(acts, weights=(4, 4, 4, 2, 5, 5, 1, 3))[0]
        stage = self._load.stage
        try:
            act()
        except Exception as exc:  # noqa: BLE001 - every kind of failure counts
            with self._load.ledger.lock:
                stage.failed.append(f"{act.__name__}: {exc}\n{traceback.format_exc()}")

    def _call(self, method: Any, *words: Any) -> Any:
        """As any caller does: what met another transaction is said again after a moment."""
        for number in range(MOST_TRIES):
            stage, began = self._load.stage, time.monotonic()
            try:
                answer = method(*words)
            except ClientError as exc:
                if number == MOST_TRIES - 1 or not _is_conflict(exc):
                    raise
                stage.conflicts += 1
                time.sleep(self._random.uniform(0, 0.01 * 2 ** min(number, 5)))
                continue
            stage.seconds.append(time.monotonic() - began)
            return answer
        raise AssertionError("unreachable")

    # --- what it does

    def _open(self) -> None:
        if len(self._mine) >= MOST_OWN:
            return self._delete()
        team, number = self._random.choice(TEAMS), self._next
        self._next += 1
        item = self._call(self._desk.open, team, number, f"ticket {number}")
        self._load.ledger.put(team, number, item)
        self._mine[number] = team
        return None

    def _retitle(self) -> None:
        for team, number in self._one():
            item = self._call(self._desk.retitle, team, number, f"title {self._random.random()}")
            self._told(team, number, item, {"title"})

    def _move(self) -> None:
        for team, number in self._one():
            item = self._call(self._desk.set_status, team, number, self._random.choice(STATUSES))
            self._told(team, number, item, {"status"})

    def _replace(self) -> None:
        for team, number in self._one(shared=False):
            ticket = {
                **self._load.ledger.tickets[team, number],
                "watchers": {"N": "0"},
                "status": {"S": self._random.choice(STATUSES)},
                "note": {"S": f"replaced {self._random.random()}"},
            }
            self._call(self._desk.replace, team, number, ticket)
            self._load.ledger.put(team, number, ticket)

    def _watch(self) -> None:
        team, number = self._random.choice(self._load.shared)
        self._call(self._desk.watch, team, number)
        self._load.ledger.watch(team, number)

    def _delete(self) -> None:
        for team, number in self._one(shared=False):
            self._call(self._desk.delete, team, number)
            self._load.ledger.drop(team, number)
            del self._mine[number]
            # A number is used again, at times: what was deleted comes back as something else.
            if self._random.random() < 0.5:
                item = self._call(self._desk.open, team, number, f"again {self._random.random()}")
                self._load.ledger.put(team, number, item)
                self._mine[number] = team

    def _read(self) -> None:
        for team, number in self._one():
            self._expect(team, number, self._call(self._desk.ticket, team, number))

    def _list(self) -> None:
        team = self._random.choice(TEAMS)
        listed = self._call(lambda: list(self._desk.tickets(team)))
        found: dict[int, list[Item]] = {}
        for number, item in listed:
            found.setdefault(number, []).append(item)
        for number, place in list(self._mine.items()):
            items = found.pop(number, [])
            if place == team:
                self._expect(team, number, *(items or [None]))
        gone = [number for number in found if number // 10_000 == self._number and number not in self._mine]
        if gone:
            self._wrong(f"{team} lists {gone}, which are deleted")

    # --- what it knows

    def _one(self, *, shared: bool = True) -> Iterator[tuple[str, int]]:
        """One of its tickets, if it has any: no other user writes its title or its status."""
        if shared and self._random.random() < 0.3:
            place = self._load.shared[self._number % SHARED]
            yield place
        elif self._mine:
            number = self._random.choice(sorted(self._mine))
            yield self._mine[number], number

    def _told(self, team: str, number: int, item: Item, changed: set[str]) -> None:
        known = self._load.ledger.tickets[team, number]
        self._load.ledger.put(team, number, {**known, **{name: item[name] for name in changed}})
        self._expect(team, number, item)

    def _expect(self, team: str, number: int, *items: Item | None) -> None:
        """What was read of a ticket is what its one writer was told; watchers of it come from everywhere."""
        wanted = self._load.ledger.tickets[team, number]
        if len(items) != 1:
            self._wrong(f"{team} {number} was listed {len(items)} times")
        for item in items:
            shown = None if item is None else {name: one for name, one in item.items() if name != "watchers"}
            if shown != wanted:
                self._wrong(f"{team} {number} is {shown}, and was written as {wanted}")

    def _wrong(self, text: str) -> None:
        self._load.stage.wrong.append(text)


class Load:
    """The users at work.

    `desks` are the instances of the service: users take them in turn, and think for `pause` seconds between requests.
    """

    def __init__(self, desks: list[HelpDesk], users: int, pause: float):
        self.ledger, self.desks, self.pause = Ledger(), desks, pause
        self.stages = [Stage("before")]
        self.shared = [(TEAMS[number % len(TEAMS)], number) for number in range(SHARED)]
        self.is_over = False
        self._gate = threading.Condition()
        self._busy, self._is_still = 0, False
        for team, number in self.shared:
            self.ledger.put(team, number, desks[0].open(team, number, f"shared {number}"))
        self._users = [User(self, number + 1) for number in range(users)]
        self._threads = [threading.Thread(target=user.run, name="user", daemon=True) for user in self._users]

    @property
    def stage(self) -> Stage:
        return self.stages[-1]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    @contextmanager
    def turn(self) -> Iterator[None]:
        with self._gate:
            self._gate.wait_for(lambda: not self._is_still)
            self._busy += 1
        try:
            yield
        finally:
            with self._gate:
                self._busy -= 1
                self._gate.notify_all()

    @contextmanager
    def still(self) -> Iterator[None]:
        """Nobody is in the middle of anything, for as long as this lasts."""
        with self._gate:
            self._is_still = True
            self._gate.wait_for(lambda: not self._busy)
        yield
        with self._gate:
            self._is_still = False
            self._gate.notify_all()

    def end(self) -> None:
        self.is_over = True
        for thread in self._threads:
            thread.join()


def _is_conflict(exc: ClientError) -> bool:
    code = exc.response["Error"]["Code"]
    if code == "TransactionCanceledException":
        codes = {reason["Code"] for reason in exc.response["CancellationReasons"]}
        return codes <= {"None", "TransactionConflict"}
    return code in ("TransactionConflictException", "TransactionInProgressException")
