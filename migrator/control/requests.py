"""What operators ask of the run that holds the lock: pause, throttle, cancel.

They live in a record of their own, which the holder only reads, so that neither side can overwrite the other's. It
names the owner it is meant for: what was asked of one run says nothing to the next. A length of time is counted by the
holder from when it first sees the request, on its own clock; wall-clock times are for people.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta

from migrator.control.body import Body
from migrator.control.layout import REQUESTS
from migrator.core.ports import Expect, Json, PutRecord, Record, Records
from migrator.errors import MigratorError, RecordConflict

_TRIES = 5
"""Of a change that finds the record changed by another operator."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Who asked, when, and for how long."""

    nonce: str
    """Another request of the same kind has another one: its time counts anew."""
    by: str
    host: str
    at: str
    """ISO 8601 by the asker's wall clock: shown, never compared."""
    seconds: float | None = None
    """How long it holds from when the run first sees it; None: until it is taken back or the run ends."""
    because: str = ""

    @property
    def who(self) -> str:
        """`dana (host laptop-3)`."""
        return self.by + (f" (host {self.host})" if self.host else "")

    @property
    def since(self) -> str:
        """`since 12:04:10 UTC`, with the end where there is one, by the asker's clock."""
        try:
            begun = datetime.fromisoformat(self.at)
            end = "" if self.seconds is None else f" until {begun + timedelta(seconds=self.seconds):%H:%M:%S} UTC"
        except (ValueError, OverflowError):
            return f"since {self.at}"
        return f"since {begun:%H:%M:%S} UTC{end}"


@dataclass(frozen=True, slots=True)
class Throttle:
    """Budgets in place of the configured ones, as they are written there: `500`, `25%`; "" leaves one as it is."""

    asked: Asked
    write_units: str = ""
    read_units: str = ""

    @property
    def text(self) -> str:
        """`500 write units/s`."""
        given = [(way, units) for way, units in (("write", self.write_units), ("read", self.read_units)) if units]
        return ", ".join(
            f"{units} of the {way} capacity" if units.endswith("%") else f"{units} {way} units/s"
            for way, units in given
        )


@dataclass(frozen=True, slots=True)
class Requests:
    """What is asked of one run."""

    owner: str
    """The nonce of the run that it is meant for."""
    pause: Asked | None = None
    throttle: Throttle | None = None
    cancel: Asked | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        """One line for each, for a person."""
        found = []
        if self.cancel is not None:
            found.append(_line("cancelled", self.cancel))
        if self.pause is not None:
            found.append(_line("paused", self.pause))
        if self.throttle is not None:
            found.append(_line(f"throttled to {self.throttle.text}", self.throttle.asked))
        return tuple(found)

    @staticmethod
    def of(record: Record) -> Requests:
        body = Body(record)
        throttle = body.mapping("throttle")
        return Requests(
            body.text("owner"),
            _asked(record, body.mapping("pause")),
            _throttle(record, throttle) if throttle else None,
            _asked(record, body.mapping("cancel")),
        )

    def record(self) -> Record:
        body: dict[str, Json] = {"owner": self.owner}
        if self.pause is not None:
            body["pause"] = _plain(self.pause)
        if self.cancel is not None:
            body["cancel"] = _plain(self.cancel)
        if self.throttle is not None:
            units = {"write_units": self.throttle.write_units, "read_units": self.throttle.read_units}
            body["throttle"] = {**_plain(self.throttle.asked), **units}
        return Record(REQUESTS, 0, body)


class RequestBook:
    """The record of requests. No lease guards it: whoever may write control records may ask."""

    def __init__(self, records: Records):
        self._records = records

    def of(self, owner: str) -> Requests:
        """What is asked of the run with this nonce; nothing where the record is meant for another."""
        return self._meant_for(owner, self._records.get(REQUESTS))

    def change(self, owner: str, change: Callable[[Requests], Requests]) -> Requests:
        """Ask for something else of the run with this nonce. What was meant for another run is forgotten."""
        for left in reversed(range(_TRIES)):
            stored = self._records.get(REQUESTS)
            wanted = change(self._meant_for(owner, stored))
            expect = Expect(absent=True) if stored is None else Expect(absent=False, version=stored.version)
            try:
                self._records.write(PutRecord(wanted.record(), expect))
            except RecordConflict:
                if not left:
                    raise
            else:
                return wanted
        raise AssertionError("unreachable")

    @staticmethod
    def _meant_for(owner: str, stored: Record | None) -> Requests:
        if stored is None:
            return Requests(owner)
        try:
            found = Requests.of(stored)
        except MigratorError:
            if stored.body.get("owner") == owner:
                raise
            return Requests(owner)
        return found if found.owner == owner else Requests(owner)


def without(requests: Requests, nonces: frozenset[str]) -> Requests:
    """The requests but those whose time is over."""

    def kept(asked: Asked | None) -> bool:
        return asked is not None and asked.nonce not in nonces

    throttle = requests.throttle
    return replace(
        requests,
        pause=requests.pause if kept(requests.pause) else None,
        throttle=throttle if throttle is not None and kept(throttle.asked) else None,
    )


def _line(what: str, asked: Asked) -> str:
    return f"{what} by {asked.who} {asked.since}" + (f": {asked.because}" if asked.because else "")


def _plain(asked: Asked) -> dict[str, Json]:
    fields: dict[str, Json] = asdict(asked)
    seconds = fields.pop("seconds")
    return fields if seconds is None else {**fields, "for_ms": round(seconds * 1000)}


def _asked(record: Record, fields: Mapping[str, Json]) -> Asked | None:
    if not fields:
        return None
    body = Body(replace(record, body=fields))
    milliseconds = body.integer("for_ms", -1)
    return Asked(
        body.text("nonce"),
        body.text("by", ""),
        body.text("host", ""),
        body.text("at", ""),
        None if milliseconds < 0 else milliseconds / 1000,
        body.text("because", ""),
    )


def _throttle(record: Record, fields: Mapping[str, Json]) -> Throttle:
    asked = _asked(record, fields)
    assert asked is not None
    body = Body(replace(record, body=fields))
    return Throttle(asked, body.text("write_units", ""), body.text("read_units", ""))
