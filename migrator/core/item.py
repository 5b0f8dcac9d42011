"""Items in DynamoDB's wire form: equality, size, text of keys, and the way to and from Python values.

An attribute value is a dict with one entry, `{"S": "x"}`, as boto3's low-level client gives it: numbers are
strings, binaries are bytes. Attributes that nothing reads are never taken out of this form, so they cannot change.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeAlias, TypeVar

from migrator.errors import MigratorError, as_text

AttributeValue: TypeAlias = Mapping[str, Any]
Item: TypeAlias = Mapping[str, AttributeValue]
Key: TypeAlias = Mapping[str, AttributeValue]
Value: TypeAlias = Any
"""A Python value: str, Decimal, int, bytes, bool, None, list, dict, set of one scalar type."""

MAX_ITEM_BYTES = 409_600
MAX_PARTITION_KEY_BYTES = 2048
MAX_SORT_KEY_BYTES = 1024

_TYPES = frozenset({"S", "N", "B", "BOOL", "NULL", "L", "M", "SS", "NS", "BS"})


class BadValue(MigratorError):
    """A Python value has no exact form in DynamoDB; nothing was written."""

    def __init__(self, code: str, message: str, hint: str | None = None):
        super().__init__(code, message, hint=hint)


def type_of(value: AttributeValue) -> str:
    """The type descriptor of an attribute value: "S", "N", "M", …"""
    (kind,) = value
    return kind


def canonical(value: AttributeValue) -> Any:
    """A hashable form in which two values are equal exactly when they are the same to the service.

    Types are exact (`{"N": "1"}` differs from `{"S": "1"}`), numbers compare by value (1.50 is 1.5, -0 is 0),
    sets by content.
    """
    ((kind, content),) = value.items()
    match kind:
        case "N":
            return ("N", Decimal(content))
        case "NS":
            return ("NS", frozenset(Decimal(number) for number in content))
        case "SS":
            return ("SS", frozenset(content))
        case "BS":
            return ("BS", frozenset(bytes(binary) for binary in content))
        case "B":
            return ("B", bytes(content))
        case "L":
            return ("L", tuple(canonical(entry) for entry in content))
        case "M":
            return ("M", frozenset((name, canonical(entry)) for name, entry in content.items()))
        case _:
            return (kind, content)


def same(left: AttributeValue | None, right: AttributeValue | None) -> bool:
    """Whether two attribute values, or two absences, are the same to the service."""
    if left is None or right is None:
        return left is right
    return left == right or canonical(left) == canonical(right)


def same_item(left: Item | None, right: Item | None) -> bool:
    """Whether two items have the same attributes with the same values."""
    if left is None or right is None:
        return left is right
    return left.keys() == right.keys() and all(same(left[name], right[name]) for name in left)


def number_size(text: str) -> int:
    """The bytes a number takes: one per two digits of its mantissa plus one, one more when negative (facts §4.3)."""
    number = Decimal(text)
    if number == 0:
        return 1
    sign, digits, exponent = number.as_tuple()
    stripped = "".join(map(str, digits)).rstrip("0")
    scale = int(exponent) + len(digits) - len(stripped)
    # Digit pairs are aligned to the decimal point: an odd scale splits one pair more.
    pairs = (len(stripped) + (scale % 2) + 1) // 2
    return min(21, pairs + 1 + sign)


def number_text(text: str) -> str:
    """The one plain decimal form of a number: `1.50` and `15E-1` give `1.5`, `-0` gives `0`; no digit is lost."""
    # Not Decimal.normalize(): it rounds to the context's 28 digits, and DynamoDB keeps 38.
    plain = format(Decimal(text), "f")
    if "." in plain:
        plain = plain.rstrip("0").rstrip(".")
    return "0" if plain == "-0" else plain


def value_size(value: AttributeValue) -> int:
    """The bytes a value takes, as the service counts them (facts §4.3)."""
    ((kind, content),) = value.items()
    match kind:
        case "S":
            return len(content.encode())
        case "N":
            return number_size(content)
        case "B":
            return len(content)
        case "BOOL" | "NULL":
            return 1
        case "SS":
            return sum(len(text.encode()) for text in content)
        case "NS":
            return sum(number_size(text) for text in content)
        case "BS":
            return sum(len(binary) for binary in content)
        case "L":
            return 3 + sum(1 + value_size(entry) for entry in content)
        case "M":
            return 3 + sum(1 + len(name.encode()) + value_size(entry) for name, entry in content.items())
    raise BadValue("unknown-type", f"{kind!r} is not a DynamoDB type")


def item_size(item: Item) -> int:
    """The bytes of an item, names included."""
    return sum(len(name.encode()) + value_size(value) for name, value in item.items())


def key_of(item: Item, names: Sequence[str]) -> dict[str, AttributeValue]:
    """The key attributes of an item, in the order of `names`."""
    return {name: item[name] for name in names}


def text(value: AttributeValue | None) -> str:
    """A value for a person: `"x"`, `5`, `b64:…`, `NULL`; long ones are cut."""
    if value is None:
        return "(absent)"
    ((kind, content),) = value.items()
    match kind:
        case "S":
            shown = json.dumps(content, ensure_ascii=False)
        case "N":
            shown = content
        case "B":
            shown = "b64:" + base64.b64encode(content).decode()
        case "NULL":
            shown = "NULL"
        case "BOOL":
            shown = "true" if content else "false"
        case _:
            shown = f"{kind} " + json.dumps(to_json({"": value})[""][kind], ensure_ascii=False)
    return shown if len(shown) <= 120 else shown[:117] + "…"


_are_keys_redacted = False


def redact_keys(on: bool) -> None:
    """Whether `key_text` gives a digest for each key value. Set once, by the composition root, for the whole process:
    what is said of a key goes through messages of every room."""
    global _are_keys_redacted
    _are_keys_redacted = on


def key_text(key: Key) -> str:
    """A key for a person: `PK="TENANT#t1" SK="META"`; redacted, `PK=<3f9a2c71d0e4>`, the same for the same key."""
    if _are_keys_redacted:
        return " ".join(f"{name}=<{fingerprint({name: value})[:12]}>" for name, value in key.items())
    return " ".join(f"{name}={text(value)}" for name, value in key.items())


def to_json(item: Item) -> dict[str, Any]:
    """DynamoDB JSON: binaries in base64, sets sorted."""
    return {name: _to_json(value) for name, value in item.items()}


def _to_json(value: AttributeValue) -> dict[str, Any]:
    ((kind, content),) = value.items()
    match kind:
        case "B":
            return {"B": base64.b64encode(content).decode()}
        case "BS":
            return {"BS": sorted(base64.b64encode(binary).decode() for binary in content)}
        case "SS" | "NS":
            return {kind: sorted(content)}
        case "L":
            return {"L": [_to_json(entry) for entry in content]}
        case "M":
            return {"M": {name: _to_json(entry) for name, entry in content.items()}}
        case _:
            return {kind: content}


def from_json(item: Mapping[str, Any]) -> dict[str, AttributeValue]:
    """The item that DynamoDB JSON stands for. Raises BadValue where it is none."""
    return {_encodable(name, "name"): _from_json(value, name) for name, value in item.items()}


def _from_json(value: Any, where: str) -> AttributeValue:
    if not isinstance(value, Mapping) or len(value) != 1 or next(iter(value)) not in _TYPES:
        raise BadValue("bad-item", f"attribute {where!r}: not a DynamoDB value: {json.dumps(value, default=str)[:80]}")
    ((kind, content),) = value.items()
    try:
        return {kind: _content_from_json(kind, content, where)}
    except (ValueError, TypeError, ArithmeticError) as exc:
        raise BadValue("bad-item", f"attribute {where!r}: not a {kind} value: {exc}") from exc


def _content_from_json(kind: str, content: Any, where: str) -> Any:
    """Raises ValueError, TypeError or ArithmeticError where `content` is not of its kind."""
    match kind:
        case "S":
            return _encodable(_of(str, content), where)
        case "N":
            return _json_number(content)
        case "B":
            return base64.b64decode(_of(str, content), validate=True)
        case "BOOL":
            return _of(bool, content)
        case "SS":
            return [_encodable(_of(str, entry), where) for entry in _of(list, content)]
        case "NS":
            return [_json_number(entry) for entry in _of(list, content)]
        case "BS":
            return [base64.b64decode(_of(str, entry), validate=True) for entry in _of(list, content)]
        case "L":
            return [_from_json(entry, f"{where}[{n}]") for n, entry in enumerate(_of(list, content))]
        case "M":
            return {
                _encodable(name, where): _from_json(entry, f"{where}.{name}")
                for name, entry in _of(dict, content).items()
            }
    if content is not True:
        raise ValueError(f"NULL is true or absent, not {content!r}")
    return True


_Kind = TypeVar("_Kind")


def _of(kind: type[_Kind], content: Any) -> _Kind:
    if not isinstance(content, kind):
        raise TypeError(f"{content!r} is no {kind.__name__}")
    return content


def _json_number(content: Any) -> str:
    if not Decimal(_of(str, content)).is_finite():
        raise ValueError(f"{content} is no number")
    return _of(str, content)


def fingerprint(item: Item) -> str:
    """A hash of an item's or a key's content: the same for items that are the same to the service."""
    parts = sorted((name, _stable(canonical(value))) for name, value in item.items())
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _stable(form: Any) -> Any:
    if isinstance(form, frozenset):
        return sorted((_stable(entry) for entry in form), key=json.dumps)
    if isinstance(form, tuple):
        return [_stable(entry) for entry in form]
    if isinstance(form, Decimal):
        return number_text(str(form))
    if isinstance(form, bytes):
        return form.hex()
    return form


def to_python(value: AttributeValue) -> Value:
    """The Python value: numbers as Decimal, binaries as bytes, sets as frozensets."""
    text = value.get("S")
    if text is not None:
        # By far the most frequent.
        return text
    ((kind, content),) = value.items()
    match kind:
        case "BOOL":
            return content
        case "N":
            return Decimal(content)
        case "B":
            return bytes(content)
        case "NULL":
            return None
        case "L":
            return [to_python(entry) for entry in content]
        case "M":
            return {name: to_python(entry) for name, entry in content.items()}
        case "NS":
            return frozenset(Decimal(number) for number in content)
        case "SS":
            return frozenset(content)
        case "BS":
            return frozenset(bytes(binary) for binary in content)
    raise BadValue("unknown-type", f"{kind!r} is not a DynamoDB type")


def from_python(value: Value, where: str = "value") -> AttributeValue:
    """The wire form of a Python value.

    Raises BadValue for a float (`float-value`: it would not be exact), text that UTF-8 cannot hold (`bad-text`), a
    number beyond 38 digits or the range 1E-130…9.99E+125 (`number-range`), an empty or mixed set (`empty-set`,
    `mixed-set`), and any type DynamoDB has not (`unknown-type`). Its message tells where, never the value: that may be
    what nobody may read in a log.
    """
    if value.__class__ is str and value.isascii():
        return {"S": value}
    match value:
        case bool():
            return {"BOOL": value}
        case str():
            # Of a StrEnum or another subclass, the text itself.
            return {"S": _encodable(str.__str__(value), where)}
        case int() | Decimal():
            return {"N": _number(Decimal(value), where)}
        case float():
            raise BadValue(
                "float-value",
                f"{where}: a float has no exact form in DynamoDB",
                "return an int or a Decimal",
            )
        case bytes() | bytearray():
            return {"B": bytes(value)}
        case None:
            return {"NULL": True}
        case Mapping():
            return {
                "M": {
                    _encodable(str(name), where): from_python(entry, f"{where}.{name}") for name, entry in value.items()
                }
            }
        case list() | tuple():
            return {"L": [from_python(entry, f"{where}[{n}]") for n, entry in enumerate(value)]}
        case set() | frozenset():
            return _set(value, where)
    raise BadValue("unknown-type", f"{where}: DynamoDB has no type for {type(value).__name__}")


def is_encodable(text: str) -> bool:
    """Whether UTF-8 can hold the text: a lone surrogate, half of a character, it cannot."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _encodable(text: str, where: str) -> str:
    if not is_encodable(text):
        raise BadValue("bad-text", f"{as_text(where)}: {text!a} holds half a character, which UTF-8 cannot")
    return text


def _number(number: Decimal, where: str) -> str:
    if not number.is_finite():
        raise BadValue("number-range", f"{where}: infinity and NaN are no numbers that DynamoDB can hold")
    if number and not -130 <= number.adjusted() <= 125:
        raise BadValue("number-range", f"{where}: a number is outside 1E-130…9.99E+125")
    if len("".join(map(str, number.as_tuple().digits)).strip("0")) > 38:
        raise BadValue("number-range", f"{where}: a number has more than 38 significant digits")
    return str(number) if number else "0"


def _set(value: set[Any] | frozenset[Any], where: str) -> AttributeValue:
    if not value:
        raise BadValue("empty-set", f"{where}: DynamoDB holds no empty set", "remove the attribute instead")
    entries = [from_python(entry, where) for entry in value]
    kinds = {type_of(entry) for entry in entries}
    if len(kinds) > 1 or not kinds <= {"S", "N", "B"}:
        raise BadValue("mixed-set", f"{where}: a set holds strings, numbers or binaries, all of one kind")
    (kind,) = kinds
    return {kind + "S": sorted(entry[kind] for entry in entries)}
