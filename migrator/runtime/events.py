"""Records of DynamoDB Streams as AWS Lambda hands them to a function: JSON, with binary values in base64."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from migrator.core.item import AttributeValue, Item
from migrator.core.streams import ChangeRecord
from migrator.errors import UsageError


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """One record: the table, the view of its stream, and the change. Deletions by Time to Live are deletions."""

    table: str
    view: str
    change: ChangeRecord

    @staticmethod
    def of(record: Mapping[str, Any]) -> StreamEvent:
        """Raises UsageError for what is no record of DynamoDB Streams."""
        try:
            if record["eventSource"] != "aws:dynamodb":
                raise KeyError(record["eventSource"])
            what = record["dynamodb"]
            return StreamEvent(
                _table_of(record["eventSourceARN"]),
                what["StreamViewType"],
                ChangeRecord(
                    _item(what["Keys"]),
                    _item(what["OldImage"]) if "OldImage" in what else None,
                    _item(what["NewImage"]) if "NewImage" in what else None,
                    what["SequenceNumber"],
                    float(what["ApproximateCreationDateTime"]),
                ),
            )
        except (KeyError, TypeError, ValueError) as exc:
            raise UsageError(
                "bad-event",
                f"what came is no record of DynamoDB Streams: {type(exc).__name__} {exc}",
                hint="the function is for an event source mapping of a table's stream; one of Kinesis is another",
            ) from exc


def _table_of(arn: str) -> str:
    """`arn:aws:dynamodb:REGION:ACCOUNT:table/NAME/stream/LABEL`"""
    kind, name, *_ = arn.split(":", 5)[5].split("/")
    if kind != "table":
        raise ValueError(arn)
    return name


def _item(shown: Mapping[str, Any]) -> Item:
    return {name: _value(value) for name, value in shown.items()}


def _value(shown: Mapping[str, Any]) -> AttributeValue:
    ((kind, content),) = shown.items()
    match kind:
        case "B":
            return {"B": base64.b64decode(content, validate=True)}
        case "BS":
            return {"BS": [base64.b64decode(one, validate=True) for one in content]}
        case "L":
            return {"L": [_value(one) for one in content]}
        case "M":
            return {"M": _item(content)}
        case _:
            return {kind: content}
