"""Lint of a project's files: no table is asked, and what only a table knows is left to `plan`."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from migrator.core.findings import Finding, Severity
from migrator.core.graph import Graph
from migrator.core.patterns.course import wanted
from migrator.core.patterns.pattern import AccessPattern
from migrator.core.places import Allowance
from migrator.core.plan import Migration
from migrator.core.rules import RULES, known
from migrator.core.rules.policy import Policy, allowance_for
from migrator.core.rules.release import PlacedOperation, Release, Sample, fold
from migrator.core.schema import KeyAttribute, Schema, Table
from migrator.core.settings import Setting
from migrator.core.steps import CreateTable

NEEDS_SHAPE = frozenset({"unknown-index", "throughput-missing", "wrong-billing-mode", "key-missing"})
"""Findings of operations that say nothing where the table's key, billing mode and earlier indexes are not known."""


@dataclass(frozen=True, slots=True)
class Subject:
    """The files and what the configuration says of their tables."""

    graph: Graph
    managers: Mapping[str, str]
    """Alias -> who else owns the table's indexes; every table that the project has is here."""
    default_table: str = ""
    reserved: str = "__migrator__"
    policy: Policy = field(default_factory=Policy)
    patterns: tuple[AccessPattern, ...] = ()
    """What the application asks."""
    control: str = ""
    """The alias of the table that control records may not find a stream on; "" where that does not matter."""

    def asked_after(self) -> Mapping[str, tuple[AccessPattern, ...]]:
        """Revision -> the patterns that are to be served after it. Raises `bad-patterns`."""
        due = [(pattern, wanted(pattern, self.graph)) for pattern in self.patterns]
        return {
            migration.revision: tuple(pattern for pattern, revisions in due if migration.revision in revisions)
            for migration in self.graph
        }


@dataclass(frozen=True, slots=True)
class PlacedFinding:
    """A finding in its place; `page` is where docs/ explains its rule."""

    rule: str
    severity: Severity
    message: str
    hint: str | None
    revision: str
    path: str
    line: int
    last_line: int
    page: str
    allowed_because: str = ""


@dataclass(frozen=True, slots=True)
class Linted:
    """What was found, in the order of the files, and how many files were judged."""

    findings: tuple[PlacedFinding, ...]
    files: int


def lint(subject: Subject, *, since: str | None = None, everything: bool = False) -> Linted:
    """What the files give reason to say; findings that a comment allows carry its reason.

    `since`: only the revisions that are not part of that one, taken for one release. `everything`: also those that
    the configuration spares. Raises UsageError where a revision is not found.
    """
    graph = subject.graph
    spared = frozenset() if everything else subject.policy.spared(graph)
    if since is not None:
        spared |= graph.ancestors(*graph.resolve(since, ()), inclusive=True)
    order = graph.order()
    start, unknown = first_shapes(subject)
    release = Release(
        fold(order, start),
        frozenset(migration.revision for migration in order if migration.revision not in spared),
        is_one=since is not None,
        managers=subject.managers,
        reserved=subject.reserved,
        control=subject.control,
        patterns=subject.asked_after(),
    )
    found: list[tuple[PlacedOperation, Finding]] = []
    for one in release.todo():
        found += [(one, finding) for finding in _own(subject, one, unknown)]
    found += _unknown_shapes(release, unknown)
    for rule in RULES:
        found += rule.findings(release)
    placed, used = _allowed(subject.policy, found)
    judged = [migration for migration in order if migration.revision in release.judged]
    placed += _unused(subject.policy, judged, used, is_one=release.is_one)
    rank = {migration.revision: number for number, migration in enumerate(order)}
    placed.sort(key=lambda one: (rank[one.revision], one.line, one.rule, one.message))
    return Linted(tuple(placed), len(judged))


def across(
    subject: Subject,
    start: Schema,
    migrations: Iterable[Migration],
    judged: Collection[str],
    *,
    settings: Mapping[str, tuple[Setting, ...]] = {},
    samples: Mapping[str, Sample] = {},
) -> Mapping[str, tuple[Finding, ...]]:
    """Revision -> what the rules over several operations say of the judged ones, taken for one release.

    `start` is the schema that the migrations are folded over, such as the live one; `settings` and `samples` are what a
    live table tells. What comments allow is left out.
    """
    release = Release(
        fold(migrations, start),
        frozenset(judged),
        is_one=True,
        managers=subject.managers,
        reserved=subject.reserved,
        control=subject.control,
        settings=settings,
        samples=samples,
        patterns=subject.asked_after(),
    )
    spared = subject.policy.spared(subject.graph)
    found: dict[str, tuple[Finding, ...]] = {}
    for rule in RULES:
        for one, finding in rule.findings(release):
            wanted = subject.policy.applied_to(finding)
            revision = one.migration.revision
            if wanted is None or revision in spared or allowance_for(one.migration, one.position, finding.rule):
                continue
            found[revision] = (*found.get(revision, ()), wanted)
    return found


# --- what is known of tables ------------------------------------------------------------------------------------------


def first_shapes(subject: Subject) -> tuple[Schema, frozenset[str]]:
    """The schema before the first migration, and the tables in it of which nothing but the alias is known.

    A table that a migration creates is not there before it. Any other stands already; a key attribute without a name
    stands for its key, which no item and no index has.
    """
    empty = Schema({}, subject.default_table)
    created = {
        empty.alias(step.table)
        for one in fold(subject.graph.order(), empty)
        for step in one.steps
        if isinstance(step, CreateTable)
    }
    unknown = frozenset(subject.managers) - created
    return replace(empty, tables={alias: Table(alias, KeyAttribute("")) for alias in sorted(unknown)}), unknown


def _own(subject: Subject, one: PlacedOperation, unknown: Collection[str]) -> Iterator[Finding]:
    """What the operation itself says, but for what would need a shape that is not known."""
    alias = one.alias
    if alias and alias not in subject.managers:
        yield Finding(
            "unknown-table",
            Severity.ERROR,
            f"{type(one.operation).__name__} names table {alias!r}; the configuration has: "
            f"{', '.join(sorted(subject.managers)) or 'none'}",
            f"add [tables.{alias}] with its name to migrator.toml, or correct table=",
        )
        return
    for finding in one.operation.lint(one.before):
        if alias not in unknown or finding.rule not in NEEDS_SHAPE:
            yield finding


def _unknown_shapes(release: Release, unknown: Collection[str]) -> Iterator[tuple[PlacedOperation, Finding]]:
    told = set()
    for one in release.todo():
        if one.alias in unknown and one.alias not in told:
            told.add(one.alias)
            yield (
                one,
                Finding(
                    known.UNKNOWN_SHAPE,
                    Severity.NOTE,
                    f"no migration creates table {one.alias}: its key, its billing mode and the indexes that it had "
                    "before are not known here, and rules that need them were not applied",
                    "`migrator plan` applies them to the live table; `migrator init --from-table` drafts a CreateTable",
                ),
            )


# --- what comments allow ----------------------------------------------------------------------------------------------


_Used = set[tuple[str, Allowance, str]]


def _allowed(policy: Policy, found: Iterable[tuple[PlacedOperation, Finding]]) -> tuple[list[PlacedFinding], _Used]:
    """The findings in their places, and which comments allowed one: (revision, comment, rule)."""
    placed: list[PlacedFinding] = []
    used: _Used = set()
    for one, finding in found:
        wanted = policy.applied_to(finding)
        if wanted is None:
            continue
        migration = one.migration
        allowance = allowance_for(migration, one.position, finding.rule)
        if allowance is not None:
            used.add((migration.revision, allowance, finding.rule))
        place = migration.places[one.position] if one.position < len(migration.places) else None
        lines = (place.first, place.last) if place is not None else (1, 1)
        placed.append(_in_place(wanted, migration, lines, allowance.reason if allowance is not None else ""))
    return placed, used


def _unused(policy: Policy, judged: Iterable[Migration], used: _Used, *, is_one: bool) -> Iterator[PlacedFinding]:
    """Comments that allow nothing: what they spoke of was mended, or they never spoke of anything."""
    # Such a rule finds more in a release than in a file by itself: there its comment may be of use.
    undecided = set() if is_one else {rule.id for rule in RULES if rule.looks_across_files}
    for migration in judged:
        for allowance in migration.allowances:
            idle = [
                rule
                for rule in allowance.rules
                if rule not in undecided and (migration.revision, allowance, rule) not in used
            ]
            for finding in _faults(policy, allowance, idle):
                wanted = policy.applied_to(finding)
                if wanted is not None:
                    yield _in_place(wanted, migration, (allowance.line, allowance.line))


def _faults(policy: Policy, allowance: Allowance, idle: Iterable[str]) -> Iterator[Finding]:
    if not allowance.rules or not allowance.reason:
        yield Finding(
            known.NO_REASON,
            Severity.ERROR,
            f"the comment allows {', '.join(allowance.rules) or 'no rule'} and gives no reason, so it allows nothing",
            "write `# migrator: allow RULE because REASON`",
        )
        return
    for rule in idle:
        if rule not in known.KNOWN:
            near = difflib.get_close_matches(rule, known.KNOWN, n=1)
            why = f"no rule is called {rule}" + (f"; did you mean {near[0]}?" if near else "")
        elif rule in policy.disabled:
            why = f"the configuration has {rule} off anyway"
        else:
            why = f"{rule} finds nothing in the operation that it stands at"
        yield Finding(
            known.UNUSED_ALLOWANCE, Severity.WARNING, f"the comment is of no use: {why}", "remove it, or correct it"
        )


def _in_place(
    finding: Finding, migration: Migration, lines: tuple[int, int], allowed_because: str = ""
) -> PlacedFinding:
    return PlacedFinding(
        finding.rule,
        finding.severity,
        finding.message,
        finding.hint,
        migration.revision,
        migration.path,
        *lines,
        known.page(finding.rule),
        allowed_because,
    )
