"""Which items an index cannot take: one look at the whole table. Nothing here writes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from migrator.core.item import Item, key_of, to_json
from migrator.core.schema import Index, Schema
from migrator.core.steps import CreateIndex, CreateTable, DeleteIndex, Step
from migrator.engine.indexable import Census, Problem
from migrator.engine.survey import Survey
from migrator.errors import MigratorError, UsageError
from migrator.runner.budgets import budgets
from migrator.runner.results import IndexKey, KeyProblem, ProblemCount, ViolationsResult, Violator
from migrator.runner.session import Session, plans

SHOWN = 50
"""How many violators a result holds; a listing gets them all."""

Listing = Callable[[Violator], None]
"""Takes every violator as it is found, so that none need be kept."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The index in question."""

    alias: str
    index: Index
    revision: str = ""
    """The one that declares it."""
    is_pending: bool = False


def violations(
    session: Session, index: str, table: str | None = None, listing: Listing | None = None
) -> ViolationsResult:
    """Look at every item, strongly consistent and within the read budget. Raises `unknown-index`, `ambiguous-index`."""
    wanted = _find(session, index, table)
    live = session.live.get(wanted.alias)
    if live is None:
        raise MigratorError(
            "table-missing",
            f"table {session.names.get(wanted.alias, wanted.alias)} does not exist, so no item can be in the way",
            hint="check env, region and account; or create it: `migrator upgrade`",
        )
    found = _Found(wanted.index, live.shape.key_names, listing)
    reads, _ = budgets(session)
    survey = Survey(
        session.items,
        session.ports.clock,
        session.ports.entropy,
        session.settings.limits,
        reads,
        session.control_prefixes,
        session.report,
        session.stop,
        f"violations {index}",
    )
    counts = survey.run(live, lambda items, _units: found.take(items))
    census = found.census
    return ViolationsResult(
        state="violators" if census.violators else "clean",
        exit_code=3 if census.violators else 0,
        next=_next(session, wanted, census),
        where=session.where,
        index=wanted.index.name,
        alias=wanted.alias,
        table=live.name,
        table_key=live.shape.key_names,
        keys=tuple(_keys(wanted.index)),
        revision=wanted.revision,
        is_pending=wanted.is_pending,
        scanned=counts.scanned,
        indexable=census.entries,
        sparse=census.sparse,
        violating=census.violators,
        read_units=counts.read_units,
        problems=tuple(ProblemCount(*place, items) for place, items in sorted(found.problems.items())),
        violators=tuple(found.first),
    )


@dataclass(slots=True)
class _Found:
    """What the look has found so far: counts, and the first violators."""

    index: Index
    key_names: Sequence[str]
    listing: Listing | None
    census: Census = field(default_factory=Census)
    problems: Counter[tuple[str, str]] = field(default_factory=Counter)
    first: list[Violator] = field(default_factory=list)

    def take(self, items: Sequence[Item]) -> None:
        for item in items:
            found = self.census.add(item, self.index, self.key_names)
            if not found:
                continue
            self.problems.update((one.attribute, one.code) for one in found)
            violator = Violator(to_json(key_of(item, self.key_names)), tuple(map(_shown, found)))
            if len(self.first) < SHOWN:
                self.first.append(violator)
            if self.listing is not None:
                self.listing(violator)


def _shown(problem: Problem) -> KeyProblem:
    return KeyProblem(problem.attribute, problem.code, problem.reason)


def _keys(index: Index) -> Iterator[IndexKey]:
    yield from (IndexKey(key.name, key.type, "partition") for key in index.partition_key)
    yield from (IndexKey(key.name, key.type, "sort") for key in index.sort_key)


def _next(session: Session, wanted: Wanted, census: Census) -> str:
    if census.violators:
        table = "" if wanted.alias == session.settings.default_table else f" --table {wanted.alias}"
        return f'migrator violations {wanted.index.name}{table} --generate "what it repairs"'
    return "migrator upgrade" if wanted.is_pending else ""


# --- which index ------------------------------------------------------------------------------------------------------


def _find(session: Session, name: str, table: str | None) -> Wanted:
    """The index by its name: as pending revisions will build it, else as it is live, else as it was applied."""
    if table is not None and table not in session.names:
        raise UsageError(
            "unknown-table",
            f"no table {table!r} here (known: {', '.join(sorted(session.names)) or 'none'})",
            hint="--table takes an alias, as in [tables.ALIAS] of migrator.toml",
        )
    known = [one for one in _indexes(session).values() if table in (None, one.alias)]
    found = [one for one in known if one.index.name == name]
    if not found:
        names = ", ".join(sorted({f"{one.index.name} of {one.alias}" for one in known})) or "none"
        raise UsageError(
            "unknown-index",
            f"no migration declares an index {name!r}, and no table here has one (known: {names})",
            hint="give the name of an index, as in its AddIndex; `migrator status` lists the live ones",
        )
    if len(found) > 1:
        raise UsageError(
            "ambiguous-index",
            f"{name!r} is an index of several tables: {', '.join(sorted(one.alias for one in found))}",
            hint=f"say which: migrator violations {name} --table {min(one.alias for one in found)}",
        )
    return found[0]


def _indexes(session: Session) -> dict[tuple[str, str], Wanted]:
    """(alias, name) -> the index, of all that stand and all that the files declare."""
    found = {
        (alias, name): Wanted(alias, index.definition)
        for alias, live in session.live.items()
        for name, index in live.indexes.items()
    }
    schema = session.base_schema()
    for migration in session.graph.order():
        is_pending = migration.revision not in session.applied
        for plan in plans(schema, migration):
            for step in plan.apply:
                alias = schema.alias(step.table)
                for index in _declared(step):
                    place = alias, index.name
                    there = found.get(place)
                    # An applied declaration does not overrule what stands.
                    shape = index if is_pending or there is None else there.index
                    found[place] = Wanted(alias, shape, migration.revision, is_pending)
                if isinstance(step, DeleteIndex) and not _stands(session, schema, step):
                    found.pop((alias, step.index), None)
            schema = plan.after
    return found


def _declared(step: Step) -> tuple[Index, ...]:
    match step:
        case CreateTable():
            return tuple(step.shape.indexes.values())
        case CreateIndex():
            return (step.index,)
        case _:
            return ()


def _stands(session: Session, schema: Schema, step: DeleteIndex) -> bool:
    live = session.live.get(schema.alias(step.table))
    return live is not None and step.index in live.indexes
