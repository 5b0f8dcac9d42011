"""A rewrite as plain values for implementations in any language: what the phase record carries.

`docs/phase-record.md` describes it field by field, `docs/phase-record.schema.json` as a schema.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast, get_args

from migrator.core.item import BadValue, from_python, to_python
from migrator.core.item import from_json as item_from_json
from migrator.core.item import to_json as item_to_json
from migrator.core.rewrite.form import Form
from migrator.core.rewrite.rewrite import Application, Rewrite
from migrator.core.rewrite.route import KeyFunction, Route
from migrator.core.schema import KeyAttribute, KeyType
from migrator.core.where import Absent, BeginsWith, Exists, OneOf, Where
from migrator.errors import MigratorError, UsageError

T = TypeVar("T")
FORMAT = 1
Resolve = Callable[[str], Callable[..., Any]]
"""The function that `module:name` stands for."""


def to_json(rewrite: Rewrite, names: Mapping[str, str]) -> dict[str, Any]:
    """Strings, integers, booleans, None, lists and maps; the same for rewrites that are the same.

    `names` gives the physical name of each table. Raises UsageError `function-not-importable`.
    """
    return {
        "format": FORMAT,
        "application": rewrite.application,
        "moves": rewrite.moves,
        "routes": [_route_to_json(route, names) for route in rewrite.routes],
        "accept_duplicates_in": list(rewrite.accept_duplicates_in),
    }


def from_json(document: Mapping[str, Any], resolve: Resolve, aliases: Mapping[str, str] | None = None) -> Rewrite:
    """The rewrite; its tables are named by `aliases` of physical names, or by these themselves.

    Raises MigratorError `newer-record`, `damaged-record`, and what `resolve` raises.
    """
    reading = _Reading(document)
    version = reading.integer("format")
    if version > FORMAT:
        raise MigratorError(
            "newer-record",
            f"the rewrite in the phase record is of format {version}, by a later version",
            hint="upgrade this package to at least that version",
        )
    return Rewrite(
        routes=tuple(_route(one, resolve, aliases or {}) for one in reading.maps("routes")),
        application=cast(Application, reading.choice("application", get_args(Application))),
        moves=reading.flag("moves"),
        accept_duplicates_in=tuple(reading.texts("accept_duplicates_in")),
    )


def _route_to_json(route: Route, names: Mapping[str, str]) -> dict[str, Any]:
    return {
        "source": names[route.source],
        "target": names[route.target],
        "source_key": _keys_to_json(route.source_key),
        "target_key": _keys_to_json(route.target_key),
        "where": {"function": _named(route.where)}
        if callable(route.where)
        else {"attributes": {name: _condition_to_json(one) for name, one in sorted(route.where.items())}},
        "key": {"function": _named(route.key)} if callable(route.key) else {"templates": _form_to_json(route.key)},
        "old": _form_to_json(route.old),
        "set": _form_to_json(route.set),
        "keep": None if route.keep is None else list(route.keep),
        "mark": route.mark,
        "keeps_mark": route.keeps_mark,
    }


def _keys_to_json(keys: Sequence[KeyAttribute]) -> list[dict[str, str]]:
    return [{"name": one.name, "type": one.type} for one in keys]


def _form_to_json(form: Form) -> dict[str, str]:
    return {name: template.source for name, template in sorted(form.templates.items())}


def _condition_to_json(condition: Any) -> dict[str, Any]:
    match condition:
        case Exists():
            return {"exists": True}
        case Absent():
            return {"exists": False}
        case BeginsWith(prefix):
            return {"begins_with": prefix}
        case OneOf(values):
            return {"one_of": [_value_to_json(one) for one in values]}
    return {"equals": _value_to_json(condition)}


def _value_to_json(value: Any) -> dict[str, Any]:
    found: dict[str, Any] = item_to_json({"": from_python(value)})[""]
    return found


def _named(function: Callable[..., Any]) -> str:
    """`module:name`, by which an application imports it too."""
    name = getattr(function, "__qualname__", "")
    if not name or "<" in name:
        raise UsageError(
            "function-not-importable",
            f"{name or function!r} has no name by which an application could import it",
            hint="define it with `def` at the top of a module that the application has too",
        )
    return f"{function.__module__}:{name}"


# --- reading ----------------------------------------------------------------------------------------------------------


def _route(document: Mapping[str, Any], resolve: Resolve, aliases: Mapping[str, str]) -> Route:
    reading = _Reading(document)
    source, target = reading.text("source"), reading.text("target")
    return Route(
        aliases.get(source, source),
        aliases.get(target, target),
        _keys(reading.maps("source_key")),
        _keys(reading.maps("target_key")),
        where=_where(reading.map("where"), resolve),
        key=_key(reading.map("key"), resolve),
        old=_form(reading.map("old")),
        set=_form(reading.map("set")),
        keep=None if document.get("keep") is None else tuple(reading.texts("keep")),
        mark=None if document.get("mark") is None else reading.text("mark"),
        keeps_mark=reading.flag("keeps_mark"),
    )


def _keys(documents: Sequence[Mapping[str, Any]]) -> tuple[KeyAttribute, ...]:
    if not 1 <= len(documents) <= 2:
        raise _damaged("a key has one attribute or two")
    readings = map(_Reading, documents)
    return tuple(
        KeyAttribute(one.text("name"), cast(KeyType, one.choice("type", get_args(KeyType)))) for one in readings
    )


def _where(document: Mapping[str, Any], resolve: Resolve) -> Where:
    reading = _Reading(document)
    if "function" in document:
        return resolve(reading.text("function"))
    return {name: _condition(name, one) for name, one in reading.map("attributes").items()}


def _key(document: Mapping[str, Any], resolve: Resolve) -> Form | KeyFunction:
    reading = _Reading(document)
    return resolve(reading.text("function")) if "function" in document else _form(reading.map("templates"))


def _form(document: Mapping[str, Any]) -> Form:
    reading = _Reading(document)
    try:
        return Form.of({name: reading.text(name) for name in document})
    except UsageError as exc:
        raise _damaged(exc.message) from exc


def _condition(name: str, document: Any) -> Any:
    match document:
        case {"exists": bool(wanted)}:
            return Exists() if wanted else Absent()
        case {"begins_with": str(prefix)}:
            return BeginsWith(prefix)
        case {"one_of": list(values)}:
            return OneOf(*(_value(name, one) for one in values))
        case {"equals": value}:
            return _value(name, value)
    raise _damaged(f"the condition on {name!r} is none that this version knows")


def _value(name: str, value: Any) -> Any:
    try:
        return to_python(item_from_json({name: value})[name])
    except BadValue as exc:
        raise _damaged(exc.message) from exc


class _Reading:
    """Fields of a document with their types checked."""

    def __init__(self, document: Mapping[str, Any]):
        self._document = document

    def _of(self, name: str, kind: type[T], what: str) -> T:
        value = self._document.get(name)
        if not isinstance(value, kind):
            raise _damaged(f"{name!r} is not {what}")
        return value

    def text(self, name: str) -> str:
        return self._of(name, str, "text")

    def choice(self, name: str, allowed: Sequence[str]) -> str:
        value = self.text(name)
        if value not in allowed:
            raise _damaged(f"{name!r} is {value!r}, not one of {', '.join(allowed)}")
        return value

    def flag(self, name: str) -> bool:
        return self._of(name, bool, "true or false")

    def integer(self, name: str) -> int:
        return self._of(name, int, "a whole number")

    def map(self, name: str) -> Mapping[str, Any]:
        return self._of(name, dict, "a map")

    def maps(self, name: str) -> Sequence[Mapping[str, Any]]:
        return self._all(name, dict, "a list of maps")

    def texts(self, name: str) -> Sequence[str]:
        return self._all(name, str, "a list of texts")

    def _all(self, name: str, kind: type[T], what: str) -> Sequence[T]:
        values = self._of(name, list, what)
        if not all(isinstance(one, kind) for one in values):
            raise _damaged(f"{name!r} is not {what}")
        return values


def _damaged(why: str) -> MigratorError:
    return MigratorError(
        "damaged-record",
        f"the rewrite in the phase record cannot be read: {why}",
        hint="nothing was changed; restore that item from a backup, or mend the field by hand, and run again",
    )
