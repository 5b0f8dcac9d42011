"""What a run does after the service refused a request for now: slow down what slowing down helps."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from migrator.engine.pace import Pace


def give_way(
    pace: Pace,
    table: str,
    code: str,
    reasons: Sequence[tuple[str, str]],
    partition: Callable[[str], str] = lambda _: "",
) -> None:
    """Slow down what slowing down helps, after a passing refusal.

    `partition` gives the fingerprint of the item's partition key in a table or index, "" where it has none.
    """
    if code == "transaction-conflict":
        pace.conflicted("write", table)
        return
    for reason, arn in reasons or (("", ""),):
        resource = _resource(arn) if arn else table
        # A hot key is throttled whatever the table's rate is (facts §8): only its own items are held.
        if "KeyRange" not in reason:
            pace.throttled("write", resource)
        elif key := partition(resource):
            pace.hot(resource, key)


def _resource(arn: str) -> str:
    """`table` or `table/index` of a resource's ARN, as ReturnConsumedCapacity names them."""
    tail = arn.rsplit(":table/", 1)[-1]
    return tail.replace("/index/", "/")
