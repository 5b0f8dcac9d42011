"""The application's writes as they were said: boto3's low-level form, read once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from migrator.core.item import AttributeValue, Item, Key
from migrator.runtime.errors import NotExpressible
from migrator.runtime.expressions.conditions import Condition
from migrator.runtime.expressions.tokens import BadExpression
from migrator.runtime.expressions.updates import UpdateText

Kind: TypeAlias = Literal["put", "update", "delete", "check"]
ACTIONS: Mapping[str, Kind] = {"Put": "put", "Update": "update", "Delete": "delete", "ConditionCheck": "check"}
METHODS: Mapping[Kind, str] = {"put": "put_item", "update": "update_item", "delete": "delete_item"}
LEGACY = frozenset(
    {"Expected", "ConditionalOperator", "AttributeUpdates", "QueryFilter", "ScanFilter", "KeyConditions"}
)
"""Parameters that were before expressions."""


@dataclass(frozen=True, slots=True)
class Call:
    """One write, or check, of one item. `item` is that of a put, without its table's key where it is another's."""

    kind: Kind
    request: Mapping[str, Any]

    @property
    def table(self) -> str:
        return str(self.request["TableName"]).rpartition("/")[2]

    def key(self, names: tuple[str, ...]) -> Key:
        """Raises NotExpressible where the key is not whole: what the service would say of it is not known here."""
        given: Item = self.request["Item" if self.kind == "put" else "Key"]
        missing = [name for name in names if name not in given]
        if missing:
            raise NotExpressible(f"{METHODS.get(self.kind, 'a check')} of {self.table} lacks the key's {missing[0]}")
        return {name: given[name] for name in names}

    @property
    def names(self) -> Mapping[str, str]:
        return self.request.get("ExpressionAttributeNames") or {}

    @property
    def values(self) -> Mapping[str, AttributeValue]:
        return self.request.get("ExpressionAttributeValues") or {}

    @property
    def condition(self) -> Condition | None:
        """Raises NotExpressible."""
        text = self.request.get("ConditionExpression")
        try:
            return None if not text else Condition.parse(text, self.names, self.values)
        except BadExpression as exc:
            raise NotExpressible(f"the ConditionExpression {text!r} cannot be judged here: {exc}") from exc

    @property
    def update(self) -> UpdateText:
        """Raises NotExpressible."""
        text = self.request.get("UpdateExpression") or ""
        try:
            return UpdateText.parse(text, self.names, self.values)
        except BadExpression as exc:
            raise NotExpressible(f"the UpdateExpression {text!r} cannot be evaluated here: {exc}") from exc

    @property
    def wants_old(self) -> bool:
        """Whether the item is asked for where the condition fails."""
        return bool(self.request.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD")

    @property
    def returns(self) -> str:
        return str(self.request.get("ReturnValues") or "NONE")

    @property
    def refusal(self) -> str | None:
        """Why it can never be kept on both sides."""
        legacy = sorted(LEGACY & self.request.keys())
        return (
            f"{', '.join(legacy)} of {METHODS.get(self.kind, 'a check')}: say it as an expression" if legacy else None
        )


def calls_of(actions: list[Mapping[str, Any]]) -> tuple[Call, ...]:
    """The actions of a transaction."""
    return tuple(Call(ACTIONS[name], members) for action in actions for name, members in action.items())
