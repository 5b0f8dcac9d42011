"""A sandbox for tests, in this process or at a URL, and accounts of it that share nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

from migrator.dynamo.errors import translated
from migrator.errors import MigratorError
from migrator.machine import SystemEntropy
from migrator.sandbox import Clock, Rule, Sandbox, Spec, Told, add_fault, clear_faults, open_client
from migrator.sandbox.interception import After, Before, Interception, Logged

REGION = "eu-west-1"
INDEX_BUILD = 0.05
"""Seconds of an index build: tests wait for many of them."""

_ELSEWHERE = (
    "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "AWS_ENDPOINT_URL_DYNAMODB",
    "AWS_ENDPOINT_URL_STS", "AWS_ENDPOINT_URL_CLOUDWATCH",
)  # fmt: skip
"""What would lead boto3 to other credentials or another endpoint."""


@dataclass(frozen=True, slots=True)
class Account:
    """A 12-digit account of a sandbox: its tables are seen by nobody else."""

    id: str
    endpoint_url: str
    region: str = REGION

    def client(self) -> Any:
        """A boto3 client for DynamoDB, to be closed. Its requests pass by interceptions and faults."""
        return open_client(self.endpoint_url, self.region, account=self.id, unseen=True)

    @contextmanager
    def as_environment(self) -> Iterator[None]:
        """The process's environment leads every new boto3 client here, and none to AWS, while the `with` lasts."""
        made = {
            "AWS_ACCESS_KEY_ID": self.id,
            "AWS_SECRET_ACCESS_KEY": "sandbox",
            "AWS_REGION": self.region,
            "AWS_DEFAULT_REGION": self.region,
            "AWS_ENDPOINT_URL": self.endpoint_url,
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        before = {name: os.environ.get(name) for name in (*made, *_ELSEWHERE)}
        try:
            for name in _ELSEWHERE:
                os.environ.pop(name, None)
            os.environ.update(made)
            yield
        finally:
            for name, value in before.items():
                os.environ.pop(name, None)
                if value is not None:
                    os.environ[name] = value

    def empty(self) -> None:
        """Delete every table of the account."""
        client = self.client()
        try:
            for page in client.get_paginator("list_tables").paginate():
                for name in page["TableNames"]:
                    if client.describe_table(TableName=name)["Table"].get("DeletionProtectionEnabled"):
                        client.update_table(TableName=name, DeletionProtectionEnabled=False)
                    client.delete_table(TableName=name)
        finally:
            client.close()


@dataclass(frozen=True, slots=True)
class SandboxEndpoint:
    """Where the tests' DynamoDB is. `sandbox` is the one in this process, None for one at a URL."""

    endpoint_url: str
    sandbox: Sandbox | None = None

    def new_account(self, region: str = REGION) -> Account:
        """An account that no other test, worker or run uses."""
        # Random, not counted: workers and other runs may be at the same URL.
        number = 100_000_000_000 + SystemEntropy().integer(64) % 900_000_000_000
        return Account(f"{number:012d}", self.endpoint_url, region)

    @property
    def requests(self) -> list[Logged]:
        """Every request of the tool and of the application since the start or the last `clear()`."""
        return self._own("the log of requests").requests

    def intercept(
        self,
        before: Before | None = None,
        *,
        after: After | None = None,
        operation: str | None = None,
        nth: int | None = None,
    ) -> AbstractContextManager[Interception]:
        """Run code before the engine sees a request, or after it has answered: see `Sandbox.intercept`."""
        return self._own("intercept").intercept(before, after=after, operation=operation, nth=nth)

    @contextmanager
    def fault(self, kind: str, **members: Any) -> Iterator[Told]:
        """A fault of production for the length of the `with`: `fault("throttle", operation="UpdateItem", times=3)`.

        Members are those of `migrator sandbox fault add`, with `lasts` for `for`. At a URL it strikes everybody there.
        """
        if "lasts" in members:
            members["for"] = members.pop("lasts")
        told = add_fault(self.endpoint_url, {"kind": kind, **members})
        try:
            yield told
        finally:
            clear_faults(self.endpoint_url, told.id)

    def _own(self, what: str) -> Sandbox:
        if self.sandbox is None:
            raise MigratorError(
                "sandbox-elsewhere",
                f"{what} needs the sandbox in this process; the tests use the one at {self.endpoint_url}",
                hint="pip install 'dynamodb-migrations[sandbox]' and leave --migrator-sandbox-url away",
            )
        return self.sandbox


@contextmanager
def sandbox_in_process(
    *, index_build: float = INDEX_BUILD, clock: Clock | None = None, faults: Sequence[Rule | Spec] = ()
) -> Iterator[SandboxEndpoint]:
    """A sandbox in this process, on a free port; needs the `sandbox` extra.

    `index_build` is in seconds of `clock`, by default the machine's; `faults` are those of Sandbox.
    """
    with Sandbox(index_build=index_build, clock=clock, faults=faults) as sandbox:
        yield SandboxEndpoint(sandbox.endpoint_url, sandbox)


@contextmanager
def sandbox_at(url: str) -> Iterator[SandboxEndpoint]:
    """A sandbox, or another DynamoDB for tests, that runs already. Raises `endpoint-unreachable` where none answers."""
    endpoint = SandboxEndpoint(url.rstrip("/"))
    client = endpoint.new_account().client()
    try:
        with translated("ListTables", url, "start it with `migrator sandbox start --detach`"):
            client.list_tables(Limit=1)
    finally:
        client.close()
    yield endpoint
