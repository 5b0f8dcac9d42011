"""Guarded writes as requests, and the outcomes that errors and cancellations stand for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, assert_never

from migrator.core import expression
from migrator.core.change import Check, ChecksLost, Delete, Outcome, Put, Refused, TryAgain, Unknown, Update, Write
from migrator.core.expression import Substitutions
from migrator.core.item import key_text
from migrator.core.ports import Consumed
from migrator.dynamo.errors import Cancelled, Conflict, Unreachable
from migrator.errors import AnswerLost, MigratorError, ServiceError, Throttled

CONDITION_FAILED = "ConditionalCheckFailed"
PASSING = frozenset({"ProvisionedThroughputExceeded", "ThrottlingError", "TransactionConflict", "RequestLimitExceeded"})
_REFUSALS = frozenset({"validation", "item-collection-full"})


def request(table: str, write: Write) -> dict[str, Any]:
    """The members that a write has alone and in a transaction: its guard, and the whole item where that fails."""
    subs = Substitutions()
    found: dict[str, Any] = {"TableName": table, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
    match write:
        case Update(key, change):
            found["Key"] = key
            found["ConditionExpression"] = expression.condition(subs, change.guard, list(key))
            found["UpdateExpression"] = expression.update(subs, change.set, sorted(change.remove))
        case Put(item, key):
            found["Item"] = item
            found["ConditionExpression"] = expression.absent(subs, list(key))
        case Delete(key, guard):
            found["Key"] = key
            found["ConditionExpression"] = expression.condition(subs, guard, list(key))
        case _:
            assert_never(write)
    return found | _substituted(subs)


def transact(table: str, write: Write) -> dict[str, Any]:
    """One action of TransactWriteItems."""
    match write:
        case Update():
            kind = "Update"
        case Put():
            kind = "Put"
        case Delete():
            kind = "Delete"
        case _:
            assert_never(write)
    return {kind: request(table, write)}


def condition_check(check: Check) -> dict[str, Any]:
    """One action of TransactWriteItems that writes nothing."""
    subs = Substitutions()
    names = list(check.key)
    condition = expression.condition(subs, check.guard, names) if check.present else expression.absent(subs, names)
    return {
        "ConditionCheck": {"TableName": check.table, "Key": check.key, "ConditionExpression": condition}
        | _substituted(subs)
    }


def checks_of(write: Write) -> tuple[Check, ...]:
    return write.change.checks if isinstance(write, Update) else ()


def describe_check(check: Check) -> str:
    wanted = "as it was read" if check.present else "absent"
    return f"{check.table} {key_text(check.key)} is no longer {wanted}"


def outcome_of(error: MigratorError) -> Outcome | None:
    """What an error says about one write; None where it says that the run cannot go on."""
    match error:
        case Throttled():
            return TryAgain("throttled", error.message, error.reasons)
        case Conflict() | Unreachable():
            return TryAgain(error.code, error.message)
        case AnswerLost():
            return Unknown(error.message)
        case ServiceError() if error.code in _REFUSALS:
            return Refused(error.code, error.message)
    return None


def cancellation(error: Cancelled, names: Sequence[str]) -> Outcome:
    """What a cancelled transaction says, where the write's own guard (the first reason) held.

    `names` say what each action after the write stood for.
    """
    codes = [str(reason.get("Code", "None")) for reason in error.reasons]
    lost = [names[n] for n, code in enumerate(codes[1:]) if code == CONDITION_FAILED]
    if lost:
        return ChecksLost("; ".join(lost))
    for reason, code in zip(error.reasons, codes, strict=True):
        if code != "None" and code not in PASSING:
            return Refused("validation", f"{code}: {reason.get('Message', '')}")
    if "TransactionConflict" in codes:
        return TryAgain("transaction-conflict", error.message)
    return TryAgain("throttled", error.message)


def consumed(answers: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None, *, reading: bool) -> Consumed:
    """Units by resource of one ConsumedCapacity or several."""
    found: dict[str, float] = {}
    if not answers:
        return Consumed()
    for answer in [answers] if isinstance(answers, Mapping) else answers:
        table = str(answer.get("TableName", ""))
        of_indexes = {
            index: units.get("CapacityUnits", 0.0)
            for index, units in (answer.get("GlobalSecondaryIndexes") or {}).items()
        }
        # Where the table's part is not told apart, it is what the indexes leave of the sum.
        rest = answer.get("CapacityUnits", 0.0) - sum(of_indexes.values())
        found[table] = found.get(table, 0.0) + answer.get("Table", {}).get("CapacityUnits", rest)
        for index, units in of_indexes.items():
            name = f"{table}/{index}"
            found[name] = found.get(name, 0.0) + units
    return Consumed(read=found) if reading else Consumed(write=found)


def added(parts: Sequence[Consumed]) -> Consumed:
    """What several requests consumed together."""
    read: dict[str, float] = {}
    write: dict[str, float] = {}
    for part in parts:
        for total, units in ((read, part.read), (write, part.write)):
            for name, number in units.items():
                total[name] = total.get(name, 0.0) + number
    return Consumed(read, write)


def _substituted(subs: Substitutions) -> dict[str, Any]:
    found: dict[str, Any] = {"ExpressionAttributeNames": subs.names}
    if subs.values:
        found["ExpressionAttributeValues"] = subs.values
    return found
