"""Server errors and what a network does: late, broken off, lost. Waits are real seconds, as the client counts them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from migrator.sandbox.faults.kind import Kind, Seconds, Situation
from migrator.sandbox.layer import Proceed
from migrator.sandbox.trouble import Trouble
from migrator.sandbox.wire import Drop, Reply

_TEXTS = {
    "InternalServerError": (500, "Internal server error"),
    "ServiceUnavailable": (503, "The service is temporarily unavailable, please retry."),
}


@dataclass
class Error(Kind):
    """Answers 500 or 503; with `applied` after the request has taken effect, which the answer does not tell."""

    code: Literal["InternalServerError", "ServiceUnavailable"] = "InternalServerError"
    applied: bool = False

    async def meet(self, here: Situation, proceed: Proceed) -> Reply:
        if self.applied:
            await proceed(here.request)
        status, text = _TEXTS[self.code]
        return Trouble(self.code, text, status).response(here.request)


@dataclass
class Latency(Kind):
    """Delays the request by `delay`, or by something between that and `up_to`."""

    delay: Seconds = 0.1
    up_to: Seconds | None = None

    async def meet(self, here: Situation, proceed: Proceed) -> Reply:
        longest = self.delay if self.up_to is None else self.up_to
        await here.pause(here.dice.uniform(self.delay, longest))
        return await proceed(here.request)


@dataclass
class Reset(Kind):
    """Breaks the connection off before the request takes effect."""

    async def meet(self, here: Situation, proceed: Proceed) -> Reply:
        del here, proceed
        return Drop()


@dataclass
class Lost(Kind):
    """Lets the request take effect and breaks the connection off before its answer."""

    async def meet(self, here: Situation, proceed: Proceed) -> Reply:
        await proceed(here.request)
        return Drop()


@dataclass
class Timeout(Kind):
    """Answers nothing for `within`, then breaks the connection off; with `applied` the request takes effect first."""

    within: Seconds = 60.0
    applied: bool = False

    async def meet(self, here: Situation, proceed: Proceed) -> Reply:
        if self.applied:
            await proceed(here.request)
        await here.pause(self.within)
        return Drop()
