"""Items from JSON: checked wire form, or plain JSON turned into it with its numbers as they were written."""

from __future__ import annotations

import base64
import binascii
import json
from decimal import Decimal, InvalidOperation
from typing import Any

WireItem = dict[str, dict[str, Any]]
TYPES = frozenset({"S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "L", "M"})


class MalformedError(ValueError):
    """What is wrong with an item, and at which attribute."""


class Number(str):
    """A number's text, kept from the JSON so that no digit changes."""

    __slots__ = ()


def parsed(text: str) -> Any:
    """JSON with numbers as `Number`; raises ValueError for NaN and Infinity as for all that is no JSON."""

    def no_constant(name: str) -> Any:
        raise ValueError(f"{name} is not JSON")

    return json.loads(text, parse_int=Number, parse_float=Number, parse_constant=no_constant)


def is_wire(item: Any) -> bool:
    """Whether every attribute of `item` is an object of one member that is a DynamoDB type."""
    return isinstance(item, dict) and all(
        isinstance(value, dict) and len(value) == 1 and value.keys() <= TYPES for value in item.values()
    )


def from_wire(item: Any) -> WireItem:
    """`item` checked, its binaries decoded from base64 (as boto3 wants them)."""
    if not isinstance(item, dict) or not item:
        raise MalformedError("an item is an object with at least one attribute")
    return {name: _value(value, name) for name, value in item.items()}


def from_plain(item: Any) -> WireItem:
    """Plain JSON as an item: strings, numbers, booleans, null, lists and objects."""
    if not isinstance(item, dict) or not item:
        raise MalformedError("an item is an object with at least one attribute")
    return {name: _typed(value, name) for name, value in item.items()}


def _typed(value: Any, path: str) -> dict[str, Any]:
    match value:
        case None:
            return {"NULL": True}
        case bool():
            return {"BOOL": value}
        case Number():
            return {"N": _number(str(value), path)}
        case str():
            return {"S": value}
        case list():
            return {"L": [_typed(member, f"{path}[{i}]") for i, member in enumerate(value)]}
        case dict():
            return {"M": {name: _typed(member, f"{path}.{name}") for name, member in value.items()}}
    raise MalformedError(f"{path}: {type(value).__name__} has no form in DynamoDB")


def _value(value: Any, path: str) -> dict[str, Any]:
    if not isinstance(value, dict) or len(value) != 1 or not value.keys() <= TYPES:
        raise MalformedError(f'{path}: expected one type and its value, such as {{"S": "…"}}')
    (kind, content), *_ = value.items()
    match kind, content:
        case ("S", str()) if not isinstance(content, Number):
            return {"S": content}
        case ("N", str()):
            return {"N": _number(str(content), path)}
        case ("B", str()):
            return {"B": _binary(content, path)}
        case (("BOOL" | "NULL"), bool()):
            return {kind: content}
        case ("SS", list()) if content and all(type(member) is str for member in content):
            return {"SS": content}
        case ("NS", list()) if content and all(isinstance(member, str) for member in content):
            return {"NS": [_number(str(member), path) for member in content]}
        case ("BS", list()) if content and all(isinstance(member, str) for member in content):
            return {"BS": [_binary(member, path) for member in content]}
        case ("L", list()):
            return {"L": [_value(member, f"{path}[{i}]") for i, member in enumerate(content)]}
        case ("M", dict()):
            return {"M": {name: _value(member, f"{path}.{name}") for name, member in content.items()}}
    raise MalformedError(f"{path}: this is no value of type {kind}")


def _number(text: str, path: str) -> str:
    try:
        finite = Decimal(text).is_finite()
    except InvalidOperation:
        finite = False
    if not finite:
        raise MalformedError(f"{path}: {text!r} is not a number")
    return text


def _binary(text: str, path: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        raise MalformedError(f"{path}: binary values are base64") from None
