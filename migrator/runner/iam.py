"""The least-privilege policy of a command on this environment. Nothing here writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from migrator.config import Settings, read_patterns
from migrator.core.graph import Graph
from migrator.core.permissions import (
    CREATE,
    DESCRIBE,
    NONE,
    QUERY,
    SCAN,
    Actions,
    Needs,
    Way,
    document,
    needs_of,
    reads_others,
    statements,
    step_actions,
    table_arn,
    watches_build,
)
from migrator.core.plan import Migration, Plan
from migrator.core.rewrite.steps import EnterPhase, VerifyTwins
from migrator.core.schema import Index, KeyAttribute, Schema, Table
from migrator.core.steps import CreateTable, Step, tables_of
from migrator.errors import UsageError
from migrator.operations.update_index import UpdateIndex
from migrator.runner.results import IamResult
from migrator.runner.session import Session, first_steps, plans

Steps = Sequence[tuple[Migration, Plan, Step]]


@dataclass(frozen=True, slots=True)
class _Place:
    """What the policy is for: names, and what is known of the world."""

    settings: Settings
    region: str
    account: str
    arns: Mapping[str, str]
    """Alias -> ARN."""
    control_arn: str
    shares_table: bool
    """Whether control records live in a table of the application."""
    control_exists: bool
    has_history: bool


def policy(session: Session, command: str, target: str) -> IamResult:
    """For the revisions that are pending, applied or at their gate here, whichever the command works on."""
    needs = _needs(command)
    caller = session.caller
    arns = {
        alias: session.live[alias].arn
        if alias in session.live and session.live[alias].arn
        else table_arn(name, caller.region, caller.account)
        for alias, name in session.names.items()
    }
    control = session.place.table
    shared = next((arns[alias] for alias, name in session.names.items() if name == control), "")
    place = _Place(
        session.settings,
        caller.region,
        caller.account,
        arns,
        shared or table_arn(control, caller.region, caller.account),
        bool(shared),
        session.control_table_exists,
        bool(session.entries),
    )
    chosen = _chosen(session, command, target)
    wanted = {migration.revision for migration in chosen}
    found = list(_steps(session.graph, session.base_schema(), needs.way, wanted, session.applied))
    replicas = {
        table_arn(live.name, replica.region, caller.account)
        for live in session.live.values()
        for replica in live.replicas
    }
    notes = [] if chosen or needs.way is None else ["no revision here is one that it would work on: it runs no step"]
    return _result(place, command, needs, found, chosen, replicas, notes)


def policy_from_files(settings: Settings, graph: Graph, command: str, target: str, why: str) -> IamResult:
    """Without AWS: as if no revision were applied, with placeholders for what no file says."""
    needs = _needs(command)
    region, account = settings.region or "", settings.expected_account or ""
    arns = {alias: table_arn(table.name, region, account) for alias, table in settings.tables.items()}
    alias = settings.control.table or settings.default_table
    name = settings.control.name or (settings.tables[alias].name if alias in settings.tables else "")
    if not name:
        raise UsageError(
            "no-control-table",
            f"no table to keep the history in: [control] table = {alias!r} is none of [tables]",
            hint="set default_table, or [control] table or name, in migrator.toml",
        )
    shared = next((arns[alias] for alias, table in settings.tables.items() if table.name == name), "")
    own = shared or table_arn(name, region, account)
    place = _Place(settings, region, account, arns, own, bool(shared), control_exists=False, has_history=False)
    chosen = graph.pending(target, frozenset()) if needs.way == "apply" else graph.order() if needs.way else ()
    wanted = {migration.revision for migration in chosen}
    found = list(_steps(graph, _unseen(settings, graph), needs.way, wanted, frozenset()))
    notes = [f"from the files alone, as if no revision were applied: {why}"]
    return _result(place, command, needs, found, tuple(chosen), set(), notes)


def _needs(command: str) -> Needs:
    needs = needs_of(command)
    if needs is None:
        raise UsageError(
            "usage",
            f"{command!r} is no command that talks to AWS",
            hint="such as upgrade, plan, status, check, contract, rollback, downgrade, failed, lock, violations",
        )
    return needs


def _chosen(session: Session, command: str, target: str) -> tuple[Migration, ...]:
    """The revisions whose steps the command would run."""
    match needs_of(command):
        case Needs(way="apply") if command.startswith("failed"):
            revisions = session.unfinished
        case Needs(way="apply"):
            waiting = [one for one in session.gated if session.entries[one].waits_for == "ready"]
            return (*(session.graph[one] for one in waiting), *session.graph.pending(target, session.applied))
        case Needs(way="ready" | "cutover" | "complete"):
            revisions = frozenset(session.gated) | session.unfinished
        case Needs(way="rollback"):
            revisions = session.applied | session.unfinished
        case _:
            revisions = frozenset()
    return tuple(one for one in session.graph.order() if one.revision in revisions)


def _unseen(settings: Settings, graph: Graph) -> Schema:
    """Tables that nobody looked at: of what a policy says, nothing depends on their keys."""
    empty = Schema({}, settings.default_table)
    made = {
        empty.alias(step.table)
        for migration in graph.order()
        for step in first_steps(migration, empty)
        if isinstance(step, CreateTable)
    }
    tables = {alias: Table(alias, KeyAttribute("PK"), KeyAttribute("SK")) for alias in settings.tables}
    for migration in graph.order():
        for operation in migration.operations:
            # An index that stands there, and that no file made.
            if isinstance(operation, UpdateIndex) and (alias := empty.alias(operation.table)) in tables:
                tables[alias] = tables[alias].with_index(Index(operation.name, (KeyAttribute("PK"),)))
    return Schema({alias: table for alias, table in tables.items() if alias not in made}, settings.default_table)


def _steps(
    graph: Graph, schema: Schema, way: Way | None, wanted: set[str], applied: frozenset[str]
) -> Iterator[tuple[Migration, Plan, Step]]:
    """The steps of the wanted revisions, on the schema that the revisions before them leave."""
    for migration in graph.order() if way is not None else ():
        if migration.revision not in wanted and migration.revision not in applied:
            continue
        for plan in plans(schema, migration):
            schema = plan.after
            if migration.revision in wanted:
                # An upgrade goes on past the first gate where the application is said to be ready.
                for step in (*plan.on(way or "apply"), *(plan.on("ready") if way == "apply" else ())):
                    yield migration, plan, step


def _compared(found: Steps) -> Iterator[tuple[str, str]]:
    """The indexes, by the alias of their table, that a comparison of both sides of a rewrite reads."""
    for _, plan, step in found:
        if isinstance(step, VerifyTwins | EnterPhase):
            yield from ((one, index) for one in step.rewrite.targets for index in plan.after.table(one).indexes)


def _asked(settings: Settings) -> Iterator[tuple[str, str]]:
    """The indexes that access patterns ask, by the alias of their table."""
    file = settings.access_patterns
    for pattern in () if file is None else read_patterns(file):
        alias = pattern.table or settings.default_table
        if pattern.index and alias in settings.tables:
            yield alias, pattern.index


def _result(
    place: _Place,
    command: str,
    needs: Needs,
    found: Steps,
    chosen: Sequence[Migration],
    replicas: set[str],
    notes: list[str],
) -> IamResult:
    # Where the records live in a table by its alias, every command looks at the tables first.
    always = needs.tables | (DESCRIBE if place.settings.control.name is None and needs.control else NONE)
    tables = dict.fromkeys(place.arns, always)
    for migration, plan, step in found:
        alias = step.table or place.settings.default_table
        for one in tables_of(step):
            touched = one or place.settings.default_table
            tables[touched] = tables.get(touched, NONE) | step_actions(step, plan, place.settings.transport)
        if isinstance(step, CreateTable) and command == "upgrade" and not place.has_history:
            # A table that stands already, without a history, is looked at: is it empty?
            tables[alias] |= SCAN
        if reads_others(step):
            notes.append(
                f"{migration.path} looks items up: on tables other than {alias} it needs GetItem, Query and "
                "ConditionCheckItem too"
            )
    control = needs.control
    if place.shares_table or place.control_exists:
        control -= CREATE
    by_arn: dict[str, Actions] = {}
    for alias, actions in tables.items():
        by_arn[place.arns[alias]] = by_arn.get(place.arns[alias], NONE) | actions
    # An index is a resource of its own.
    indexes = [(one, SCAN) for one in _compared(found)]
    if command.startswith("patterns"):
        indexes += [(one, QUERY) for one in _asked(place.settings)]
    elif needs.way == "cutover":
        entered = {alias for _, _, step in found if isinstance(step, EnterPhase) for alias in step.rewrite.targets}
        indexes += [(one, QUERY) for one in _asked(place.settings) if one[0] in entered]
    for (alias, index), actions in indexes:
        arn = f"{place.arns[alias]}/index/{index}"
        by_arn[arn] = by_arn.get(arn, NONE) | actions
    by_arn |= {arn: DESCRIBE for arn in replicas if arn not in by_arn}
    critical = place.settings.limits.critical_load
    watches_load = needs.way is not None and critical is not None and critical.throttle_events is not None
    has_progress = needs.has_progress or watches_load or any(watches_build(step, plan) for _, plan, step in found)
    prefix = place.settings.control.key_prefix if place.shares_table else None
    made = statements(by_arn, control, place.control_arn, prefix, has_progress=has_progress, others=needs.others)
    if place.settings.role_arn:
        notes.append(f"for the role {place.settings.role_arn}; whoever runs it needs sts:AssumeRole on that role")
    return IamResult(
        state="policy",
        of=command,
        env=place.settings.env,
        account=place.account,
        region=place.region,
        revisions=tuple(migration.revision for migration in chosen),
        policy=document(made),
        notes=tuple(dict.fromkeys(notes)),
    )
