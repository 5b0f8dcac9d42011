"""Access patterns: over the revisions of the files, between two shapes, and asked of a table. Nothing writes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from migrator.config.patterns import FILE_NAME
from migrator.core.findings import Finding, Severity
from migrator.core.lint import Subject, first_shapes
from migrator.core.patterns.course import Course, Shape, follow
from migrator.core.patterns.pattern import AccessPattern
from migrator.core.rewrite.steps import EnterPhase
from migrator.core.rules import known
from migrator.core.rules.release import PlacedOperation, fold
from migrator.core.schema import Schema, Table
from migrator.core.steps import CreateIndex
from migrator.errors import UsageError
from migrator.runner.asking import Asked, ask, refuse_wrong
from migrator.runner.planned import Planned
from migrator.runner.results import AskedExample, PatternFinding, PatternLine, PatternsResult
from migrator.runner.session import Session

FINDINGS = 3


def check(subject: Subject, file: str) -> PatternsResult:
    """Every pattern at every revision, from the files alone. `file` is where they stand."""
    return _result(_courses(subject), file)


def check_with_examples(session: Session, patterns: Iterable[AccessPattern]) -> PatternsResult:
    """The same, and the examples asked of the environment: of every pattern that its tables serve as they are now.

    One that only a pending revision serves is passed over; any other that is not served is a finding.
    """
    settings = session.settings
    managers = {alias: table.managed_by for alias, table in settings.tables.items()}
    subject = Subject(session.graph, managers, settings.default_table, patterns=tuple(patterns))
    courses = _courses(subject, session.base_schema())
    pending = {one.revision for one in session.graph if one.revision not in session.applied}
    due = {one.pattern.name for one in courses if one.state != "retired" and one.first not in pending}
    asked = ask(session, subject.patterns, session.base_schema(), due)
    file, root = settings.access_patterns or settings.project_root / FILE_NAME, settings.project_root
    shown = file.relative_to(root) if file.is_relative_to(root) else file
    return replace(_result(courses, str(shown), asked), where=session.where)


def refuse_wrong_before_readers(session: Session, planned: Planned) -> None:
    """Before readers change over to the new side of a rewrite: every pattern on it gets its answers there.

    Of a rewrite within one table nothing can be asked: both forms stand in it. Raises MigratorError `patterns-differ`.
    """
    rewrites = [step.rewrite for _, step in planned.steps("cutover") if isinstance(step, EnterPhase)]
    targets = {alias for rewrite in rewrites for alias in rewrite.targets if alias not in rewrite.sources}
    schema = session.base_schema()
    patterns = [one for one in session.patterns if one.examples and schema.alias(one.table) in targets]
    refuse_wrong(ask(session, patterns, schema, {one.name for one in patterns}))


def choose(patterns: Iterable[AccessPattern], names: Iterable[str]) -> tuple[AccessPattern, ...]:
    """Those so called; all where no name is given. Raises `unknown-pattern`."""
    every = {pattern.name: pattern for pattern in patterns}
    wanted = tuple(names)
    for name in wanted:
        if name not in every:
            raise UsageError(
                "unknown-pattern",
                f"no access pattern is called {name!r} (known: {', '.join(every) or 'none'})",
                hint="give the name of a [[pattern]]",
            )
    return tuple(every[name] for name in dict.fromkeys(wanted)) or tuple(every.values())


def _courses(subject: Subject, live: Schema | None = None) -> tuple[Course, ...]:
    """Over the files; `live` tells of the tables that no file creates."""
    for pattern in subject.patterns:
        alias = pattern.table or subject.default_table
        if alias not in subject.managers:
            raise UsageError(
                "unknown-table",
                f"access pattern {pattern.name}: no table {alias!r} here "
                f"(known: {', '.join(sorted(subject.managers)) or 'none'})",
                hint="table = takes an alias, as in [tables.ALIAS] of migrator.toml",
            )
    schema, unknown = first_shapes(subject)
    order = subject.graph.order()
    for alias, table in live.tables.items() if live is not None else ():
        if alias in unknown:
            unknown -= {alias}
            schema = schema.with_table(_before(table, fold(order, schema)))
    after = {one.migration.revision: one.plan.after for one in fold(order, schema) if one.plan is not None}
    shapes = []
    for migration in order:
        schema = after.get(migration.revision, schema)
        shapes.append(Shape(migration.revision, migration.path, schema))
    return follow(subject.patterns, subject.graph, shapes, unknown)


def _before(live: Table, operations: Iterable[PlacedOperation]) -> Table:
    """The table as it was before the files: with the indexes that none of them adds."""
    added = {
        step.index.name
        for one in operations
        for step in one.steps
        if isinstance(step, CreateIndex) and one.alias == live.alias
    }
    return replace(live, indexes={name: index for name, index in live.indexes.items() if name not in added})


# --- the result -------------------------------------------------------------------------------------------------------


def _result(courses: tuple[Course, ...], file: str, asked: tuple[Asked, ...] = ()) -> PatternsResult:
    by_name: dict[str, list[Asked]] = {course.pattern.name: [] for course in courses}
    for one in asked:
        by_name[one.pattern.name].append(one)
    found: list[PatternFinding] = []
    lines = []
    for course in courses:
        found += _findings(course, file)
        for example in by_name[course.pattern.name]:
            found += [_placed(finding, course.pattern, file) for finding in example.findings]
        lines.append(_line(course, by_name[course.pattern.name]))
    refused = any(finding.severity is Severity.ERROR for finding in found)
    return PatternsResult(
        state="findings" if found else "clean",
        exit_code=FINDINGS if refused else 0,
        next=_next(lines, found, was_asked=bool(asked)),
        file=file,
        patterns=tuple(lines),
        findings=tuple(found),
    )


def _next(lines: list[PatternLine], found: list[PatternFinding], *, was_asked: bool) -> str:
    if any(finding.severity is Severity.ERROR for finding in found):
        return "mend the pattern or the table: docs/patterns.md says how, rule by rule"
    if not was_asked and any(line.examples for line in lines):
        return "migrator patterns check --examples"
    return ""


def _line(course: Course, asked: list[Asked]) -> PatternLine:
    pattern = course.pattern
    return PatternLine(
        pattern.name,
        pattern.question,
        pattern.table,
        pattern.index,
        course.operation,
        " and ".join(map(str, pattern.key)),
        str(pattern.expect),
        course.state,
        course.first,
        len(pattern.examples),
        tuple(AskedExample(one.state, one.given, one.items, one.pages) for one in asked),
    )


def _findings(course: Course, file: str) -> list[PatternFinding]:
    pattern = course.pattern
    found = []
    for broken in course.broken:
        why = "; ".join(one.message for one in broken.findings if one.severity is Severity.ERROR)
        found.append(
            PatternFinding(
                "pattern-broken",
                Severity.ERROR,
                pattern.name,
                f"{pattern.name}: not served after revision {broken.revision}: {why}",
                f'move the pattern, or say that it is retired there: until = "{broken.revision}"',
                broken.path,
                1,
                broken.revision,
            )
        )
    ends_broken = course.state == "not-served" and course.broken
    found += [
        _placed(finding, pattern, file)
        for finding in course.findings
        if finding.severity is not Severity.ERROR or not ends_broken
    ]
    if course.state == "unknown":
        note = Finding(
            known.UNKNOWN_SHAPE,
            Severity.NOTE,
            "no migration says what its table's key or index is, so nothing was judged",
            "`migrator patterns check --examples` asks the live table",
        )
        found.append(_placed(note, pattern, file))
    return found


def _placed(finding: Finding, pattern: AccessPattern, file: str) -> PatternFinding:
    message = f"{pattern.name}: {finding.message}"
    return PatternFinding(finding.rule, finding.severity, pattern.name, message, finding.hint, file, pattern.line, "")
