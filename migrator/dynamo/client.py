"""The boto3 clients: two for DynamoDB, so that polling and guarded writes do not share time-outs or connections."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config

from migrator.core.ports import Permit
from migrator.dynamo.credentials import Access, Connection, is_loopback, resolve
from migrator.dynamo.errors import translated
from migrator.dynamo.readonly import before_changes, read_only, refuse_changes
from migrator.errors import MigratorError

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch import CloudWatchClient
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodbstreams import DynamoDBStreamsClient

ITEM_SECONDS = (3.0, 6.0)
"""To connect, and to wait for an answer: shorter than a third of a lease, so that a lost one is judged in time."""
LOCAL_ACCOUNT = "000000000000"
_permit: ContextVar[Permit | None] = ContextVar("permit", default=None)


@contextmanager
def under(permit: Permit) -> Iterator[None]:
    """Every request of this thread asks `permit` immediately before it is signed, whichever attempt it is."""
    token = _permit.set(permit)
    try:
        yield
    finally:
        _permit.reset(token)


def ask_permit(refresh_credentials: Callable[[], object] | None) -> None:
    """Ask the permit under which this thread sends, if there is one. Raises what it raises."""
    permit = _permit.get()
    if permit is None:
        return
    # Refreshing credentials may take seconds. Here it comes before the question; while signing, after it.
    if refresh_credentials is not None:
        refresh_credentials()
    permit.check()


@dataclass(frozen=True, slots=True)
class Identity:
    """Whose credentials these are."""

    account: str
    arn: str


class Clients:
    """The clients of one connection. Close it, or use it in a `with`.

    Where an account is expected, no request that changes anything leaves before the account is known to be that one.
    """

    def __init__(self, access: Access, connection: Connection, *, workers: int = 16):
        self.access = access
        self.workers = workers
        self._read_only = connection.read_only
        self._expected_account = connection.expected_account
        self._confirmed: Identity | None = None
        self._session = boto3.Session(botocore_session=access.session, region_name=access.region)
        self._regional: dict[str, DynamoDBClient] = {}
        self._services: dict[str, Any] = {}
        self._lock = Lock()
        self._opened: list[Any] = []
        self.tables: DynamoDBClient = self._open("dynamodb", access.endpoint_url, connect=5, read=30)
        connect, read = ITEM_SECONDS
        self.items: DynamoDBClient = self._open("dynamodb", access.endpoint_url, connect=connect, read=read)
        self.items.meta.events.register("before-sign.dynamodb", self._ask_permit)

    @cached_property
    def cloudwatch(self) -> CloudWatchClient:
        client: CloudWatchClient = self._open("cloudwatch", self.access.loopback_url, connect=3, read=5)
        return client

    @cached_property
    def streams(self) -> DynamoDBStreamsClient:
        client: DynamoDBStreamsClient = self._open("dynamodbstreams", self.access.endpoint_url, connect=5, read=30)
        return client

    @cached_property
    def sts(self) -> Any:
        # Asked once and outside any lease, so botocore may retry; a sandbox that is not running is not waited for.
        attempts = 1 if self.access.is_loopback else 4
        return self._open("sts", self.access.loopback_url, connect=5, read=10, attempts=attempts)

    def service(self, name: str) -> Any:
        """A client of another service, such as `iam`, for questions about the account.

        Its calls are worth one attempt: what nobody answers is unknown.
        """
        with self._lock:
            if name not in self._services:
                self._services[name] = self._open(name, self.access.loopback_url, connect=3, read=10)
            return self._services[name]

    @property
    def region(self) -> str:
        return self.access.region

    def tables_in(self, region: str) -> DynamoDBClient:
        """The control-plane client of another Region, for the replicas of a global table."""
        if region == self.region:
            return self.tables
        with self._lock:
            if region not in self._regional:
                self._regional[region] = self._open(
                    "dynamodb", self.access.endpoint_url, connect=5, read=30, region=region
                )
            return self._regional[region]

    def whoami(self) -> Identity:
        """Account and ARN of the credentials; the first request of a run, so it finds what is wrong with them."""
        try:
            with translated("sts:GetCallerIdentity", self.access.loopback_url or "AWS STS", self.access.hint):
                answer = self.sts.get_caller_identity()
        except MigratorError as exc:
            # An engine on this machine need not have an STS, and what DynamoDB Local answers in its place is no XML.
            if self.access.is_loopback and exc.code not in (
                "endpoint-unreachable",
                "access-denied",
                "credentials-expired",
            ):
                return Identity(LOCAL_ACCOUNT, "")
            raise
        return Identity(answer.get("Account", LOCAL_ACCOUNT), answer.get("Arn", ""))

    def confirm_account(self) -> Identity:
        """Who this is. Raises `wrong-account` where the account is not the expected one."""
        with self._lock:
            if self._confirmed is None:
                self._confirmed = self._as_expected(self.whoami())
            return self._confirmed

    def _as_expected(self, found: Identity) -> Identity:
        if self._expected_account is None or found.account == self._expected_account:
            return found
        raise MigratorError(
            "wrong-account",
            f"these credentials are of account {found.account} ({found.arn}), expected_account is "
            f"{self._expected_account}; nothing was written",
            hint="choose the credentials of that account (AWS_PROFILE, role_arn), or mend expected_account",
        )

    def before_change(self, operation: str) -> None:
        """For requests that other connections send: what these clients ask before each that may change anything.

        `operation` as in `dynamodb:PutItem`. Raises `read-only-client`, `wrong-account`.
        """
        if self._read_only:
            raise read_only(operation)
        if self._expected_account is not None:
            self._confirm_once()

    def close(self) -> None:
        for client in self._opened:
            client.close()
        self._opened.clear()

    def __enter__(self) -> Clients:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _open(
        self,
        service: str,
        endpoint: str | None,
        *,
        connect: float,
        read: float,
        region: str = "",
        attempts: int = 1,
    ) -> Any:
        config = Config(
            # One attempt: the retry layer is ours, and a hidden retry would outlive a lease.
            retries={"total_max_attempts": attempts, "mode": "standard"},
            connect_timeout=connect,
            read_timeout=read,
            max_pool_connections=self.workers + 4,
            tcp_keepalive=True,
            user_agent_extra=user_agent(),
            # A proxy of the environment is the way out; it knows no way back to this machine.
            proxies={} if endpoint is not None and is_loopback(endpoint) else None,
        )
        with translated(f"opening a client of {service}", ""):
            client = self._session.client(  # type: ignore[call-overload]
                service, region_name=region or self.region, endpoint_url=endpoint, config=config
            )
        self._opened.append(client)
        if self._read_only:
            refuse_changes(client)
        elif self._expected_account is not None and service != "sts":
            before_changes(client, lambda _: self._confirm_once())
        return client

    def _confirm_once(self) -> None:
        if self._confirmed is None:
            self.confirm_account()

    def _ask_permit(self, **_: Any) -> None:
        credentials = self.access.session.get_credentials()
        ask_permit(None if credentials is None else credentials.get_frozen_credentials)


def connect(connection: Connection, environ: Mapping[str, str], *, workers: int = 16) -> Clients:
    """Clients for a connection; nothing is sent yet. `workers` is how many requests may be under way at once.

    Raises MigratorError: no-credentials, no-region, no-profile.
    """
    return Clients(resolve(connection, environ), connection, workers=workers)


def user_agent(app: str | None = None) -> str:
    """How this package, and the application of that id, are told apart in CloudTrail."""
    return f"dynamodb-migrations/{_version()}" + (f" app/{app}" if app else "")


def _version() -> str:
    try:
        return version("dynamodb-migrations")
    except PackageNotFoundError:
        return "source"
