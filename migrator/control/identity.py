"""Which tables the history is about: TableIds by alias. A restored or re-created table has another one."""

from __future__ import annotations

from collections.abc import Mapping

from migrator.control.body import Body
from migrator.control.layout import IDENTITY, identity
from migrator.control.lease import Lease
from migrator.core.ports import Expect, PutRecord, Record, Records
from migrator.errors import MigratorError


class Identity:
    """The TableIds that the control records belong to."""

    def __init__(self, records: Records):
        self._records = records

    def bound(self) -> dict[str, str]:
        """Alias -> TableId."""
        return {record.address.sort: Body(record).text("table_id") for record in self._records.query(IDENTITY)}

    def verify(self, live: Mapping[str, str]) -> None:
        """Raises `restored-table` where an alias is bound to another table than the live one; unbound ones pass.

        `live`: alias -> TableId. Everything but `status`, `check` and `repair --restored` stops on it.
        """
        bound = self.bound()
        moved = sorted(alias for alias, table_id in live.items() if bound.get(alias, table_id) != table_id)
        if moved:
            raise _restored({alias: (bound[alias], live[alias]) for alias in moved})

    def bind(self, alias: str, table_id: str, lease: Lease) -> None:
        """Bind an alias for the first time; again with the same TableId does nothing, with another it is an error."""
        stored = self._records.get(identity(alias))
        if stored is None:
            self._put(alias, table_id, lease)
        elif Body(stored).text("table_id") != table_id:
            raise _restored({alias: (Body(stored).text("table_id"), table_id)})

    def rebind(self, alias: str, table_id: str, lease: Lease) -> None:
        """Bind an alias to the table that stands there now: the operator says that its history holds."""
        self._put(alias, table_id, lease)

    def _put(self, alias: str, table_id: str, lease: Lease) -> None:
        record = Record(identity(alias), lease.token, {"table_id": table_id})
        lease.write(PutRecord(record, Expect(most_token=lease.token)), lease.held_check())


def _restored(moved: Mapping[str, tuple[str, str]]) -> MigratorError:
    tables = "; ".join(f"{alias}: TableId {live}, recorded {bound}" for alias, (bound, live) in moved.items())
    return MigratorError(
        "restored-table",
        f"these control records belong to another table, of which this one is a copy or a successor ({tables})",
        hint="if the history holds for the table that stands there now: `migrator repair --restored`",
    )
