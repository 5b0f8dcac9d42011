"""The faults of a sandbox: a rule among its rules, to which faults are added and taken away while it runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from migrator.sandbox.actions import actions_of
from migrator.sandbox.clock import Clock
from migrator.sandbox.engine import Engine
from migrator.sandbox.faults.kind import Act, Kind, Situation
from migrator.sandbox.faults.match import Dice
from migrator.sandbox.faults.shards import Shards
from migrator.sandbox.faults.spec import Spec
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

    async def __call__(
        self, request: Request, proceed: Proceed, *, engine: Engine, clock: Clock, shards: Shards
    ) -> Reply:
        if not self._meets(request):
            return await proceed(request)
        actions = actions_of(engine, request)
        chosen = self.spec.match.chosen(engine, actions)
        if chosen is None or not (self.kind.decides or self.dice.falls()):
            return await proceed(request)
        here = Situation(engine, clock, self.spec.match, self.dice, request, actions, chosen, shards)
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
        self._active = ()
        self._made = 0
        self._shards.clear()
        for spec in self._beginning:
            self.add(spec)

    def add(self, spec: Spec) -> Told:
        """Let a fault begin; what acts at once has acted. Only on the event loop."""
        self._made += 1
        fault = Active(self._made, spec, spec.begin(), Dice(spec.match, self._clock))
        if isinstance(fault.kind, Act) and not spec.match.operations and self._engine is not None:
            fault.dice.falls()
            for account, region in self._scopes:
                self._engine.bind(account, region)
                fault.kind.act(self._engine, self._shards, spec.match)
        self._active = (*self._active, fault)
        return fault.told()

    def clear(self, number: int | None = None) -> int:
        """Take one fault away, or all; how many there were."""
        kept = tuple(fault for fault in self._active if number is not None and fault.id != number)
        removed = len(self._active) - len(kept)
        self._active = kept
        return removed

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
