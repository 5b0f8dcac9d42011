"""The application's own questions over boto3: one page of a Query, of a table or an index."""

from __future__ import annotations

from typing import Any, assert_never

from migrator.core.expression import Substitutions
from migrator.core.item import Key
from migrator.core.patterns.question import Question, Term
from migrator.core.ports import Page
from migrator.dynamo import writes
from migrator.dynamo.client import Clients
from migrator.dynamo.retry import Retry


class DynamoQueries:
    """The Queries port."""

    def __init__(self, clients: Clients, retry: Retry):
        self._clients = clients
        self._retry = retry

    def ask(self, question: Question, *, start: Key | None = None, limit: int | None = None) -> Page:
        subs = Substitutions()
        request: dict[str, Any] = {
            "TableName": question.table,
            "KeyConditionExpression": " AND ".join(_text(term, subs) for term in question.key),
            "ScanIndexForward": not question.is_descending,
            "ReturnConsumedCapacity": "INDEXES",
        }
        if question.filter:
            request["FilterExpression"] = " AND ".join(_text(term, subs) for term in question.filter)
        request["ExpressionAttributeNames"], request["ExpressionAttributeValues"] = subs.names, subs.values
        if question.index:
            request["IndexName"] = question.index
        if question.is_consistent:
            request["ConsistentRead"] = True
        if start is not None:
            request["ExclusiveStartKey"] = start
        if limit is not None:
            request["Limit"] = limit
        where = f"{question.table}/{question.index}" if question.index else question.table
        answer = self._retry.request(
            "dynamodb:Query", where, lambda: self._clients.items.query(**request), self._clients.access.hint
        )
        return Page(
            answer["Items"],
            answer.get("LastEvaluatedKey"),
            writes.consumed(answer.get("ConsumedCapacity"), reading=True),
        )


def _text(term: Term, subs: Substitutions) -> str:
    name = subs.name(term.attribute)
    values = [subs.value(value) for value in term.values]
    match term.operator:
        case "begins_with":
            return f"begins_with({name}, {values[0]})"
        case "between":
            return f"{name} BETWEEN {values[0]} AND {values[1]}"
        case "=" | "<" | "<=" | ">" | ">=":
            return f"{name} {term.operator} {values[0]}"
    assert_never(term.operator)
