"""Table settings over boto3: read, compared, and changed only where they differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, assert_never

from migrator.core.ports import Busy, LiveTable
from migrator.core.settings import BillingMode, DeletionProtection, PointInTimeRecovery, Setting, Stream, TimeToLive
from migrator.dynamo import requests
from migrator.dynamo.client import Clients
from migrator.dynamo.retry import Retry
from migrator.errors import ServiceError, UsageError


class Update(Protocol):
    """UpdateTable with the members given; values that change nothing are a success."""

    def __call__(self, name: str, **change: Any) -> None: ...


class TableSettings:
    """Settings of tables, of which `live` describes one that must be there and `update` changes one."""

    def __init__(self, clients: Clients, retry: Retry, live: Callable[[str], LiveTable], update: Update):
        self._clients = clients
        self._retry = retry
        self._live = live
        self._update = update

    def read(self, name: str, kind: type[Setting]) -> Setting:
        if kind is TimeToLive:
            status, attribute = self._time_to_live(name)
            return TimeToLive(attribute if status in ("ENABLED", "ENABLING") else None)
        if kind is PointInTimeRecovery:
            return self._recovery(name)
        live = self._live(name)
        if kind is Stream:
            return Stream(live.stream)  # type: ignore[arg-type]
        if kind is DeletionProtection:
            return DeletionProtection(live.deletion_protection)
        if kind is BillingMode:
            return _billing(live)
        raise TypeError(f"{kind.__name__} is no setting of a table")

    def change(self, name: str, setting: Setting) -> None:
        match setting:
            case TimeToLive():
                self._change_time_to_live(name, setting)
            case PointInTimeRecovery():
                self._change_recovery(name, setting)
            case Stream():
                self._change_stream(name, setting)
            case DeletionProtection():
                if self._live(name).deletion_protection != setting.enabled:
                    self._update(name, DeletionProtectionEnabled=setting.enabled)
            case BillingMode():
                self._change_billing(name, setting)
            case _:
                assert_never(setting)

    # --- time to live -------------------------------------------------------------------------------------------------

    def _time_to_live(self, name: str) -> tuple[str, str | None]:
        answer = self._retry.request(
            "dynamodb:DescribeTimeToLive",
            name,
            lambda: self._clients.tables.describe_time_to_live(TableName=name),
            self._clients.access.hint,
        )
        found = answer.get("TimeToLiveDescription", {})
        return found.get("TimeToLiveStatus", "DISABLED"), found.get("AttributeName")

    def _change_time_to_live(self, name: str, wanted: TimeToLive) -> None:
        status, attribute = self._time_to_live(name)
        is_on = status in ("ENABLED", "ENABLING")
        if wanted.attribute == (attribute if is_on else None):
            return
        if status in ("ENABLING", "DISABLING"):
            raise Busy(f"TTL of {name} is {status}")
        if is_on and attribute is not None:
            self._set_time_to_live(name, attribute, enabled=False)
            if wanted.attribute is not None:
                raise Busy(f"TTL of {name} on {attribute!r} goes off first, then on for {wanted.attribute!r}")
        elif wanted.attribute is not None:
            self._set_time_to_live(name, wanted.attribute, enabled=True)

    def _set_time_to_live(self, name: str, attribute: str, *, enabled: bool) -> None:
        try:
            self._retry.request(
                "dynamodb:UpdateTimeToLive",
                name,
                lambda: self._clients.tables.update_time_to_live(
                    TableName=name, TimeToLiveSpecification={"Enabled": enabled, "AttributeName": attribute}
                ),
                self._clients.access.hint,
            )
        except ServiceError as exc:
            if exc.code == "validation" and "modified multiple times" in exc.message:
                # One change an hour.
                raise Busy(exc.message) from exc
            if exc.code == "validation" and f"already {'enabled' if enabled else 'disabled'}" in exc.message:
                return
            raise

    # --- point-in-time recovery ---------------------------------------------------------------------------------------

    def _recovery(self, name: str) -> PointInTimeRecovery:
        answer = self._retry.request(
            "dynamodb:DescribeContinuousBackups",
            name,
            lambda: self._clients.tables.describe_continuous_backups(TableName=name),
            self._clients.access.hint,
        )
        found = answer.get("ContinuousBackupsDescription", {}).get("PointInTimeRecoveryDescription", {})
        return PointInTimeRecovery(found.get("PointInTimeRecoveryStatus") == "ENABLED")

    def _change_recovery(self, name: str, wanted: PointInTimeRecovery) -> None:
        if self._recovery(name) == wanted:
            return
        self._retry.request(
            "dynamodb:UpdateContinuousBackups",
            name,
            lambda: self._clients.tables.update_continuous_backups(
                TableName=name, PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": wanted.enabled}
            ),
            self._clients.access.hint,
        )

    # --- stream and billing -------------------------------------------------------------------------------------------

    def _change_stream(self, name: str, wanted: Stream) -> None:
        found = self._live(name).stream
        if found == wanted.view:
            return
        self._update(name, StreamSpecification=requests.stream(None if found is not None else wanted.view))
        if found is not None and wanted.view is not None:
            # A stream's view never changes: off, then on again as a new stream (facts §7).
            raise Busy(f"the {found} stream of {name} goes off first, then on as {wanted.view}")

    def _change_billing(self, name: str, wanted: BillingMode) -> None:
        live = self._live(name)
        if wanted.mode == "PAY_PER_REQUEST":
            if live.shape.billing_mode != "PAY_PER_REQUEST":
                self._update(name, BillingMode="PAY_PER_REQUEST")
            return
        units = wanted.table or live.shape.provisioned
        if units is None:
            raise UsageError(
                "throughput-missing",
                f"table {name} is to be PROVISIONED, and nothing says how many units",
                hint="give BillingMode units for the table and each of its indexes",
            )
        named = dict(wanted.indexes)
        switching = live.shape.billing_mode != "PROVISIONED"
        updates = []
        for index, found in live.indexes.items():
            # Switching names every index in the same call (facts §1.8).
            of_index = named.get(index, units if switching else found.definition.provisioned)
            if of_index is not None and (switching or of_index != found.definition.provisioned):
                updates.append({"Update": {"IndexName": index, "ProvisionedThroughput": requests.capacity(of_index)}})
        change: dict[str, Any] = {"GlobalSecondaryIndexUpdates": updates} if updates else {}
        if switching:
            change["BillingMode"] = "PROVISIONED"
        if switching or units != live.shape.provisioned:
            change["ProvisionedThroughput"] = requests.capacity(units)
        if change:
            self._update(name, **change)


def _billing(live: LiveTable) -> BillingMode:
    if live.shape.billing_mode == "PAY_PER_REQUEST":
        return BillingMode("PAY_PER_REQUEST")
    found = sorted(live.indexes.items())
    return BillingMode(
        "PROVISIONED",
        live.shape.provisioned,
        tuple((name, index.definition.provisioned) for name, index in found if index.definition.provisioned),
    )
