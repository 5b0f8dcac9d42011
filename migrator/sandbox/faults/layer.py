"""The faults of a sandbox: a rule among its rules, to which faults are added and taken away while it runs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from migrator.sandbox.actions import actions_of
from migrator.sandbox.clock import Clock
from migrator.sandbox.engine import Engine
from migrator.sandbox.faults.kind import Act, Kind, Situation
from migrator.sandbox.faults.match import Dice
from migrator.sandbox.faults.shards import Shards
from migrator.sandbox.faults.spec import BadFault, Spec
from migrator.sandbox.interception import UNSEEN
from migrator.sandbox.layer import Proceed
from migrator.sandbox.wire import Reply, Request


@dataclass(frozen=True, slots=True)
class Told:
    """A fault as it stands: how many requests it met that it could have struck, and how many it struck."""

    id: int
    fault: str
    """As `migrator sandbox fault add` takes it."""
    met: int
    struck: int
    is_over: bool


@dataclass(eq=False)
class Active:
    """One fault that has begun."""

    id: int
    spec: Spec
    kind: Kind
    dice: Dice
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(
        self, request: Request, proceed: Proceed, *, engine: Engine, clock: Clock, shards: Shards
    ) -> Reply:
        if not self._meets(request):
            return await proceed(request)
        actions = actions_of(engine, request)
        chosen = self.spec.match.chosen(engine, actions)
        if chosen is None or not (self.kind.decides or self.dice.falls()):
            return await proceed(request)
        here = Situation(engine, clock, self.spec.match, self.dice, request, actions, chosen, shards, self.ended)
        return await self.kind.meet(here, proceed)

    def _meets(self, request: Request) -> bool:
        if isinstance(self.kind, Act) and not self.spec.match.operations:
            return False
        if named := self.spec.match.operations:
            return self.kind.by_action or request.operation in named
        if self.kind.by_default is not None:
            return request.operation in self.kind.by_default
        return self.kind.everywhere or request.service == "dynamodb"

    def told(self) -> Told:
        acted = isinstance(self.kind, Act) and not self.spec.match.operations
        return Told(self.id, str(self.spec), self.dice.met, self.dice.struck, acted or self.dice.is_over)


class Faults:
    """The faults, in the order in which they were added: the first meets a request first.

    The requests of an unseen client pass them by. A reset brings back the faults of the beginning.
    """

    def __init__(self, clock: Clock, beginning: Sequence[Spec] = ()) -> None:
        self._clock = clock
        self._beginning = tuple(beginning)
        self._engine: Engine | None = None
        self._scopes: dict[tuple[str, str], None] = {}
        self._shards = Shards()
        self._active: tuple[Active, ...] = ()
        self._made = 0

    def start(self, engine: Engine) -> None:
        self._engine = engine
        self.reset()

    def reset(self) -> None:
        self.clear()
        self._made = 0
        self._shards.clear()
        for spec in self._beginning:
            self.add(spec)

    def add(self, spec: Spec) -> Told:
        """Let a fault begin; what acts at once has acted, or BadFault says why not. Only on the event loop."""
        fault = Active(self._made + 1, spec, spec.begin(), Dice(spec.match, self._clock))
        if isinstance(fault.kind, Act) and not spec.match.operations:
            self._act(fault.kind, spec)
            fault.dice.falls()
        self._made += 1
        self._active = (*self._active, fault)
        return fault.told()

    def _act(self, kind: Act, spec: Spec) -> None:
        """In every account and region that has the table."""
        name, engine = spec.match.table, self._engine
        reasons: list[str] = []
        if engine is not None:
            for account, region in self._scopes:
                engine.bind(account, region)
                if engine.table(name) is not None:
                    reasons.append(kind.act(engine, self._shards, spec.match))
        if not reasons:
            raise BadFault("fault, table", f"there is no table {name} in the sandbox")
        if all(reasons):
            raise BadFault("fault, table", f"{spec.kind} cannot happen to {name}: {reasons[0]}")

    def clear(self, number: int | None = None) -> int:
        """Take one fault away, or all; how many there were."""
        gone = [fault for fault in self._active if number is None or fault.id == number]
        self._active = tuple(fault for fault in self._active if fault not in gone)
        for fault in gone:
            fault.ended.set()
        return len(gone)

    def told(self) -> tuple[Told, ...]:
        return tuple(fault.told() for fault in self._active)

    async def __call__(self, request: Request, proceed: Proceed) -> Reply:
        self._scopes[request.account, request.region] = None
        proceed = partial(self._shards, proceed=proceed)
        engine = self._engine
        if engine is None or not request.operation or UNSEEN in request.headers.get("user-agent", ""):
            return await proceed(request)
        for fault in reversed(self._active):
            proceed = partial(fault, proceed=proceed, engine=engine, clock=self._clock, shards=self._shards)
        return await proceed(request)
