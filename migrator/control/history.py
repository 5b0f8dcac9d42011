"""The history: one record a revision, of what was done, by whom, and how far it came."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, cast, get_args

from migrator.control.body import Body, counts_body, damaged
from migrator.control.layout import HISTORY, history
from migrator.control.lease import Lease
from migrator.core.events import Counts, Way
from migrator.core.ports import DeleteRecord, Expect, Json, PutRecord, Record, Records
from migrator.errors import MigratorError

Status: TypeAlias = Literal["started", "applied", "failed", "incomplete", "at-gate", "rolled-back"]

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Entry:
    """What the history holds of a revision. Times are ISO 8601, UTC, for people."""

    revision: str
    down_revisions: tuple[str, ...] = ()
    message: str = ""
    status: Status = "started"
    way: Way = "up"
    """What the work is that has this status: unfinished work is resumed this way."""
    checksum: str = ""
    content_hash: str = ""
    modules: tuple[str, ...] = ()
    who: str = ""
    host: str = ""
    run: str = ""
    tool: str = ""
    started_at: str = ""
    finished_at: str = ""
    counts: Counts = field(default_factory=Counts)
    error: str = ""
    error_code: str = ""
    objects: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    """The name of an index, a setting or a table -> {"fate": …, "previous": …, "intent": true}.

    `fate` is created, adopted, dropped or changed; `intent` stands while the call is in flight; `previous` is what was
    there before, as JSON.
    """
    steps: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    """Step id -> its state, such as {"done": true, "fresh": […]}."""
    gate: str = ""
    """The question that it waits at, and `waits_for` the stage behind it: ready, cutover or complete."""
    waits_for: str = ""
    notes: tuple[str, ...] = ()
    """Repairs, oldest first."""
    unknown: Mapping[str, Json] = field(default_factory=dict)
    """Fields of a later version of this tool: kept as they are."""

    @property
    def stands(self) -> bool:
        """Whether what the revision does is there: it is applied, or done up to its gate."""
        return self.status in ("applied", "at-gate")

    @property
    def is_unfinished(self) -> bool:
        """Whether it began, this `way`, and came to no end."""
        return self.status in ("started", "failed", "incomplete")

    @staticmethod
    def of(record: Record) -> Entry:
        body = Body(record)
        version = body.integer("format", FORMAT)
        if version > FORMAT:
            raise MigratorError(
                "newer-record",
                f"revision {record.address.sort} was recorded in format {version}, by a later version of this tool",
                hint="upgrade this tool to at least that version",
            )
        if body.text("revision") != record.address.sort:
            raise damaged(record.address, f"it is of revision {body.text('revision')!r}")
        return Entry(
            revision=record.address.sort,
            down_revisions=body.texts("down_revisions"),
            message=body.text("message", ""),
            status=cast(Status, body.choice("status", get_args(Status))),
            way=cast(Way, body.choice("way", get_args(Way), "up")),
            checksum=body.text("checksum", ""),
            content_hash=body.text("content_hash", ""),
            modules=body.texts("modules"),
            who=body.text("who", ""),
            host=body.text("host", ""),
            run=body.text("run", ""),
            tool=body.text("tool", ""),
            started_at=body.text("started_at", ""),
            finished_at=body.text("finished_at", ""),
            counts=body.counts(),
            error=body.text("error", ""),
            error_code=body.text("error_code", ""),
            objects=body.mappings("objects"),
            steps=body.mappings("steps"),
            gate=body.text("gate", ""),
            waits_for=body.text("waits_for", "complete" if body.text("gate", "") else ""),
            notes=body.texts("notes"),
            unknown={name: value for name, value in record.body.items() if name not in _KNOWN},
        )

    def body(self) -> dict[str, Json]:
        """The entry as plain values."""
        return {
            **self.unknown,
            "format": FORMAT,
            "revision": self.revision,
            "down_revisions": list(self.down_revisions),
            "message": self.message,
            "status": self.status,
            "way": self.way,
            "checksum": self.checksum,
            "content_hash": self.content_hash,
            "modules": list(self.modules),
            "who": self.who,
            "host": self.host,
            "run": self.run,
            "tool": self.tool,
            "started_at": self.started_at,
            "finished_at": self.finished_at,
            "counts": counts_body(self.counts),
            "error": self.error,
            "error_code": self.error_code,
            "objects": {name: dict(state) for name, state in self.objects.items()},
            "steps": {name: dict(state) for name, state in self.steps.items()},
            "gate": self.gate,
            "waits_for": self.waits_for,
            "notes": list(self.notes),
        }


_KNOWN = frozenset(Entry("").body())


def index_object(alias: str, index: str) -> str:
    """The name of an index in `Entry.objects`."""
    return f"index:{index}@{alias}"


def setting_object(alias: str, setting: str) -> str:
    """The name of a table's setting in `Entry.objects`."""
    return f"setting:{setting}@{alias}"


def table_object(alias: str) -> str:
    """The name of a table in `Entry.objects`."""
    return f"table:{alias}"


class History:
    """The entries. Each write checks in its transaction that the lock is still held."""

    def __init__(self, records: Records):
        self._records = records

    def entries(self) -> dict[str, Entry]:
        """Every entry, by revision, in order of ids."""
        return {record.address.sort: Entry.of(record) for record in self._records.query(HISTORY)}

    def get(self, revision: str) -> Entry | None:
        record = self._records.get(history(revision))
        return None if record is None else Entry.of(record)

    def save(self, entry: Entry, lease: Lease) -> None:
        """Raises LeaseLost where the lock is no longer this run's."""
        record = Record(history(entry.revision), lease.token, entry.body())
        lease.write(PutRecord(record, Expect(most_token=lease.token)), lease.held_check())

    def remove(self, revision: str, lease: Lease) -> None:
        """Forget a revision, as if it had never run."""
        lease.write(DeleteRecord(history(revision), Expect(most_token=lease.token)), lease.held_check())
