"""The composition root: builds a Runner from a configuration. Time, randomness and the environment enter here."""

from __future__ import annotations

import gc
import getpass
import os
import signal
import socket
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from multiprocessing import get_context
from multiprocessing.connection import Connection as Pipe
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TYPE_CHECKING

from migrator.config import Settings, chosen_targets, load_config
from migrator.core.declared import DeclaredTable
from migrator.core.events import Remark, Report
from migrator.core.graph import Graph
from migrator.core.item import redact_keys
from migrator.core.ports import Items
from migrator.core.settings import PointInTimeRecovery, TimeToLive
from migrator.distributed.crew import ProcessCrew
from migrator.distributed.job import ControlPlace, SegmentJob
from migrator.distributed.process import WorkerProcess
from migrator.distributed.segments import Bench
from migrator.distributed.spark import SparkCrew, spark_session
from migrator.dynamo.client import Clients, connect
from migrator.dynamo.credentials import Connection
from migrator.dynamo.exported import read_export
from migrator.dynamo.items import DynamoItems
from migrator.dynamo.layout import Layout
from migrator.dynamo.metrics import CloudWatchMetrics
from migrator.dynamo.queries import DynamoQueries
from migrator.dynamo.records import DynamoRecords
from migrator.dynamo.retry import Retry
from migrator.dynamo.streams import DynamoStreams
from migrator.dynamo.surroundings import AwsSurroundings
from migrator.dynamo.tables import DynamoTables
from migrator.engine.crew import Crew
from migrator.engine.pacing.budgets import Capacities
from migrator.engine.segments import Pass
from migrator.engine.work import Stop, Work
from migrator.errors import MigratorError, as_text
from migrator.loader import draft_from_table as draft
from migrator.loader import load
from migrator.machine import SystemClock, SystemEntropy
from migrator.runner.guards import refuse_unknown_tables
from migrator.runner.iam import policy_from_files
from migrator.runner.results import IamResult
from migrator.runner.runner import Runner
from migrator.runner.session import Caller, Place, Ports, Session, Workers
from migrator.runner.shapes import standing

if TYPE_CHECKING:
    from migrator.wire.items import FastItems

_CI_RUNS = ("GITHUB_RUN_ID", "CI_PIPELINE_ID", "CIRCLE_WORKFLOW_ID", "BUILD_BUILDID", "CODEBUILD_BUILD_ID", "BUILD_ID")
_CI_NAMES = ("GITHUB_ACTOR", "GITLAB_USER_LOGIN", "USER", "LOGNAME")


def spare_the_collector() -> None:
    """For a process that does nothing but migrate: pages of items are no cycles, and to look for them costs a quarter.

    It looks after 50,000 new objects instead of 700, and less often at those that stay.
    """
    gc.set_threshold(50_000, 20, 50)


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


def open_targets(
    config: Path | None, env: str | None, variables: Mapping[str, str], patterns: Sequence[str]
) -> list[tuple[str, Project]]:
    """Each target that the patterns name, with its project. The files are read once. No AWS."""
    chosen = chosen_targets(load_config(config, Path.cwd()), env, variables, patterns)
    first = chosen[0].settings
    graph = load(first.script_location, project_root=first.project_root)
    refuse_unknown_tables(first, graph)
    return [(target.name, Project(target.settings, graph)) for target in chosen]


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
    redact_keys(settings.redact_keys)
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
        ports = _ports(settings, clients, clock, entropy, report, stop)
        session = Session(settings, project.graph, ports, caller, report, stop)
        return Runner(session)
    except BaseException:
        clients.close()
        raise


def _ports(
    settings: Settings, clients: Clients, clock: SystemClock, entropy: SystemEntropy, report: Report, stop: Stop
) -> Ports:
    def told(error: MigratorError, seconds: float) -> None:
        report(Remark(f"again in {seconds:.1f} s: {error.message}"))

    def told_or_stopped(error: MigratorError, seconds: float) -> None:
        # Reads of items may end here. Control records must not: a lock is still to be released.
        stop.raise_if_asked()
        told(error, seconds)

    retry = Retry(clock, entropy, told=told)
    reading = Retry(clock, entropy, told=told_or_stopped)
    closing = ExitStack()
    closing.callback(clients.close)
    crews: list[ProcessCrew | SparkCrew] = []

    def crew_of(work: Work, place: Place, capacities: Capacities, workers: Workers) -> Crew:
        def job_of(of: Pass, total: int) -> SegmentJob:
            return SegmentJob(
                settings=settings,
                revision=work.revision,
                content_hash=of.content_hash,
                step_id=of.step,
                stage=of.stage,
                alias=of.alias,
                total=total,
                names=dict(work.names),
                before=work.schema,
                after=work.after,
                control=ControlPlace(place.table, place.partition_name, place.sort_name, place.prefix),
                lock=work.lease.lock,
                capacities=dict(capacities),
                share=1 / workers.processes,
                exports=of.lent_exports,
            )

        if not crews and workers.spark is not None:
            master, records = workers.spark, DynamoRecords(clients, retry, entropy, _layout(place))
            if master.startswith("local"):
                # Its executors are processes of this machine: they need the packages that this one has.
                os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
            crews.append(SparkCrew(lambda: spark_session(master), open_bench, job_of, work, records))
            closing.callback(crews[0].close)
        elif not crews:
            crews.append(ProcessCrew(workers.processes, start_worker, job_of, work))
            closing.callback(crews[0].close)
        crews[0].job_of, crews[0].work_of = job_of, work
        return crews[0]

    def items_at(place: Place) -> Items:
        if settings.transport == "fast":
            return closing.enter_context(_fast_items(clients, reading, clock, entropy, place, report))
        return closing.enter_context(DynamoItems(clients, reading, entropy, _layout(place)))

    return Ports(
        DynamoTables(clients, retry),
        CloudWatchMetrics(clients, clock, lambda text: report(Remark(text))),
        items_at,
        lambda place: DynamoRecords(clients, retry, entropy, _layout(place)),
        clock,
        entropy,
        DynamoQueries(clients, reading),
        closing.close,
        crew_of,
        DynamoStreams(clients, reading),
        AwsSurroundings(clients),
        read_export,
    )


def _fast_items(
    clients: Clients, retry: Retry, clock: SystemClock, entropy: SystemEntropy, place: Place, report: Report
) -> FastItems:
    """Tried by one read before anything is entrusted to it. Raises `fast-missing`, `fast-unusable`."""
    try:
        from migrator.wire.items import FastItems
    except ImportError as exc:
        raise MigratorError(
            "fast-missing",
            f'transport = "fast" needs {exc.name}, which is not installed',
            hint="pip install 'dynamodb-migrations[fast]', or set transport = \"boto3\" in this environment",
        ) from exc
    items = FastItems(clients, retry, clock, entropy, _layout(place), lambda text: report(Remark(text, "warning")))
    try:
        items.try_out(place.table)
    except BaseException:
        items.close()
        raise
    return items


def _layout(place: Place) -> Layout:
    return Layout(place.table, place.partition_name, place.sort_name, place.prefix)


# --- worker processes -------------------------------------------------------------------------------------------------


def start_worker(number: int) -> tuple[BaseProcess, Pipe]:
    """A worker process, and this side of the pipe to it."""
    spawning = get_context("spawn")
    ours, theirs = spawning.Pipe()
    process = spawning.Process(target=worker_process, args=(number, theirs), name=f"worker-{number}", daemon=True)
    process.start()
    # Held open here, it would hide from us that the process died.
    theirs.close()
    return process, ours


def worker_process(number: int, pipe: Pipe) -> None:
    """What runs in a worker process. SIGTERM asks it to stop at a checkpoint; Ctrl-C is for the run to pass on."""
    stop = Stop()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda number, _frame: stop.ask(number))
    # What a migration's function prints must not get into the result of the command.
    sys.stdout = sys.stderr
    WorkerProcess(number, pipe, stop).serve(open_bench)


def unpacked(settings: Settings) -> Settings:
    """The settings on this machine: where the project's folder is not at its place, it is an archive that was unpacked.

    Spark unpacks `--archives project.zip#project` into the working directory of each executor.
    """
    if settings.script_location.is_dir():
        return settings
    root = Path.cwd() / os.environ.get("MIGRATOR_PROJECT", "project")
    relative = Path(os.path.relpath(settings.script_location, settings.project_root))
    return replace(settings, project_root=root, script_location=root / relative)


@contextmanager
def open_bench(job: SegmentJob, report: Report, stop: Stop) -> Iterator[Bench]:
    """The ports of a worker, and the migration files as it loads them, by the configuration of the run."""
    settings = unpacked(job.settings)
    redact_keys(settings.redact_keys)
    with open_clients(settings) as clients:
        clients.confirm_account()
        ports = _ports(settings, clients, SystemClock(), SystemEntropy(), report, stop)
        place = Place(job.control.table, job.control.partition_name, job.control.sort_name, job.control.prefix)
        try:
            yield Bench(
                load(settings.script_location, project_root=settings.project_root),
                ports.tables,
                ports.items_at(place),
                ports.metrics,
                ports.records_at(place),
                ports.clock,
                ports.entropy,
                report,
                stop,
            )
        finally:
            ports.close()


def draft_from_table(project: Project, name: str) -> str:
    """The operations of a first migration that describes the live table, as Python source."""
    with open_clients(project.settings, read_only=True) as clients:
        clients.confirm_account()
        tables = DynamoTables(clients, Retry(SystemClock(), SystemEntropy()))
        live = tables.describe(name)
        if live is None:
            raise _no_table(name, clients.region)
        settings = project.settings
        alias = next((one for one, table in settings.tables.items() if table.name == name), settings.default_table)
        return draft(live, alias or name, [tables.setting(name, kind) for kind in (TimeToLive, PointInTimeRecovery)])


def live_table(project: Project, name: str) -> DeclaredTable:
    """Any table of the environment's account, by its name in DynamoDB."""
    with open_clients(project.settings, read_only=True) as clients:
        clients.confirm_account()
        tables = DynamoTables(clients, Retry(SystemClock(), SystemEntropy()))
        live = tables.describe(name)
        if live is None:
            raise _no_table(name, clients.region)
        return standing(tables, live, name)


def _no_table(name: str, region: str) -> MigratorError:
    return MigratorError(
        "table-missing", f"table {name} does not exist in {region}", hint="check --env, region and account"
    )


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
