"""The composition root: builds a Runner from a configuration. Time, randomness and the environment enter here."""

from __future__ import annotations

import getpass
import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from migrator.config import Settings, load_config
from migrator.core.events import Remark, Report
from migrator.core.graph import Graph
from migrator.core.settings import PointInTimeRecovery, TimeToLive
from migrator.dynamo.client import Clients, connect
from migrator.dynamo.credentials import Connection
from migrator.dynamo.items import DynamoItems
from migrator.dynamo.layout import Layout
from migrator.dynamo.metrics import CloudWatchMetrics
from migrator.dynamo.records import DynamoRecords
from migrator.dynamo.retry import Retry
from migrator.dynamo.tables import DynamoTables
from migrator.engine.work import Stop
from migrator.errors import MigratorError, as_text
from migrator.loader import draft_from_table as draft
from migrator.loader import load
from migrator.machine import SystemClock, SystemEntropy
from migrator.runner.guards import refuse_unknown_tables
from migrator.runner.iam import policy_from_files
from migrator.runner.results import IamResult
from migrator.runner.runner import Runner
from migrator.runner.session import Caller, Place, Ports, Session

_CI_RUNS = ("GITHUB_RUN_ID", "CI_PIPELINE_ID", "CIRCLE_WORKFLOW_ID", "BUILD_BUILDID", "CODEBUILD_BUILD_ID", "BUILD_ID")
_CI_NAMES = ("GITHUB_ACTOR", "GITLAB_USER_LOGIN", "USER", "LOGNAME")


@dataclass(frozen=True, slots=True)
class Project:
    """One environment of one configuration, from files only."""

    settings: Settings
    graph: Graph


def open_project(config: Path | None, env: str | None, variables: Mapping[str, str]) -> Project:
    """Read the configuration and the migration files. No AWS."""
    settings = load_config(config, Path.cwd()).settings(env, variables)
    graph = load(settings.script_location, project_root=settings.project_root)
    refuse_unknown_tables(settings, graph)
    return Project(settings, graph)


def open_clients(settings: Settings, *, read_only: bool = False) -> Clients:
    """The boto3 clients of an environment."""
    connection = Connection(
        settings.region,
        settings.endpoint_url,
        settings.profile,
        settings.role_arn,
        settings.expected_account,
        read_only,
    )
    return connect(connection, os.environ, workers=max(16, settings.limits.workers * 2))


def open_runner(project: Project, report: Report, *, read_only: bool = False) -> Runner:
    """A Runner on the environment's AWS account. Raises where credentials, Region or account will not do."""
    settings = project.settings
    clients = open_clients(settings, read_only=read_only)
    try:
        who = clients.confirm_account()
        clock, entropy = SystemClock(), SystemEntropy()
        caller = Caller(
            who.account,
            who.arn,
            clients.region,
            settings.endpoint_url or clients.access.endpoint_url or "",
            _first(_CI_NAMES) or getpass.getuser(),
            socket.gethostname(),
            _first(_CI_RUNS),
            _version(),
        )
        stop = Stop()
        session = Session(settings, project.graph, _ports(clients, clock, entropy, report, stop), caller, report, stop)
        return Runner(session)
    except BaseException:
        clients.close()
        raise


def _ports(clients: Clients, clock: SystemClock, entropy: SystemEntropy, report: Report, stop: Stop) -> Ports:
    def told(error: MigratorError, seconds: float) -> None:
        report(Remark(f"again in {seconds:.1f} s: {error.message}"))

    def told_or_stopped(error: MigratorError, seconds: float) -> None:
        # Reads of items may end here. Control records must not: a lock is still to be released.
        stop.raise_if_asked()
        told(error, seconds)

    retry = Retry(clock, entropy, told=told)
    reading = Retry(clock, entropy, told=told_or_stopped)
    opened: list[DynamoItems] = []

    def items_at(place: Place) -> DynamoItems:
        opened.append(DynamoItems(clients, reading, entropy, _layout(place)))
        return opened[-1]

    def close() -> None:
        for items in opened:
            items.close()
        clients.close()

    return Ports(
        DynamoTables(clients, retry),
        CloudWatchMetrics(clients, clock, lambda text: report(Remark(text))),
        items_at,
        lambda place: DynamoRecords(clients, retry, entropy, _layout(place)),
        clock,
        entropy,
        close,
    )


def _layout(place: Place) -> Layout:
    return Layout(place.table, place.partition_name, place.sort_name, place.prefix)


def draft_from_table(project: Project, name: str) -> str:
    """The operations of a first migration that describes the live table, as Python source."""
    with open_clients(project.settings, read_only=True) as clients:
        clients.confirm_account()
        tables = DynamoTables(clients, Retry(SystemClock(), SystemEntropy()))
        live = tables.describe(name)
        if live is None:
            raise MigratorError(
                "table-missing",
                f"table {name} does not exist in {clients.region}",
                hint="check --env, region and account",
            )
        settings = project.settings
        alias = next((one for one, table in settings.tables.items() if table.name == name), settings.default_table)
        return draft(live, alias or name, [tables.setting(name, kind) for kind in (TimeToLive, PointInTimeRecovery)])


def iam_from_files(project: Project, command: str, target: str, why: str) -> IamResult:
    """The policy of a command as if nothing were applied. No AWS."""
    return policy_from_files(project.settings, project.graph, command, target, why)


def _first(names: Sequence[str]) -> str:
    # What is there may be bytes that are no text; it goes into control records.
    return next((as_text(os.environ[name]) for name in names if os.environ.get(name)), "")


def _version() -> str:
    try:
        return version("dynamodb-migrations")
    except PackageNotFoundError:
        return "unreleased"
