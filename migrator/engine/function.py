"""What a RunPython function gets: the table behind guarded ports, in Python values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from migrator.control.layout import application_items
from migrator.core.change import Change, Delete, GuardLost, Put, Refused, TryAgain, Unknown, Update, Write, Written
from migrator.core.item import AttributeValue, Item, Key, Value, from_python, key_of, key_text, to_python
from migrator.core.raised import place_of
from migrator.core.steps import RunFunction
from migrator.engine.pacing.refusals import give_way
from migrator.engine.work import StepOutcome, Work
from migrator.errors import ENDING, MigratorError, Throttled

_ATTEMPTS = 20


class ItemChanged(MigratorError):
    """A guarded write of a RunPython function found the item changed: read it again and decide anew."""

    def __init__(self, key: Key):
        super().__init__(
            "item-changed",
            f"{key_text(key)} is not as it was expected: nothing was written",
            hint="catch ItemChanged, read the item again and decide anew",
        )


@dataclass(slots=True)
class GuardedTable:
    """One table for a RunPython function: consistent reads, and writes that say what they expect.

    Keys, items and values are Python values. There is no unguarded write here.
    """

    work: Work
    alias: str
    written: int = 0

    @property
    def _table(self) -> str:
        return self.work.name(self.alias)

    @property
    def key_names(self) -> tuple[str, ...]:
        return self.work.schema.table(self.alias).key_names

    def get(self, key: Mapping[str, Value]) -> dict[str, Value] | None:
        """The item, read consistently, or None."""
        item = self.work.items.get(self._table, self._key(key))
        return None if item is None else _python(item)

    def query(self, partition: Value, *, most: int = 10_000) -> list[dict[str, Value]]:
        """The items under a partition key, at most `most`; more raise `collection-too-large`."""
        name = self.key_names[0]
        found = self.work.items.query(self._table, {name: from_python(partition, name)}, most=most)
        if len(found) > most:
            raise MigratorError("collection-too-large", f"more than {most} items under {name}={partition!r}")
        return [_python(item) for item in found]

    def scan(self) -> Iterator[dict[str, Value]]:
        """Every application item of the table, page by page; no snapshot (facts §5)."""
        prefix = self.work.control_prefixes.get(self._table)
        start: Key | None = None
        while True:
            self.work.heed()
            self.work.pace.before("read")
            page = self.work.items.scan(self._table, start=start)
            self.work.pace.spent(page.consumed)
            yield from map(_python, application_items(page.items, self.key_names[0], prefix))
            if page.next is None:
                return
            start = page.next

    def update(
        self,
        key: Mapping[str, Value],
        *,
        expected: Mapping[str, Value],
        set: Mapping[str, Value] | None = None,  # noqa: A002 - the word of the update expression
        remove: tuple[str, ...] = (),
    ) -> None:
        """Change an item that exists and whose `expected` attributes are so; None expects an absent one.

        Raises ItemChanged where it is not.
        """
        sets = {name: from_python(value, name) for name, value in (set or {}).items()}
        self._write(Update(self._key(key), Change(_guard(expected), sets, frozenset(remove))))

    def put_if_absent(self, item: Mapping[str, Value]) -> None:
        """Put an item where none is. Raises ItemChanged where one is."""
        wire = {name: from_python(value, name) for name, value in item.items()}
        self._write(Put(wire, key_of(wire, self.key_names)))

    def delete(self, key: Mapping[str, Value], *, expected: Mapping[str, Value]) -> None:
        """Delete an item that exists and whose `expected` attributes are so. Raises ItemChanged where it is not."""
        self._write(Delete(self._key(key), _guard(expected)))

    def _key(self, key: Mapping[str, Value]) -> Key:
        return {name: from_python(key[name], name) for name in self.key_names}

    def _write(self, write: Write) -> None:
        work = self.work
        for attempt in range(_ATTEMPTS):
            work.heed()
            work.pace.before("write")
            answer = work.items.write(self._table, [write], work.lease)
            work.pace.spent(answer.consumed)
            (outcome,) = answer.outcomes
            match outcome:
                case Written():
                    self.written += 1
                    return
                case GuardLost():
                    raise ItemChanged(write.key)
                case Refused(code, message):
                    raise MigratorError(code, message)
                case Unknown(message):
                    raise MigratorError(
                        "answer-lost",
                        f"{key_text(write.key)}: {message}: the write may have been applied",
                        hint="run the same command again: the function must read before it writes",
                    )
                case TryAgain(code, _, reasons):
                    give_way(work.pace, self._table, code, reasons)
                    work.wait(work.entropy.uniform(0.0, min(5.0, 0.05 * 2**attempt)), "back-off after throttling")
                case _:
                    raise MigratorError("unexpected-outcome", f"{key_text(write.key)}: {outcome}")
        raise Throttled(f"writes to {self._table} were refused {_ATTEMPTS} times in a row")


def _guard(expected: Mapping[str, Value]) -> dict[str, AttributeValue | None]:
    return {name: None if value is None else from_python(value, name) for name, value in expected.items()}


def _python(item: Item) -> dict[str, Any]:
    return {name: to_python(value) for name, value in item.items()}


def run_function(work: Work, step_id: str, step: RunFunction) -> StepOutcome:
    """Call the function; a signal is noticed while it reads or waits."""
    # Before the first effect: a function that was interrupted has to be taken back, or has no way back.
    if not work.ledger.step(step_id).get("began"):
        work.ledger.note_step(step_id, began=True)
    table = GuardedTable(work, work.schema.alias(step.table))
    try:
        step.function(table)
    except MigratorError:
        raise
    except (Exception, *ENDING) as exc:
        raise MigratorError(
            "function-error",
            f"{getattr(step.function, '__name__', 'the function')}() raised {place_of(exc)}; "
            f"{table.written} of its writes were applied before",
            hint="mend the function and run the same command again: it starts from its beginning",
        ) from exc
    return StepOutcome(f"{table.written} written")
