"""A fault as somebody writes it: a kind, what it matches, and the kind's options, read with the errors named."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from botocore.session import get_session

from migrator.config.limits import parse_duration
from migrator.errors import UsageError
from migrator.sandbox.faults.access import IAM_ONLY, AccessDenied, ExpiredToken
from migrator.sandbox.faults.capacity import Capacity
from migrator.sandbox.faults.conflict import Conflict
from migrator.sandbox.faults.kind import Act, Kind, Seconds, Share
from migrator.sandbox.faults.match import Match
from migrator.sandbox.faults.network import Error, Latency, Lost, Reset, Timeout
from migrator.sandbox.faults.stale import StaleDescribe, StaleItemCount
from migrator.sandbox.faults.streams import ShardSplit, StreamTrim, TtlDelete
from migrator.sandbox.faults.throttle import Statement, Throttle, Unprocessed

KINDS: Mapping[str, type[Kind]] = {
    "throttle": Throttle,
    "capacity": Capacity,
    "unprocessed": Unprocessed,
    "statement": Statement,
    "conflict": Conflict,
    "error": Error,
    "latency": Latency,
    "reset": Reset,
    "lost": Lost,
    "timeout": Timeout,
    "access-denied": AccessDenied,
    "expired-token": ExpiredToken,
    "stale-item-count": StaleItemCount,
    "stale-describe": StaleDescribe,
    "stream-trim": StreamTrim,
    "shard-split": ShardSplit,
    "ttl-delete": TtlDelete,
}
MATCHING = ("operation", "table", "index", "key", "nth", "every", "probability", "seed", "times", "for")
_COUNTS: Mapping[str, Any] = {"nth": int, "every": int, "times": int}


class BadFault(UsageError):
    """A fault that cannot be; the message begins with the place, such as `fault 2, probability`."""

    def __init__(self, where: str, text: str):
        super().__init__("bad-fault", f"{where}: {text}", hint="see docs/rehearse.md for the kinds and their options")


@dataclasses.dataclass(frozen=True, slots=True)
class Spec:
    """A fault that may begin, as often as wanted: each time it counts from the start."""

    kind: str
    match: Match
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def begin(self) -> Kind:
        return KINDS[self.kind](**self.options)

    def __str__(self) -> str:
        """As `migrator sandbox fault add` takes it."""
        options = [f"--set {name.replace('_', '-')}={_shown(value)}" for name, value in self.options.items()]
        return " ".join(word for word in (self.kind, str(self.match), *options) if word)


def read_spec(given: Mapping[str, Any], where: str = "fault") -> Spec:
    """A fault of a mapping with `kind`, the members of Match, and options. Raises BadFault, which names the member."""
    members = {name.replace("_", "-"): value for name, value in given.items() if value is not None}
    name = members.pop("kind", None)
    if not isinstance(name, str) or name not in KINDS:
        raise BadFault(f"{where}, kind", f"{_missing(name)}; the kinds are {', '.join(KINDS)}{_close(name, KINDS)}")
    kind = KINDS[name]
    matching = {member: members.pop(member) for member in MATCHING if member in members}
    options = _options(kind, members, where)
    return Spec(name, _match(name, kind, matching, where), options)


def _match(name: str, kind: type[Kind], given: dict[str, Any], where: str) -> Match:
    operations = given.get("operation", ())
    operations = (operations,) if isinstance(operations, str) else operations
    if not isinstance(operations, list | tuple) or not all(isinstance(one, str) for one in operations):
        raise BadFault(f"{where}, operation", f"{operations!r} is no operation and no list of them")
    for operation in operations:
        _check_operation(name, kind, operation, f"{where}, operation")
    key = given.get("key", {})
    if not isinstance(key, dict) or not all(isinstance(value, str | int | float) for value in key.values()):
        raise BadFault(f"{where}, key", f'{key!r} does not give values of attributes, such as {{ PK = "TENANT#1" }}')
    table, index = (_typed(str, given.get(member, ""), f"{where}, {member}") for member in ("table", "index"))
    if issubclass(kind, Act) and not table:
        raise BadFault(f"{where}, table", f"{name} needs the name of a table")
    counts = {member: _count(given.get(member), f"{where}, {member}") for member in _COUNTS}
    probability = None if "probability" not in given else _typed(Share, given["probability"], f"{where}, probability")
    seed = _typed(int, given.get("seed", 0), f"{where}, seed")
    lasts = None if "for" not in given else _typed(Seconds, given["for"], f"{where}, for")
    values = {attribute: str(value) for attribute, value in key.items()}
    return Match(tuple(operations), table, index, values, **counts, probability=probability, seed=seed, lasts=lasts)


def _count(value: Any, where: str) -> int | None:
    if value is None:
        return None
    number: int = _typed(int, value, where)
    if number < 1:
        raise BadFault(where, f"{number} is less than 1")
    return number


def _check_operation(name: str, kind: type[Kind], operation: str, where: str) -> None:
    known = _operations() | (IAM_ONLY if kind.by_action else frozenset())
    if kind.happens_to is not None and operation not in kind.happens_to:
        wanted = ", ".join(sorted(kind.happens_to))
        raise BadFault(where, f"{name} happens to {wanted}, not to {operation}" if wanted else f"{name} takes none")
    if operation not in known:
        raise BadFault(where, f"there is no {operation}{_close(operation, known)}")


@cache
def _operations() -> frozenset[str]:
    """Those of all services that the sandbox answers for."""
    models = (get_session().get_service_model(name) for name in ("dynamodb", "dynamodbstreams", "cloudwatch", "sts"))
    return frozenset(name for model in models for name in model.operation_names)


def _options(kind: type[Kind], given: dict[str, Any], where: str) -> dict[str, Any]:
    hints = get_type_hints(kind, include_extras=True)
    fields = {field.name.replace("_", "-"): field.name for field in dataclasses.fields(kind) if field.init}
    found = {}
    for name, value in given.items():
        if name not in fields:
            known = [*MATCHING, *fields]
            raise BadFault(f"{where}, {name}", f"unknown; it takes {', '.join(known)}{_close(name, known)}")
        found[fields[name]] = _typed(hints[fields[name]], value, f"{where}, {name}")
    return found


def _typed(wanted: Any, value: Any, where: str) -> Any:
    """`value`, or what its text says, as the type of an option."""
    if get_origin(wanted) in (Union, UnionType):
        return _typed(next(one for one in get_args(wanted) if one is not NoneType), value, where)
    if get_origin(wanted) is Literal:
        if value not in get_args(wanted):
            raise BadFault(
                where, f"{value!r} is none of {', '.join(get_args(wanted))}{_close(value, get_args(wanted))}"
            )
        return value
    if wanted is bool:
        if value not in (True, False, "true", "false"):
            raise BadFault(where, f"{value!r} is neither true nor false")
        return value in (True, "true")
    if wanted is str:
        if not isinstance(value, str):
            raise BadFault(where, f"{value!r} is no text")
        return value
    return _number(wanted, value, where)


def _number(wanted: Any, value: Any, where: str) -> float:
    try:
        if wanted == Seconds:
            return parse_duration(value)
        number = int(str(value)) if wanted is int else float(str(value))
    except (ValueError, TypeError) as exc:
        text = str(exc) if wanted == Seconds else f"{value!r} is no {'whole ' if wanted is int else ''}number"
        raise BadFault(where, text) from exc
    if wanted == Share and not 0 < number <= 1:
        raise BadFault(where, f"{value!r} is not above 0 and at most 1")
    if wanted is float and not 0 <= number < float("inf"):
        raise BadFault(where, f"{value!r} is no number of units")
    return number


def _missing(name: object) -> str:
    return "missing" if name is None else f"there is no {name!r}"


def _close(name: object, known: Any) -> str:
    near = get_close_matches(str(name), list(known), n=1)
    return f"; did you mean {near[0]}?" if near else ""


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)
