"""doctor: whether what an upgrade needs is there, asked of everybody who can tell, before anything is changed.

Nothing is tried to find out: what nobody answers is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from migrator.core.findings import Severity
from migrator.core.ports import LiveTable
from migrator.core.settings import PointInTimeRecovery
from migrator.core.steps import CreateIndex, DataStep, tables_of
from migrator.core.surroundings import Scaled, Surroundings
from migrator.errors import MigratorError, counted
from migrator.runner import guards
from migrator.runner.permitted import permissions
from migrator.runner.planned import Planned
from migrator.runner.planning import plan_migrations
from migrator.runner.results import DoctorResult, Examined
from migrator.runner.session import Session

Questions = Iterator[Examined]
USUAL_INDEXES = 20
ORDER: tuple[Literal["problem", "unknown", "warning", "ok"], ...] = ("problem", "unknown", "warning", "ok")


def doctor(session: Session, target: str) -> DoctorResult:
    """Every question, each by itself: one that fails is an answer too."""
    checks: list[Examined] = [*_caller(session)]
    planned: tuple[Planned, ...] = ()
    for ask in (_tables, _control):
        checks += _asked(ask.__name__.strip("_"), lambda ask=ask: ask(session))  # type: ignore[misc]
    if not any(one.verdict == "problem" for one in checks):
        try:
            pending = session.graph.pending(target, session.applied)
            planned = plan_migrations(session, pending)
            checks += _asked("plan", lambda: _plan(session, planned))
        except MigratorError as exc:
            checks.append(_of_error("plan", "", exc))
        for live in session.live.values():
            checks += _of_table(session, live, planned)
        checks += _asked("limits", lambda: _limits(session))
        checks += _asked("permissions", lambda: permissions(session, target))
    return result(session, target, tuple(one.migration.revision for one in planned), checks)


def result(session: Session, target: str, pending: tuple[str, ...], checks: Sequence[Examined]) -> DoctorResult:
    worst = next(verdict for verdict in ORDER if verdict == "ok" or any(one.verdict == verdict for one in checks))
    first = next((one for one in checks if one.verdict == "problem"), None)
    state = {"problem": "problems", "unknown": "unknown", "warning": "warnings", "ok": "ready"}[worst]
    following = "migrator plan" if pending else ""
    return DoctorResult(
        state=state,
        exit_code=3 if first is not None else 0,
        next=(first.hint or "mend the problems above") if first is not None else following,
        blocked_by="" if first is None else f"{first.check}: {first.says}",
        where=session.where,
        target=target,
        pending=pending,
        checks=tuple(checks),
    )


def _asked(check: str, ask: Callable[[], Iterator[Examined]], subject: str = "") -> list[Examined]:
    found: list[Examined] = []
    try:
        found.extend(ask())
    except MigratorError as exc:
        found.append(_of_error(check, subject, exc))
    return found


def _of_error(check: str, subject: str, exc: MigratorError) -> Examined:
    return Examined(check, subject, "problem", f"[{exc.code}] {exc.message}", exc.hint or "")


# --- whom we talk to --------------------------------------------------------------------------------------------------


def _caller(session: Session) -> Questions:
    caller, settings = session.caller, session.settings
    yield Examined("credentials", "", "ok", caller.arn or "accepted; whose they are is not told")
    if settings.expected_account is None:
        yield Examined(
            "account",
            "",
            "ok" if caller.endpoint else "warning",
            f"{caller.account}, and no account is expected",
            f'expected_account = "{caller.account}" in [env.{settings.env}] keeps a wrong profile from writing',
        )
    else:
        yield Examined("account", "", "ok", f"{caller.account}, as expected")
    yield Examined("region", "", "ok", caller.region + (f" at {caller.endpoint}" if caller.endpoint else ""))


def _tables(session: Session) -> Questions:
    for alias, name in sorted(session.names.items()):
        live = session.live.get(alias)
        if live is None:
            yield Examined("table", name, "ok", "does not exist: a pending revision has to create it")
        elif live.status not in ("ACTIVE", "UPDATING"):
            yield Examined("table", name, "problem", f"is {live.status}", "wait, or look at its key in KMS")
        else:
            moving = [one for one, index in sorted(live.indexes.items()) if index.status != "ACTIVE"]
            says = live.status + (f"; in motion: {', '.join(moving)}" if moving else "")
            yield Examined("table", name, "warning" if moving or live.status != "ACTIVE" else "ok", says)


def _control(session: Session) -> Questions:
    place = session.place
    if not session.control_table_exists:
        yield Examined("control", place.table, "ok", "does not exist: the first upgrade makes it")
        return
    guards.refuse_restored(session)
    shared = "" if session.has_own_control_table else f", under keys that begin with {place.prefix}"
    yield Examined("control", place.table, "ok", f"history and lock live here{shared}")


# --- what is to be done -----------------------------------------------------------------------------------------------


def _plan(session: Session, planned: Sequence[Planned]) -> Questions:
    yield Examined("plan", "", "ok", f"{counted(len(planned), 'revision')} pending")
    for one in planned:
        for finding in one.findings:
            if finding.severity is Severity.ERROR and one.migration.revision not in session.unfinished:
                says = f"{one.migration.path}: [{finding.rule}] {finding.message}"
                yield Examined("plan", "", "problem", says, finding.hint or "migrator plan")
    pending = [one.migration for one in planned]
    refusals: tuple[Callable[[], None], ...] = (
        lambda: guards.refuse_missing_files(session),
        lambda: guards.refuse_edited(session),
        lambda: guards.refuse_out_of_order(session, pending, allowed=False),
        lambda: guards.refuse_unfinished_way(session, "up"),
        lambda: guards.refuse_without_transactions(session, planned),
        lambda: guards.refuse_stream_on_records(session, planned),
    )
    for refuse in refusals:
        try:
            refuse()
        except MigratorError as exc:
            yield _of_error("plan", "", exc)


def _of_table(session: Session, live: LiveTable, planned: Sequence[Planned]) -> list[Examined]:
    aliases = {alias for alias, name in session.names.items() if name == live.name}
    steps = [
        step
        for one in planned
        for way in ("apply", "complete")
        for _, step in one.steps(way)
        if aliases & {one.before.alias(table) for table in tables_of(step)}
    ]
    writes = any(isinstance(step, DataStep) for step in steps)
    adds = [step.index.name for step in steps if isinstance(step, CreateIndex) and step.index.name not in live.indexes]
    destroys = any(one.is_destructive for one in planned) and bool(steps)
    found: list[Examined] = []
    around = session.ports.surroundings
    questions: tuple[tuple[str, Callable[[], Questions]], ...] = (
        ("recovery", lambda: _recovery(session, live, writes=writes, destroys=destroys)),
        ("stream", lambda: _stream(around, live, writes=writes)),
        ("indexes", lambda: _indexes(around, live, adds)),
        ("autoscaling", lambda: _autoscaling(around, live, adds)),
        ("capacity", lambda: _capacity(session, live, writes=writes)),
        ("replicas", lambda: _replicas(live)),
    )
    for check, ask in questions:
        try:
            found.extend(ask())
        except MigratorError as exc:
            found.append(Examined(check, live.name, "unknown", f"[{exc.code}] {exc.message}"))
    return found


def _recovery(session: Session, live: LiveTable, *, writes: bool, destroys: bool) -> Questions:
    recovery = session.ports.tables.setting(live.name, PointInTimeRecovery)
    if recovery == PointInTimeRecovery(enabled=True):
        yield Examined("recovery", live.name, "ok", "point-in-time recovery is on")
        return
    why = "and a pending revision takes something away" if destroys else "and pending revisions write items"
    yield Examined(
        "recovery",
        live.name,
        "warning" if writes or destroys else "ok",
        "point-in-time recovery is off" + (f", {why}" if writes or destroys else ""),
        "SetPointInTimeRecovery(True) in a revision before",
    )


def _stream(around: Surroundings | None, live: LiveTable, *, writes: bool) -> Questions:
    if around is None:
        yield Examined("stream", live.name, "unknown", "nobody can be asked for consumers")
        return
    consumers = around.stream_consumers(live.name)
    if not live.stream and not consumers:
        yield Examined("stream", live.name, "ok", "no stream")
        return
    said = f"stream of {live.stream}" if live.stream else "no stream"
    read_by = ", ".join(consumers) if consumers else "no function and no Kinesis stream that is known reads it"
    yield Examined(
        "stream",
        live.name,
        "warning" if writes and consumers else "ok",
        f"{said}: {read_by}" + ("; each written item will reach them as a change" if writes and consumers else ""),
        "see that consumers take a rewritten item for what it is, and have the capacity",
    )


def _indexes(around: Surroundings | None, live: LiveTable, adds: Sequence[str]) -> Questions:
    total = len(live.indexes) + len(adds)
    said = f"{counted(len(live.indexes), 'index', 'indexes')}" + (f", {len(adds)} more pending" if adds else "")
    most, why = None, "nobody can be asked"
    try:
        most = None if around is None else around.most_indexes()
    except MigratorError as exc:
        why = exc.message
    if most is None:
        verdict: Literal["ok", "unknown"] = "ok" if total <= USUAL_INDEXES else "unknown"
        yield Examined("indexes", live.name, verdict, f"{said}; the quota is {USUAL_INDEXES} unless raised ({why})")
        return
    yield Examined(
        "indexes",
        live.name,
        "ok" if total <= most else "problem",
        f"{said}, of {most}",
        "" if total <= most else "raise the quota in Service Quotas, or drop an index that nothing reads first",
    )


def _autoscaling(around: Surroundings | None, live: LiveTable, adds: Sequence[str]) -> Questions:
    if live.shape.billing_mode == "PAY_PER_REQUEST":
        return
    if around is None:
        yield Examined("autoscaling", live.name, "unknown", "nobody can be asked")
        return
    targets = around.scaled(live.name)
    if not targets:
        yield Examined("autoscaling", live.name, "ok", "provisioned, and not autoscaled")
        return
    said = "; ".join(f"{_dimension(one)} {one.least} to {one.most}" for one in targets)
    yield Examined(
        "autoscaling",
        live.name,
        "warning" if adds else "ok",
        said + (f"; {', '.join(adds)} will have fixed units" if adds else ""),
        "register a scalable target for the new index after the upgrade" if adds else "",
    )


def _dimension(target: Scaled) -> str:
    index = target.resource.partition("/index/")[2]
    kind = "write" if "Write" in target.dimension else "read"
    return f"{kind} units of {index or 'the table'}"


def _capacity(session: Session, live: LiveTable, *, writes: bool) -> Questions:
    limits, provisioned = session.settings.limits, live.shape.provisioned
    if not writes or provisioned is None:
        return
    if limits.write_units is None:
        yield Examined(
            "capacity",
            live.name,
            "warning",
            f"{provisioned.write} write units are provisioned, and no budget keeps the run from taking them all",
            f'limits = {{ write_units = "25%", read_units = "25%" }} in [env.{session.settings.env}]',
        )
        return
    yield Examined("capacity", live.name, "ok", f"{provisioned}; a budget is set")


def _replicas(live: LiveTable) -> Questions:
    if not live.replicas:
        return
    away = [one for one in live.replicas if one.status != "ACTIVE"]
    kind = "strongly consistent: no transactions" if live.has_strong_replicas else "eventually consistent"
    said = ", ".join(f"{one.region} {one.status}" for one in live.replicas)
    yield Examined(
        "replicas",
        live.name,
        "problem" if away else "ok",
        f"global table, {kind}: {said}",
        "wait until every replica is ACTIVE" if away else "",
    )


def _limits(session: Session) -> Questions:
    provisioned = [live for live in session.live.values() if live.shape.provisioned is not None]
    around = session.ports.surroundings
    if not provisioned or around is None:
        return
    try:
        limits = around.limits()
    except MigratorError as exc:
        yield Examined("limits", "", "unknown", f"[{exc.code}] {exc.message}")
        return
    yield Examined(
        "limits",
        "",
        "ok",
        f"a table may have {limits.table_read:,} read and {limits.table_write:,} write units, the account "
        f"{limits.account_read:,} and {limits.account_write:,}",
    )
