"""What the operations that give items a twin have in common: their routes, their stages, and what lint says of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from migrator.core.findings import Finding
from migrator.core.plan import Plan, Stage
from migrator.core.rewrite.form import Form
from migrator.core.rewrite.proofs import remarks
from migrator.core.rewrite.rewrite import Application, Rewrite
from migrator.core.rewrite.route import MARK, KeyFunction, Route
from migrator.core.rewrite.steps import (
    SLOT,
    AwaitMirror,
    CloseRewrite,
    CopyTwins,
    DropOldSide,
    EnterPhase,
    PrepareRewrite,
    RemoveTwins,
    VerifyTwins,
)
from migrator.core.schema import Schema, Table
from migrator.core.steps import Step
from migrator.core.where import Where
from migrator.errors import UsageError
from migrator.operations import arguments
from migrator.operations.arguments import attribute_name
from migrator.operations.tables import error, note, warning

APPLICATIONS: tuple[Application, ...] = ("dual-write", "mirror", "stopped")


def form(what: str, given: Mapping[str, str]) -> Form:
    """Attribute -> template, checked."""
    if not isinstance(given, Mapping):
        raise UsageError("bad-option", f"{what}={given!r}: give attribute -> template")
    for name, source in given.items():
        attribute_name(what, name)
        if not isinstance(source, str):
            raise UsageError("bad-option", f"{what} {name}: a template is a string, not {type(source).__name__}")
    try:
        return Form.of(given)
    except UsageError as exc:
        raise UsageError(exc.code, f"{what}: {exc.message}", hint=exc.hint) from exc


def key(what: str, given: Mapping[str, str] | Callable[..., Any]) -> Form | KeyFunction:
    """The new key: templates, or a named function of the item that gives the key attributes."""
    if callable(given):
        arguments.function(what, given, (1,))
        return given
    return form(what, given)


def route(
    source: Table,
    target: Table,
    *,
    where: Where,
    key: Form | KeyFunction,
    old: Form,
    further: Form,
    keep: tuple[str, ...] | None = None,
    mark: str | None = None,
    is_marked: bool = False,
) -> Route:
    """A route, with a mark where the twin would not tell its source, or `is_marked` says that it would not."""
    made = Route(
        source.alias,
        target.alias,
        source.key,
        target.key,
        where=where,
        key=key,
        old=old,
        set=further,
        keep=keep,
        mark=mark,
        keeps_mark=mark is not None,
    )
    tells = made.has_way_back and not is_marked
    return made if mark is not None or tells else replace(made, mark=MARK)


def key_findings(source: Table, target: Table, key: Form | KeyFunction) -> tuple[Finding, ...]:
    """Errors for templates that name what is no key, and for keys that nothing gives."""
    found: list[Finding] = []
    if isinstance(key, Form):
        found += (
            error(
                "no-key-attribute",
                f"{name} is no key attribute of table {target.alias} ({', '.join(target.key_names)})",
                "key= gives the new key; other attributes that the new form has go into set=",
            )
            for name in sorted(key.names - set(target.key_names))
        )
        given = key.names | set(source.key_names)
        found += (
            error(
                "no-key-attribute",
                f"nothing gives {name}, a key attribute of table {target.alias}",
                f"add it to key=: {name!r}: '{{{name}}}' takes the attribute of that name",
            )
            for name in target.key_names
            if name not in given
        )
        types = {one.name: one.type for one in target.key}
        for name, template in key.templates.items():
            is_text = not (len(template.parts) == 1 and template.references)
            if is_text and types.get(name, "S") != "S":
                found.append(
                    error(
                        "no-key-attribute",
                        f"{name} is a key of type {types[name]}, and {template.source!r} renders text",
                        "one reference alone keeps its attribute's type",
                    )
                )
    return tuple(found)


def unproven(plan: Plan) -> tuple[Finding, ...]:
    """What no template proves of a rewrite: each is asserted of every item before the first write."""
    rewrites = [step.rewrite for step in plan.apply if isinstance(step, PrepareRewrite)]
    found: list[Finding] = []
    for remark in (one for rewrite in rewrites for one in remarks(rewrite)):
        match remark.code:
            case "no-way-back":
                found.append(warning("no-way-back", remark.text, "give the form of the old key: old={…}"))
            case "ambiguous-template":
                hint = "put a delimiter between the fields that no value holds"
                found.append(warning("ambiguous-template", remark.text, hint))
            case "key-may-collide":
                found.append(note("key-may-collide", remark.text))
            case "selection-not-proven":
                found.append(note("selection-not-proven", remark.text))
            case "key-by-function":
                found.append(note("key-by-function", remark.text))
    return tuple(found)


def moving(after: Schema, rewrite: Rewrite, *, first: tuple[Step, ...] = (), notes: tuple[str, ...] = ()) -> Plan:
    """The plan of a rewrite whose items move: four commands, three gates."""
    ask = {
        "dual-write": "Does every running writer of the application use migrator.runtime (or write as it does)?",
        "mirror": "Is `migrator mirror run` live for this revision?",
        "stopped": "Are all writers of the application stopped?",
    }[rewrite.application]
    confirm = {
        "dual-write": "May the readers move? Every instance reads through migrator.runtime",
        "mirror": "Are the writers of the old side stopped, and is the mirror drained?",
        "stopped": "Are the writers still stopped? They start again on the new side",
    }[rewrite.application]
    sources = ", ".join(rewrite.sources)
    is_mirrored = rewrite.application == "mirror"
    return Plan(
        after=after,
        apply=(*first, PrepareRewrite(rewrite, SLOT)),
        rollback=(
            EnterPhase(rewrite, SLOT, "dual-write", undoes=True),
            EnterPhase(rewrite, SLOT, "expand", undoes=True),
            RemoveTwins(rewrite, SLOT),
            CloseRewrite(rewrite, SLOT, "rolled-back"),
        ),
        stages=(
            Stage(
                "ready",
                ask,
                (
                    EnterPhase(rewrite, SLOT, "dual-write"),
                    *((AwaitMirror(rewrite, SLOT, drained=False),) if is_mirrored else ()),
                    CopyTwins(rewrite, SLOT),
                    # A mirror is always a little behind its writers: what it has not read yet is no difference.
                    *(() if is_mirrored else (VerifyTwins(rewrite, SLOT, "copied"),)),
                ),
            ),
            Stage(
                "cutover",
                confirm,
                (
                    *((AwaitMirror(rewrite, SLOT, drained=True),) if is_mirrored else ()),
                    VerifyTwins(rewrite, SLOT, "cutover"),
                    EnterPhase(rewrite, SLOT, "cutover"),
                    *((AwaitMirror(rewrite, SLOT, drained=False),) if is_mirrored else ()),
                ),
                irreversible=None
                if rewrite.has_way_back
                else "what is written first on the new side has no old key: give its form with old=",
            ),
            Stage(
                "complete",
                f"Does nothing need the old items of {sources} any more? There is no way back but a backup",
                (
                    VerifyTwins(rewrite, SLOT, "contract"),
                    EnterPhase(rewrite, SLOT, "contract"),
                    DropOldSide(rewrite, SLOT),
                    EnterPhase(rewrite, SLOT, "done"),
                    CloseRewrite(rewrite, SLOT, "done"),
                ),
                irreversible=f"the old items of {sources} are deleted",
            ),
        ),
        notes=(*_notes(rewrite), *notes),
    )


def deriving(after: Schema, rewrite: Rewrite, ready: str, complete: Stage, *, notes: tuple[str, ...] = ()) -> Plan:
    """The plan of a rewrite whose items get twins that stay: two gates, and nothing is cut over.

    `ready` is the question of the first gate, `complete` what stands behind the second.
    """
    return Plan(
        after=after,
        apply=(PrepareRewrite(rewrite, SLOT),),
        rollback=(
            EnterPhase(rewrite, SLOT, "expand", undoes=True),
            RemoveTwins(rewrite, SLOT),
            CloseRewrite(rewrite, SLOT, "rolled-back"),
        ),
        stages=(
            Stage(
                "ready",
                ready,
                (
                    EnterPhase(rewrite, SLOT, "dual-write"),
                    CopyTwins(rewrite, SLOT),
                    VerifyTwins(rewrite, SLOT, "copied"),
                ),
            ),
            complete,
        ),
        notes=(*_notes(rewrite), *notes),
    )


def _notes(rewrite: Rewrite) -> tuple[str, ...]:
    found = []
    if rewrite.application == "dual-write":
        found.append(
            "a dual-written item costs four times its write units, and the application may see "
            "TransactionConflict while items are copied"
        )
    for one in rewrite.routes:
        if one.mark is not None and not one.keeps_mark:
            found.append(f"twins in {one.target} carry {one.mark} until contract: their keys do not tell their source")
        if callable(one.key):
            found.append(
                f"the key is made by {getattr(one.key, '__name__', 'a function')}(): the application must import it"
            )
        if not one.is_static:
            found.append(
                f"keys of {one.target} depend on attributes that may change: such an update moves the twin, "
                "at the cost of a read and a transaction of three"
            )
    return tuple(dict.fromkeys(found))
