"""What an upgrade would do: steps, samples and findings."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from migrator.core.findings import Finding, Severity
from migrator.core.patterns.course import changes
from migrator.core.plan import STAGES, Migration, Plan, StageName
from migrator.core.rewrite.steps import AwaitMirror, CloseRewrite, EnterPhase
from migrator.core.steps import (
    CreateIndex,
    DataStep,
    DeleteIndex,
    DeleteItems,
    Step,
    TransformItems,
)
from migrator.errors import MigratorError, counted
from migrator.runner.estimates.figures import Problem
from migrator.runner.estimates.look import StepKey, told_of
from migrator.runner.estimates.whole import Estimates
from migrator.runner.fingerprints import fingerprint, fingerprint_parts
from migrator.runner.gates import command_behind
from migrator.runner.planned import Planned
from migrator.runner.release_findings import findings_across, with_findings_across
from migrator.runner.results import PlannedRevision, PlannedStage, PlannedStep, PlanResult
from migrator.runner.session import Session


def plan_migrations(session: Session, migrations: Sequence[Migration]) -> tuple[Planned, ...]:
    """Plan migrations on the live tables with the applied ones folded in."""
    schema = session.base_schema()
    todo = {migration.revision for migration in migrations}
    planned = []
    for migration in session.graph.order():
        if migration.revision not in todo and migration.revision not in session.applied:
            continue
        before = schema
        plans: list[Plan] = []
        findings: list[Finding] = []
        for operation in migration.operations:
            if migration.revision in todo:
                findings += operation.lint(schema)
            plan = operation.plan(schema)
            plans.append(plan)
            schema = plan.after
        if migration.revision in todo:
            planned.append(Planned(migration, before, tuple(plans), tuple(findings)))
    return tuple(planned)


def refuse_lint_errors(session: Session, planned: Sequence[Planned]) -> None:
    """Lint errors stop an upgrade before the first write.

    A resume is not linted again: the half-changed table is not the one that the revision was written for.
    """
    across = findings_across(session, planned) if planned else {}
    errors = [
        (one.migration, finding)
        for one in planned
        if one.migration.revision not in session.unfinished
        for finding in (*one.findings, *across.get(one.migration.revision, ()))
        if finding.severity is Severity.ERROR
    ]
    if errors:
        migration, first = errors[0]
        more = f" (and {len(errors) - 1} more: see `migrator plan`)" if len(errors) > 1 else ""
        raise MigratorError(
            first.rule,
            f"{migration.path}: {first.message}{more}",
            hint=first.hint or "see `migrator plan`",
            exit_code=3,
        )


def describe(session: Session, planned: Sequence[Planned], target: str, known: Estimates | None) -> PlanResult:
    """The plan as people and pipelines read it, with what a look at the items told, if there was one."""
    firsts = told_of(planned)
    revisions = tuple(_revision(session, one, known, firsts, is_first=one is planned[0]) for one in planned)
    revisions = with_findings_across(session, planned, revisions, None if known is None else known.items)
    refused = any(finding.severity is Severity.ERROR for one in revisions for finding in one.findings)
    parts = fingerprint_parts(session, [one.migration for one in planned])
    state = "nothing-pending" if not planned else ("refused" if refused else "pending")
    return PlanResult(
        state=state,
        exit_code=3 if refused else 0,
        next="" if not planned else _next(refused=refused, destroys=any(one.is_destructive for one in planned)),
        where=session.where,
        target=target,
        revisions=revisions,
        fingerprint=fingerprint(parts),
        fingerprint_parts=parts,
        unknown=_unknown(session, planned, known),
        estimate=None if known is None else known.whole,
        data_findings={} if known is None else known.findings,
    )


def _next(*, refused: bool, destroys: bool) -> str:
    if refused:
        return "mend the errors above"
    return "migrator upgrade --yes" if destroys else "migrator upgrade"


def _revision(
    session: Session, one: Planned, known: Estimates | None, firsts: Collection[StepKey], *, is_first: bool
) -> PlannedRevision:
    notes = [note for plan in one.plans for note in plan.notes]
    if one.migration.modules:
        notes.append("first-party code it imports: " + ", ".join(one.migration.modules))
    notes += _notes_on_control_records(session, one, is_first=is_first)
    serving, breaking = changes(session.patterns, one.before, one.after)
    failures = [
        finding
        for step_id, step in one.steps("apply")
        # Nothing is said that may be untrue.
        if (one.migration.revision, step_id) in firsts
        for finding in _would_fail(session, one, step_id, step, known)
    ]
    return PlannedRevision(
        one.migration.revision,
        one.migration.message,
        one.migration.path,
        one.migration.checksum,
        tuple(_step(session, one, step_id, step, known) for step_id, step in one.steps("apply")),
        _way_back(one),
        one.is_destructive,
        (*one.findings, *failures),
        tuple(dict.fromkeys(notes)),
        resumes=one.migration.revision in session.unfinished,
        stages=tuple(_stage(session, one, name, known) for name in STAGES if one.stages(name)),
        serves=serving,
        breaks=breaking,
    )


def _stage(session: Session, one: Planned, name: StageName, known: Estimates | None) -> PlannedStage:
    return PlannedStage(
        name,
        one.gate(name),
        command_behind(name, one.migration.revision),
        tuple(_step(session, one, step_id, step, known) for step_id, step in one.steps(name)),
        "; ".join(stage.irreversible for stage in one.stages(name) if stage.irreversible),
    )


def _way_back(one: Planned) -> str:
    """How the revision is taken back, and until when."""
    if one.irreversible:
        return "no way back: " + "; ".join(one.irreversible)
    for name in STAGES:
        if reasons := [stage.irreversible for stage in one.stages(name) if stage.irreversible]:
            begins = command_behind(name, one.migration.revision)
            return (
                f"`migrator rollback {one.migration.revision}` takes it back until `{begins}`; "
                f"from there on no way back: {'; '.join(reasons)}"
            )
    return "a downgrade takes it back"


def _notes_on_control_records(session: Session, one: Planned, *, is_first: bool) -> list[str]:
    """Who will meet the records of this tool that live in the application's table."""
    if session.has_own_control_table:
        return []
    place = session.place
    scans = (
        f"control records live in {place.table} under partition keys that begin with {place.prefix}: "
        "the application's own scans will meet them"
    )
    return ([scans] if is_first else []) + [
        f"{step.index.name} is made of the table's keys alone: control records will be in it too"
        for _, step in one.steps("apply")
        if isinstance(step, CreateIndex)
        and session.names[one.before.alias(step.table)] == place.table
        and {key.name for key in step.index.keys} <= set(one.before.table(step.table).key_names)
    ]


def _step(session: Session, one: Planned, step_id: str, step: Step, known: Estimates | None) -> PlannedStep:
    alias = one.before.alias(step.table)
    live = session.live.get(alias)
    key = (one.migration.revision, step_id)
    plan = one.plans[int(step_id.partition(".")[0])]
    return PlannedStep(
        step_id,
        step.title,
        session.names.get(alias, alias),
        None if live is None or not _reads_items(step) else live.item_count,
        None if live is None or not _reads_items(step) else live.size_bytes,
        destructive=plan.destructive and isinstance(step, DeleteIndex | DeleteItems | TransformItems),
        samples=() if known is None else known.samples.get(key, ()),
        estimate=None if known is None else known.steps.get(key),
    )


def _reads_items(step: Step) -> bool:
    return isinstance(step, DataStep) and not isinstance(step, EnterPhase | AwaitMirror | CloseRewrite)


def _would_fail(
    session: Session, one: Planned, step_id: str, step: Step, known: Estimates | None
) -> tuple[Finding, ...]:
    """What an upgrade would say about items that were read, before it is run."""
    estimate = None if known is None else known.steps.get((one.migration.revision, step_id))
    if known is None or estimate is None:
        return ()
    table = session.names[one.before.alias(step.table)]
    found = []
    if estimate.failures:
        number = counted(sum(each.seen for each in estimate.failures), "item")
        found.append(
            warning(
                "items-would-fail",
                f"{step.title}: {number} of those of {table} read for the plan would fail, such as "
                + _example(estimate.failures[0]),
                "correct the file or the items first: an upgrade leaves failed items as they are, ending as incomplete",
            )
        )
    if estimate.index is not None and estimate.index.problems:
        number = counted(sum(each.seen for each in estimate.index.problems), "value")
        stays = isinstance(step, CreateIndex) and step.unindexable == "allow"
        found.append(
            warning(
                "items-not-indexable",
                f"{step.title}: {number} in items of {table} read for the plan cannot be a key, such as "
                f"{estimate.index.problems[0].attribute} of " + _example(estimate.index.problems[0]),
                "they stay out of the index, and writers that store such values will be refused once it exists"
                if stays
                else f"the upgrade refuses: `migrator violations {estimate.index.name}` lists them and drafts a repair",
            )
        )
    found += [
        warning(
            "hot-key",
            f"{step.title}: {spread.hottest_share:.0%} of the writes to {spread.index} go to one key, "
            f"{spread.top[0].key}: {spread.hottest_rate:,.0f} of {spread.rate:,.0f} units/s, a partition takes 1,000",
            f"stay below {spread.safe_rate:,.0f} write units/s, or choose a key that spreads",
        )
        for spread in estimate.keys
        if spread.is_hot
    ]
    return tuple(found)


def warning(rule: str, message: str, hint: str) -> Finding:
    return Finding(rule, Severity.WARNING, message, hint)


def _example(problem: Problem) -> str:
    return f"{problem.key}: {problem.code}: {problem.reason}"


def _unknown(session: Session, planned: Sequence[Planned], known: Estimates | None) -> tuple[str, ...]:
    lines = []
    steps = [step for one in planned for _, step in one.steps("apply")]
    if any(_reads_items(step) for step in steps) and (known is None or known.whole.kind != "full"):
        lines.append("counts and sizes come from DescribeTable and are up to six hours old")
    if known is not None:
        lines += known.whole.unknown
    elif any(isinstance(step, TransformItems | DeleteItems) for step in steps):
        lines.append("how many items match: no item was read (--samples 0)")
    missing = [name for alias, name in session.names.items() if alias not in session.live]
    if missing:
        lines.append(f"tables that do not exist yet: {', '.join(sorted(missing))}")
    return tuple(lines)
