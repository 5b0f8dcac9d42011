"""What IAM's simulator says of the policy that an upgrade needs. Never found out by trying."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from migrator.core.surroundings import Surroundings, Verdict
from migrator.errors import MigratorError
from migrator.runner import iam
from migrator.runner.results import Examined
from migrator.runner.session import Session

CHECK = "permissions"
_LIMITS = "as identity policies have it: what service control or resource policies add is not simulated"


def permissions(session: Session, target: str) -> Iterator[Examined]:
    """One answer, or one for each resource on which something is denied."""
    # An assumed role is known by its whole ARN where the configuration names it.
    around, arn = session.ports.surroundings, session.settings.role_arn or session.caller.arn
    principal = principal_of(arn)
    if around is None or principal is None:
        yield Examined(
            CHECK,
            "",
            "unknown",
            f"{arn or 'the caller'} is no user and no role that can be simulated",
            "compare the policy of `migrator iam` with the role's",
        )
        return
    policy = iam.policy(session, "upgrade", target).policy
    try:
        verdicts = [one for statement in policy["Statement"] for one in _simulated(around, principal, statement)]
    except MigratorError as exc:
        yield Examined(
            CHECK,
            "",
            "unknown",
            f"IAM's simulator does not answer for {principal}: [{exc.code}] {exc.message}",
            "allow iam:SimulatePrincipalPolicy on the role itself, or compare `migrator iam` with its policy",
        )
        return
    yield from _judged(principal, verdicts)


def _judged(principal: str, verdicts: Sequence[Verdict]) -> Iterator[Examined]:
    denied: dict[str, list[str]] = {}
    for one in verdicts:
        if one.is_allowed is False:
            denied.setdefault(one.resource, []).append(one.action)
    for resource, actions in sorted(denied.items()):
        yield Examined(
            CHECK,
            _name(resource),
            "problem",
            f"{principal} is denied {', '.join(sorted(set(actions)))}",
            "`migrator iam` prints the policy that it needs",
        )
    open_ones = sorted({one.action for one in verdicts if one.is_allowed is None})
    if open_ones:
        says = f"{', '.join(open_ones)}: depends on a condition of which the simulator is not told"
        yield Examined(CHECK, "", "unknown", says, "compare `migrator iam` with the role's policy")
    if not denied and not open_ones:
        yield Examined(CHECK, "", "ok", f"{principal} is allowed what is pending, {_LIMITS}")


def _simulated(around: Surroundings, principal: str, statement: Mapping[str, Any]) -> Sequence[Verdict]:
    resource = statement["Resource"]
    patterns = statement.get("Condition", {}).get("ForAllValues:StringLike", {})
    # One key that the pattern stands for.
    context = {
        key: [re.sub(r"\$\{(.)\}", r"\1", one.removesuffix("*")) + "lock" for one in values]
        for key, values in patterns.items()
    }
    resources = [resource] if isinstance(resource, str) else resource
    return around.simulate(principal, statement["Action"], resources, context)


def principal_of(arn: str) -> str | None:
    """The user or role whose policies decide: of an assumed role the role. None for the root of an account, or nobody.

    The path of a role is no part of the session's ARN: a role below one is not found, and so unknown.
    """
    found = re.fullmatch(r"arn:([a-z-]+):sts::(\d{12}):assumed-role/([^/]+)/.+", arn)
    if found:
        return f"arn:{found[1]}:iam::{found[2]}:role/{found[3]}"
    return arn if re.fullmatch(r"arn:[a-z-]+:iam::\d{12}:(user|role)/.+", arn) else None


def _name(resource: str) -> str:
    return resource.rpartition("table/")[2] if "table/" in resource else ""
