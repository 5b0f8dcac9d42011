"""What an upgrade would do: steps, samples and findings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from migrator.control.layout import application_items
from migrator.core.findings import Finding, Severity
from migrator.core.item import Item, key_of, key_text, same, to_json
from migrator.core.patterns.course import changes
from migrator.core.plan import Migration, Plan
from migrator.core.schema import Schema
from migrator.core.steps import (
    CreateIndex,
    DataStep,
    DeleteIndex,
    DeleteItems,
    PutItems,
    RunFunction,
    Step,
    TransformItems,
)
from migrator.core.transform import Decided, Decider, Decision, Failed, decide_deletion
from migrator.engine.work import Reader
from migrator.errors import MigratorError, counted
from migrator.runner.fingerprints import fingerprint, fingerprint_parts
from migrator.runner.release_findings import findings_across, with_findings_across
from migrator.runner.results import PlannedRevision, PlannedStep, PlanResult
from migrator.runner.session import Session

SAMPLE_PAGES = 4
"""How many pages of a table are read, at the most, to find items that show what a backfill does."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A migration with its plans, on the schema before it."""

    migration: Migration
    before: Schema
    plans: tuple[Plan, ...]
    findings: tuple[Finding, ...]

    @property
    def after(self) -> Schema:
        return self.plans[-1].after if self.plans else self.before

    @property
    def gates(self) -> tuple[str, ...]:
        return tuple(plan.gate for plan in self.plans if plan.gate)

    @property
    def is_destructive(self) -> bool:
        return any(plan.destructive for plan in self.plans)

    @property
    def irreversible(self) -> tuple[str, ...]:
        return tuple(plan.irreversible for plan in self.plans if plan.irreversible)

    def steps(self, way: str) -> tuple[tuple[str, Step], ...]:
        """(id, step) of one way, in the order in which they run: `rollback` goes through the operations backwards."""
        found = []
        numbered = list(enumerate(self.plans))
        for number, plan in reversed(numbered) if way == "rollback" else numbered:
            steps = {"apply": plan.apply, "complete": plan.complete, "rollback": plan.rollback}[way]
            found += [(f"{number}.{way}.{position}", step) for position, step in enumerate(steps)]
        return tuple(found)


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


def describe(session: Session, planned: Sequence[Planned], target: str, samples: int) -> PlanResult:
    """The plan as people and pipelines read it. Reads items for the samples; writes nothing."""
    firsts = _first_writers(planned)
    revisions = tuple(_revision(session, one, samples, firsts, is_first=one is planned[0]) for one in planned)
    revisions = with_findings_across(session, planned, revisions, samples=bool(samples))
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
        unknown=_unknown(session, planned),
    )


def _next(*, refused: bool, destroys: bool) -> str:
    if refused:
        return "mend the errors above"
    return "migrator upgrade --yes" if destroys else "migrator upgrade"


def _first_writers(planned: Sequence[Planned]) -> frozenset[tuple[str, str]]:
    """(revision, step) up to the first that writes items: the steps whose items are now as the step will find them."""
    found = []
    for one in planned:
        for step_id, step in one.steps("apply"):
            found.append((one.migration.revision, step_id))
            if isinstance(step, TransformItems | PutItems | DeleteItems | RunFunction):
                return frozenset(found)
    return frozenset(found)


def _revision(
    session: Session, one: Planned, samples: int, firsts: Collection[tuple[str, str]], *, is_first: bool
) -> PlannedRevision:
    notes = [note for plan in one.plans for note in plan.notes]
    if one.migration.modules:
        notes.append("first-party code it imports: " + ", ".join(one.migration.modules))
    notes += _notes_on_control_records(session, one, is_first=is_first)
    irreversible = one.irreversible
    serving, breaking = changes(session.patterns, one.before, one.after)
    steps: list[PlannedStep] = []
    failures: list[Finding] = []
    for step_id, step in one.steps("apply"):
        described, failing = _step(session, one, step_id, step, samples)
        steps.append(described)
        # Of a later step an earlier one may mend them: nothing is said that may be untrue.
        failures += failing if (one.migration.revision, step_id) in firsts else ()
    return PlannedRevision(
        one.migration.revision,
        one.migration.message,
        one.migration.path,
        one.migration.checksum,
        tuple(steps),
        "; ".join(one.gates) or None,
        "no way back: " + "; ".join(irreversible) if irreversible else "a downgrade takes it back",
        one.is_destructive,
        (*one.findings, *failures),
        tuple(dict.fromkeys(notes)),
        resumes=one.migration.revision in session.unfinished,
        serves=serving,
        breaks=breaking,
    )


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


def _step(
    session: Session, one: Planned, step_id: str, step: Step, samples: int
) -> tuple[PlannedStep, tuple[Finding, ...]]:
    """The step with its samples, and what the items that were read for them gave away."""
    alias = one.before.alias(step.table)
    live = session.live.get(alias)
    shown: tuple[Mapping[str, Any], ...] = ()
    failing: tuple[Finding, ...] = ()
    if isinstance(step, TransformItems | DeleteItems) and live is not None and samples:
        shown, failing = _samples(session, one, step, samples)
    plan = one.plans[int(step_id.partition(".")[0])]
    described = PlannedStep(
        step_id,
        step.title,
        session.names.get(alias, alias),
        None if live is None or not _reads_items(step) else live.item_count,
        None if live is None or not _reads_items(step) else live.size_bytes,
        destructive=plan.destructive and isinstance(step, DeleteIndex | DeleteItems | TransformItems),
        samples=shown,
    )
    return described, failing


def _reads_items(step: Step) -> bool:
    return isinstance(step, DataStep)


def _samples(
    session: Session, one: Planned, step: TransformItems | DeleteItems, most: int
) -> tuple[tuple[Mapping[str, Any], ...], tuple[Finding, ...]]:
    alias = one.before.alias(step.table)
    table = one.before.table(alias)
    name = session.names[alias]
    prefix = session.control_prefixes.get(name)
    decide: Callable[[Item], Decision]
    if isinstance(step, TransformItems):
        reader = Reader(session.items, session.names, one.before)
        decide = Decider.of(step.transform, alias, one.before, one.after, reader).decide
    else:
        decide = partial(decide_deletion, step.where, table.key_names)
    found: list[Mapping[str, Any]] = []
    failed: list[str] = []
    start = None
    for _ in range(SAMPLE_PAGES):
        page = session.items.scan(name, start=start, limit=250)
        for item in application_items(page.items, table.key_names[0], prefix):
            decision = decide(item)
            if isinstance(decision, Failed):
                failed.append(f"{key_text(key_of(item, table.key_names))}: {decision.code}: {decision.message}")
            if isinstance(decision, Decided):
                after = decision.change.applied_to(item) if isinstance(step, TransformItems) else {}
                found.append(_sample(item, after, table.key_names))
                if len(found) >= most:
                    return tuple(found), _would_fail(step, name, failed)
        if page.next is None:
            break
        start = page.next
    return tuple(found), _would_fail(step, name, failed)


def _would_fail(step: Step, table: str, failed: Sequence[str]) -> tuple[Finding, ...]:
    """What an upgrade would say about items that were read for the samples, before it is run."""
    if not failed:
        return ()
    return (
        Finding(
            "items-would-fail",
            Severity.WARNING,
            f"{step.title}: {counted(len(failed), 'item')} of those of {table} read for the samples would fail, "
            f"such as {failed[0]}",
            "correct the file or the items first: an upgrade leaves failed items as they are and ends as incomplete",
        ),
    )


def _sample(before: Item, after: Item, key_names: Sequence[str]) -> Mapping[str, Any]:
    changed = sorted(
        name for name in {*before, *after}.difference(key_names) if not same(before.get(name), after.get(name))
    )
    return {
        "key": to_json(key_of(before, key_names)),
        "before": to_json({name: before[name] for name in changed if name in before}),
        "after": to_json({name: after[name] for name in changed if name in after}),
    }


def _unknown(session: Session, planned: Sequence[Planned]) -> tuple[str, ...]:
    lines = []
    if any(_reads_items(step) for one in planned for _, step in one.steps("apply")):
        lines.append("counts and sizes come from DescribeTable and are up to six hours old")
    if any(isinstance(step, TransformItems | DeleteItems) for one in planned for _, step in one.steps("apply")):
        lines.append("how many items match: samples are real, a count would need a full scan")
    missing = [name for alias, name in session.names.items() if alias not in session.live]
    if missing:
        lines.append(f"tables that do not exist yet: {', '.join(sorted(missing))}")
    return tuple(lines)
