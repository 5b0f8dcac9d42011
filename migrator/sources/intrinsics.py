"""CloudFormation's intrinsic functions, as far as a template and its parameters tell what they give."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from migrator.sources.unknown import Unknown, bad_source, holds_unknown, is_mapping

MOST_VALUES = 200_000
"""Values looked at in one template: aliases of YAML can make a small file endless."""
_VARIABLE = re.compile(r"\$\{([^!}][^}]*)\}")
_LITERAL = re.compile(r"\$\{!([^}]*)\}")
_ABSENT = object()
"""What `Ref: AWS::NoValue` gives: the member it stands at is not there."""


@dataclass
class Resolver:
    """Resolves values of one template. `parameters` are given ones, `AWS::Region` and the like among them."""

    name: str
    template: Mapping[str, Any]
    parameters: Mapping[str, str]
    _looked_at: int = 0
    _open: set[str] = field(default_factory=set)

    def value(self, value: Any) -> Any:
        """The value with its functions resolved; an Unknown where one cannot be, None where there is none."""
        found = self._value(value)
        return None if found is _ABSENT else found

    def holds(self, condition: Any) -> bool | Unknown:
        """Whether a condition of the template, by its name, holds."""
        if not isinstance(condition, str):
            return Unknown("a condition without a name")
        conditions = self.template.get("Conditions")
        if not is_mapping(conditions) or condition not in conditions or condition in self._open:
            return Unknown(f"condition {condition} is not told in this template")
        self._open.add(condition)
        try:
            found = self._value(conditions[condition])
        finally:
            self._open.discard(condition)
        return found if isinstance(found, bool | Unknown) else Unknown(f"condition {condition} is no condition")

    def _value(self, value: Any) -> Any:
        self._looked_at += 1
        if self._looked_at > MOST_VALUES:
            raise bad_source(self.name, f"more than {MOST_VALUES:,} values, once its functions are followed")
        if is_mapping(value):
            if len(value) == 1:
                ((function, argument),) = value.items()
                if function in _FUNCTIONS:
                    return _FUNCTIONS[function](self, argument)
                if isinstance(function, str) and function.startswith("Fn::"):
                    return Unknown(f"{function} cannot be told from the template")
            resolved = {str(key): self._value(one) for key, one in value.items()}
            return {key: one for key, one in resolved.items() if one is not _ABSENT}
        if isinstance(value, list | tuple):
            return [one for one in map(self._value, value) if one is not _ABSENT]
        return value

    # --- one function each

    def ref(self, name: Any) -> Any:
        if name == "AWS::NoValue":
            return _ABSENT
        if name in self.parameters:
            return self.parameters[name]
        declared = self.template.get("Parameters")
        parameter = declared.get(name) if is_mapping(declared) else None
        if is_mapping(parameter):
            is_fetched = str(parameter.get("Type", "")).startswith("AWS::SSM::Parameter")
            if "Default" in parameter and not is_fetched:
                return _as_listed(parameter)
            return Unknown(f"parameter {name} has no value here: give -x {name}=…")
        if str(name).startswith("AWS::"):
            return Unknown(f"{name} is known at deployment: give -x {name}=…")
        return Unknown(f"!Ref {name} is the name of another resource, which is known at deployment")

    def get_attribute(self, argument: Any) -> Unknown:
        path = ".".join(map(str, argument)) if isinstance(argument, list) else str(argument)
        return Unknown(f"!GetAtt {path} is known at deployment")

    def substitute(self, argument: Any) -> Any:
        text, own = argument, {}
        if isinstance(argument, list | tuple) and len(argument) == 2 and is_mapping(argument[1]):
            text, own = argument[0], {str(key): self._value(one) for key, one in argument[1].items()}
        if not isinstance(text, str):
            return Unknown("!Sub of something that is no text")
        unknown: list[Unknown] = []

        def replaced(match: re.Match[str]) -> str:
            name = match[1].strip()
            found = own[name] if name in own else self.get_attribute(name) if "." in name else self.ref(name)
            if isinstance(found, Unknown):
                unknown.append(found)
            return _plain(found)

        filled = _VARIABLE.sub(replaced, text)
        return unknown[0] if unknown else _LITERAL.sub(r"${\1}", filled)

    def join(self, argument: Any) -> Any:
        delimiter, parts = _two(argument)
        resolved = self._value(parts)
        unknown = holds_unknown([delimiter, resolved])
        if unknown is not None or not isinstance(resolved, list):
            return unknown or Unknown("!Join of something that is no list")
        return str(delimiter).join(map(_plain, resolved))

    def choose(self, argument: Any) -> Any:
        if not isinstance(argument, list | tuple) or len(argument) != 3:
            return Unknown("!If needs a condition and two values")
        holds = self.holds(argument[0])
        if isinstance(holds, Unknown):
            return holds
        return self._value(argument[1 if holds else 2])

    def select(self, argument: Any) -> Any:
        place, entries = (self._value(one) for one in _two(argument))
        unknown = holds_unknown(place) or (entries if isinstance(entries, Unknown) else None)
        if unknown is not None:
            return unknown
        try:
            return entries[int(place)]
        except (TypeError, ValueError, IndexError):
            return Unknown("!Select of an entry that is not there")

    def split(self, argument: Any) -> Any:
        delimiter, text = (self._value(one) for one in _two(argument))
        unknown = holds_unknown([delimiter, text])
        if unknown is not None:
            return unknown
        return str(text).split(str(delimiter)) if str(delimiter) else Unknown("!Split by nothing")

    def find_in_map(self, argument: Any) -> Any:
        resolved = self._value(argument)
        unknown = holds_unknown(resolved)
        if unknown is not None:
            return unknown
        found: Any = self.template.get("Mappings")
        for step in resolved if isinstance(resolved, list) else ():
            if is_mapping(step):
                break  # a DefaultValue, of the language extensions
            found = found.get(str(step)) if is_mapping(found) else None
        if found is None and isinstance(resolved, list) and resolved and is_mapping(resolved[-1]):
            found = resolved[-1].get("DefaultValue")
        return found if found is not None else Unknown(f"!FindInMap {resolved}: no such entry")

    def equals(self, argument: Any) -> Any:
        left, right = (self._value(one) for one in _two(argument))
        return holds_unknown([left, right]) or _plain(left) == _plain(right)

    def all_of(self, argument: Any) -> Any:
        return self._together(argument, decides=False)

    def any_of(self, argument: Any) -> Any:
        return self._together(argument, decides=True)

    def _together(self, argument: Any, *, decides: bool) -> Any:
        """One that decides is enough, whatever the others are."""
        found = [self._value(one) for one in argument] if isinstance(argument, list | tuple) else []
        if decides in found:
            return decides
        return holds_unknown(found) or (not decides)

    def negated(self, argument: Any) -> Any:
        found = self._value(argument[0]) if isinstance(argument, list | tuple) and argument else None
        return found if isinstance(found, Unknown) else not found

    def condition(self, argument: Any) -> Any:
        return self.holds(argument)

    def imported(self, argument: Any) -> Unknown:
        return Unknown(f"!ImportValue {_plain(self._value(argument))} is of another stack")


_FUNCTIONS: dict[str, Callable[[Resolver, Any], Any]] = {
    "Ref": Resolver.ref,
    "Condition": Resolver.condition,
    "Fn::GetAtt": Resolver.get_attribute,
    "Fn::Sub": Resolver.substitute,
    "Fn::Join": Resolver.join,
    "Fn::If": Resolver.choose,
    "Fn::Select": Resolver.select,
    "Fn::Split": Resolver.split,
    "Fn::FindInMap": Resolver.find_in_map,
    "Fn::Equals": Resolver.equals,
    "Fn::And": Resolver.all_of,
    "Fn::Or": Resolver.any_of,
    "Fn::Not": Resolver.negated,
    "Fn::ImportValue": Resolver.imported,
}


def _two(argument: Any) -> tuple[Any, Any]:
    if isinstance(argument, list | tuple) and len(argument) == 2:
        return argument[0], argument[1]
    return Unknown("a function without its two arguments"), Unknown("a function without its two arguments")


def _as_listed(parameter: Mapping[str, Any]) -> Any:
    default = parameter["Default"]
    is_list = str(parameter.get("Type", "")) in ("CommaDelimitedList", "List<Number>", "List<String>")
    return [one.strip() for one in str(default).split(",")] if is_list else default


def _plain(value: Any) -> str:
    """As CloudFormation writes a value into text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
