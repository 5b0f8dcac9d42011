"""A table whose items move while a mirror follows its stream: the mirror works while the tool sleeps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from migrator.core.events import Remark
from migrator.core.ports import DeleteRecord, Expect, PutRecord, Record
from migrator.engine.rewriting.mirror import Mirror
from migrator.errors import LeaseLost
from migrator.runner import mirroring
from migrator.runner.runner import Runner
from migrator.runner.running import Options
from migrator.testing.memory import Hook
from migrator.testing.streams import MemoryStreams
from tests.engine.rewriting.house import NEW, OLD, House
from tests.simulation.world import wire


@dataclass
class Mirrored(House):
    """As House, with streams on both tables. `quiet`: no mirror works by itself."""

    made: MemoryStreams | None = None
    page: int = 10
    dead: list[BaseException] = field(default_factory=list)

    @staticmethod
    def around(operation: Any, *items: Mapping[str, Any], view: str = "NEW_AND_OLD_IMAGES", page: int = 10) -> Mirrored:
        house = House.of(operation)
        made = Mirrored(house.migrations, house.world, house.limits, house.tables, page=page)
        for table in (OLD, NEW):
            made.streams.enable(table, view)
        made.put(*items)
        return made

    @property
    def streams(self) -> MemoryStreams:
        if self.made is None:
            self.made = MemoryStreams(self.world.items, self.world.clock, page=self.page)
        return self.made

    def runner(self, *hooks: Hook, **options: Any) -> Runner:
        runner = House.runner(self, *hooks, **options)
        runner.session.ports = replace(runner.session.ports, streams=self.streams.as_another(list(hooks)))
        return runner

    # --- mirrors

    @contextmanager
    def worker(self, *hooks: Hook, wait: float | None = None) -> Iterator[Mirror]:
        """One that a test drives, step by step."""
        session = self.runner(*hooks).session
        with mirroring.opened(session, None, Options(lock_timeout=wait)) as mirror:
            mirror.begin()
            yield mirror

    @contextmanager
    def following(self, *hooks: Hook, every: float = 1.0) -> Iterator[Mirror]:
        """One that works by itself, whenever so many seconds of the clock have passed."""
        with ExitStack() as stack:
            mirror = stack.enter_context(self.worker(*hooks))
            going = [True]

            def work() -> None:
                if not going:
                    return
                try:
                    if isinstance(mirror.step(), str):
                        return
                except LeaseLost as exc:
                    self.dead.append(exc)
                    return
                self.world.clock.at(every, work)

            self.world.clock.at(every, work)
            try:
                yield mirror
            finally:
                going.clear()

    def drain(self, mirror: Mirror, most: int = 60) -> None:
        """Until there is nothing more to read."""
        idle = 0
        for _ in range(most):
            idle = 0 if mirror.step() else idle + 1
            if idle > 4:
                return
            self.world.clock.advance(1.0)
        raise AssertionError("the mirror never came to the end")

    # --- commands

    def ready(self, *hooks: Hook) -> Mirrored:
        self.prepared()
        with self.following():
            result = self.runner(*hooks).upgrade(app_ready=True)
        assert result.exit_code == 9, result
        return self

    def over(self, *hooks: Hook) -> Mirrored:
        """Cut over, by a mirror that was there only for that."""
        self.ready()
        with self.following():
            result = self.runner(*hooks).cutover(None, yes=True)
        assert result.exit_code == 9, result
        return self

    # --- what nobody but a test does

    def arn(self, table: str) -> str:
        info = self.streams.stream(table)
        assert info is not None
        return info.arn

    def set_phase(self, phase: str) -> None:
        (record,) = [one for one in self.kept("phase#") if one.address.sort == "phase"]
        body = {**record.body, "phase": phase, "generation": self.record.generation + 1}
        self.world.records.write(PutRecord(Record(record.address, record.token, body), Expect()))

    def forget_shards(self) -> None:
        for one in self.kept("mirror#"):
            if one.address.sort.startswith("shard#"):
                self.world.records.write(DeleteRecord(one.address, Expect()))

    # --- the application

    def put_new(self, item: Mapping[str, Any]) -> None:
        """A plain write on the new side, of an item given in its old form."""
        self.world.items.put(NEW, self.twin(wire(item)))

    def take_new(self, item: Mapping[str, Any]) -> None:
        twin = self.twin(wire(item))
        self.world.items.remove(NEW, {name: twin[name] for name in ("PK", "SK")})

    def take(self, item: Mapping[str, Any]) -> None:
        self.world.items.remove(OLD, wire({name: item[name] for name in ("PK", "SK")}))

    @property
    def state(self) -> Record:
        (found,) = [one for one in self.kept("mirror#") if one.address.sort == "state"]
        return found

    @property
    def said(self) -> list[str]:
        return [event.message for event in self.events if isinstance(event, Remark)]

    def assert_alike(self) -> None:
        assert self.new == self.twins(*self.old)
