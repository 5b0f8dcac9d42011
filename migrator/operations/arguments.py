"""What the constructors of operations take, checked and brought to one form.

What can be judged without knowing a table is judged here, as a UsageError at the line of the migration file.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypeAlias

from migrator.core.function import positional_parameters
from migrator.core.item import AttributeValue, BadValue, from_python, is_encodable
from migrator.core.schema import KeyAttribute, Throughput
from migrator.core.template import Template
from migrator.core.where import Absent, BeginsWith, Exists, OneOf, Where
from migrator.errors import UsageError

Keys: TypeAlias = str | KeyAttribute | Iterable[str | KeyAttribute]
"""One key attribute or several in order: a name is a string attribute, N("score") a number, B("hash") a binary."""

Units: TypeAlias = tuple[int, int] | Throughput
"""(read, write) units a second."""

Undo: TypeAlias = Literal["auto", "journal", "none"]
CheckMode: TypeAlias = Literal["pass", "none"]


def assign(value: object, **held: object) -> None:
    """Fill a frozen dataclass from its own `__init__`."""
    for name, content in held.items():
        object.__setattr__(value, name, content)


def choice(name: str, value: str, allowed: tuple[str, ...]) -> None:
    """Refuse an option's value that is not one of `allowed`."""
    if value not in allowed:
        raise UsageError("bad-option", f"{name}={value!r}: give {' or '.join(map(repr, allowed))}")


def names(what: str, given: str | Iterable[str]) -> tuple[str, ...]:
    """One attribute name, or several, each once and in order."""
    found = (given,) if isinstance(given, str) else tuple(given)
    for name in found:
        attribute_name(what, name)
    repeated = sorted({name for name in found if found.count(name) > 1})
    if repeated:
        raise UsageError("bad-option", f"{what}: {', '.join(repeated)} is named twice")
    return found


def attribute_name(what: str, name: object) -> None:
    """Refuse what cannot be the name of an attribute."""
    if not isinstance(name, str) or not name or not is_encodable(name):
        raise UsageError("bad-option", f"{what}: {name!a} is no attribute name")


def units(what: str, given: Units | None, *, may_lift: bool = False) -> Throughput | None:
    """(read, write) as Throughput; `may_lift` allows -1, which removes an on-demand maximum."""
    if given is None:
        return None
    pair = (given.read, given.write) if isinstance(given, Throughput) else tuple(given)
    least = -1 if may_lift else 1
    if len(pair) != 2 or any(isinstance(one, bool) or not isinstance(one, int) for one in pair):
        raise UsageError("bad-option", f"{what}={given!r}: give (read units, write units)")
    if any(one < least or one == 0 for one in pair):
        raise UsageError("bad-option", f"{what}={given!r}: units are whole numbers from 1")
    return Throughput(*pair)


def function(what: str, given: Callable[..., Any], parameters: tuple[int, ...]) -> None:
    """Refuse a function that has no name of its own in its module, or that takes something else.

    A lambda or a nested function prints as nothing, has no source to put into a checksum, and does not travel.
    """
    if not inspect.isfunction(given) or given.__name__ == "<lambda>" or "<locals>" in given.__qualname__:
        shown = getattr(given, "__qualname__", type(given).__name__)
        raise UsageError(
            "anonymous-function",
            f"{what}: {shown} is no named function of a module",
            hint="define it with `def` at the top level of the migration file or of a module it imports",
        )
    if inspect.iscoroutinefunction(given) or inspect.isgeneratorfunction(given) or inspect.isasyncgenfunction(given):
        raise UsageError("bad-function", f"{what}: {given.__name__}() is a coroutine or a generator, not a function")
    taken = inspect.signature(given).parameters.values()
    extra = [one for one in taken if one.kind is one.KEYWORD_ONLY and one.default is one.empty]
    if positional_parameters(given) not in parameters or extra:
        wanted = " or ".join(map(str, parameters))
        raise UsageError("bad-function", f"{what}: {given.__name__}() must take {wanted} positional parameter(s)")


def constant(what: str, value: object) -> AttributeValue:
    """The wire form of a constant. Raises UsageError with BadValue's code where there is none."""
    try:
        return from_python(value, what)
    except BadValue as exc:
        raise UsageError(exc.code, exc.message, hint=exc.hint) from exc


def where(given: Where) -> Where:
    """A `where` whose conditions and values are all well-formed."""
    if callable(given):
        function("where", given, (1,))
        return given
    if not isinstance(given, Mapping):
        raise UsageError("bad-where", f"where={given!r}: give attribute -> value or condition, or a named function")
    for name, condition in given.items():
        attribute_name("where", name)
        if isinstance(condition, type) and condition in (Exists, Absent, BeginsWith, OneOf):
            raise UsageError("bad-where", f"where {name}: write {condition.__name__}(…), with parentheses")
        match condition:
            case Exists() | Absent():
                pass
            case BeginsWith(prefix):
                if not isinstance(prefix, str) or not is_encodable(prefix):
                    raise UsageError("bad-where", f"where {name}: BeginsWith takes a string")
            case OneOf(values):
                if not values:
                    raise UsageError("bad-where", f"where {name}: OneOf() of nothing selects nothing")
                for value in values:
                    constant(f"where {name}", value)
            case _:
                constant(f"where {name}", condition)
    return dict(given)


def assignments(given: Mapping[str, object]) -> dict[str, Template | AttributeValue]:
    """The `set` of a backfill: a string is a template, anything else a constant."""
    found: dict[str, Template | AttributeValue] = {}
    for name, value in given.items():
        attribute_name("set", name)
        if value is None:
            raise UsageError(
                "bad-option",
                f"set {name}: None is neither a template nor a constant",
                hint=f"write remove=[{name!r}] to remove the attribute",
            )
        found[name] = _template(name, value) if isinstance(value, str) else constant(f"set {name}", value)
    return found


def _template(name: str, source: str) -> Template | AttributeValue:
    try:
        template = Template.parse(source)
    except UsageError as exc:
        raise UsageError(exc.code, f"set {name}: {exc.message}", hint=exc.hint) from exc
    if template.references:
        return template
    # Without a field it is a constant, braces unescaped.
    return {"S": "".join(str(part) for part in template.parts)}


def boolean(what: str, value: object) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(value, bool):
        raise UsageError("bad-option", f"{what}: give True or False, not {value!r}")
