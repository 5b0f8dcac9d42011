"""Which IAM actions steps and commands use. `docs/permissions.md` lists the same; a test holds both to what is sent.

An action is `dynamodb:` and one of the service's operations; a transaction has none of its own (facts §9).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, assert_never

from migrator.core.function import takes_lookup
from migrator.core.plan import Plan
from migrator.core.rewrite.steps import (
    AwaitMirror,
    CloseRewrite,
    CopyTwins,
    DropOldSide,
    EnterPhase,
    PrepareRewrite,
    ReleaseAttributes,
    RemoveTwins,
    RewriteStep,
    VerifyTwins,
)
from migrator.core.settings import (
    BillingMode,
    DeletionProtection,
    PointInTimeRecovery,
    Setting,
    Stream,
    TimeToLive,
)
from migrator.core.steps import (
    ChangeSetting,
    CreateIndex,
    CreateTable,
    DeleteIndex,
    DeleteItems,
    PutItems,
    RebuildCounters,
    Restore,
    RunFunction,
    Step,
    TransformItems,
    UndoItems,
    UpdateIndex,
)

Actions: TypeAlias = frozenset[str]
Way: TypeAlias = Literal["apply", "ready", "cutover", "complete", "rollback"]


def _dynamodb(*names: str) -> Actions:
    return frozenset(f"dynamodb:{name}" for name in names)


NONE = _dynamodb()
DESCRIBE = _dynamodb("DescribeTable")
SCAN = _dynamodb("Scan")
CREATE = _dynamodb("CreateTable")
QUERY = _dynamodb("Query")
_UPDATE_TABLE = _dynamodb("UpdateTable")
_SETTINGS: Mapping[type[Setting], Actions] = {
    TimeToLive: _dynamodb("DescribeTimeToLive", "UpdateTimeToLive"),
    PointInTimeRecovery: _dynamodb("DescribeContinuousBackups", "UpdateContinuousBackups"),
    Stream: _UPDATE_TABLE,
    DeletionProtection: _UPDATE_TABLE,
    BillingMode: _UPDATE_TABLE,
}
TABLE_ACTIONS = DESCRIBE | CREATE | frozenset().union(*_SETTINGS.values())
"""Those that concern the table and no item in it: no condition on keys can bound them."""


# --- steps ------------------------------------------------------------------------------------------------------------


def step_actions(step: Step, plan: Plan, transport: str = "boto3") -> Actions:
    """What a step of `plan` uses on its table, beyond DescribeTable."""
    found = _step_actions(step, plan)
    if transport == "fast" and isinstance(step, TransformItems | UndoItems) and "dynamodb:UpdateItem" in found:
        # In batches; what a batch cannot carry still goes by UpdateItem.
        return found | _dynamodb("PartiQLUpdate")
    return found


def _step_actions(step: Step, plan: Plan) -> Actions:
    match step:
        case CreateTable():
            return CREATE.union(*(_SETTINGS[type(setting)] for setting in step.settings))
        case CreateIndex():
            return _UPDATE_TABLE | SCAN
        case DeleteIndex() | UpdateIndex():
            return _UPDATE_TABLE
        case ChangeSetting():
            return _SETTINGS[type(step.setting)]
        case Restore():
            return _restore(step, plan)
        case TransformItems():
            looks_up = _dynamodb("Query", "ConditionCheckItem") if reads_others(step) else NONE
            return _dynamodb("Scan", "GetItem", "UpdateItem") | looks_up
        case PutItems():
            return _dynamodb("GetItem", "PutItem")
        case DeleteItems():
            return _dynamodb("Scan", "GetItem", "DeleteItem")
        case RebuildCounters():
            return _dynamodb("Scan", "GetItem", "Query", "UpdateItem")
        case UndoItems():
            return _undo(step)
        case RunFunction():
            # What a guarded table offers; only running the function tells what it uses.
            return _dynamodb("GetItem", "Query", "Scan", "UpdateItem", "PutItem", "DeleteItem")
        case (
            PrepareRewrite()
            | AwaitMirror()
            | EnterPhase()
            | CopyTwins()
            | VerifyTwins()
            | DropOldSide()
            | ReleaseAttributes()
            | RemoveTwins()
            | CloseRewrite()
        ):
            return _rewrite(step)
        case _:
            assert_never(step)


_PAIRS = _dynamodb("GetItem", "PutItem", "UpdateItem", "DeleteItem", "ConditionCheckItem")
# What expires on one side only is no difference.
_COMPARE = _dynamodb("Scan", "GetItem", "DescribeTimeToLive")


def _rewrite(step: RewriteStep) -> Actions:
    """On each table that the rewrite names; a TransactGetItems is GetItem on each of its items."""
    match step:
        case PrepareRewrite():
            return _dynamodb("Scan", "GetItem")
        case AwaitMirror():
            return _dynamodb("PutItem", "DeleteItem")
        case VerifyTwins() | EnterPhase(undoes=False):
            # A change of phase compares both sides, where no fresh comparison stands.
            return _COMPARE
        case EnterPhase():
            # On the way back from cutover it repairs what it finds.
            return _COMPARE | _PAIRS
        case CopyTwins():
            return SCAN | _PAIRS
        case DropOldSide():
            return _COMPARE | _dynamodb("DeleteItem", "ConditionCheckItem")
        case ReleaseAttributes():
            return _dynamodb("Scan", "GetItem", "UpdateItem", "ConditionCheckItem")
        case RemoveTwins():
            return _dynamodb("Scan", "GetItem", "DeleteItem", "ConditionCheckItem")
        case CloseRewrite():
            return _dynamodb("Scan", "GetItem", "UpdateItem")
        case _:
            assert_never(step)


def _restore(step: Restore, plan: Plan) -> Actions:
    kind, _, name = step.object.partition(":")
    if kind == "setting":
        return frozenset().union(*(actions for setting, actions in _SETTINGS.items() if setting.name == name))
    # Throughput is put back; a dropped index is built anew, after a look at the items.
    is_built = any(isinstance(one, DeleteIndex) for one in plan.apply)
    return _UPDATE_TABLE | (SCAN if is_built else NONE)


def _undo(step: UndoItems) -> Actions:
    match step.of:
        case TransformItems(undo=kept):
            # A journal names the items; without one the table is read.
            return _dynamodb("GetItem", "UpdateItem") | (NONE if kept == "journal" else SCAN)
        case PutItems():
            # PutItem: an item that changed in the moment it was deleted is put again.
            return _dynamodb("GetItem", "DeleteItem", "PutItem")
        case DeleteItems():
            return _dynamodb("GetItem", "PutItem")
        case _:
            assert_never(step.of)


def reads_others(step: Step) -> bool:
    """Whether a step's function looks up other items."""
    if not isinstance(step, TransformItems):
        return False
    return step.transform.function is not None and takes_lookup(step.transform.function)


def watches_build(step: Step, plan: Plan) -> bool:
    """Whether a step asks CloudWatch how far an index build is."""
    return isinstance(step, CreateIndex) or (isinstance(step, Restore) and _restore(step, plan) >= SCAN)


# --- commands ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Needs:
    """What a command uses, by what it is used on."""

    control: Actions = NONE
    """On the table of control records."""
    tables: Actions = NONE
    """On each table of the configuration, whatever is in the files."""
    way: Way | None = None
    """The steps that it runs, whose actions come on top."""
    has_progress: bool = False
    """Whether it asks CloudWatch for the progress of index builds."""
    others: Actions = NONE
    """Beyond tables, with their service; on everything, for want of a narrower resource."""

    def __or__(self, other: Needs) -> Needs:
        return Needs(
            self.control | other.control,
            self.tables | other.tables,
            self.way or other.way,
            self.has_progress or other.has_progress,
            self.others | other.others,
        )


_LOOK = _dynamodb("DescribeTable", "Query")
_READ = _LOOK | _dynamodb("GetItem")
_RUN = _READ | _dynamodb("PutItem", "DeleteItem", "ConditionCheckItem")

_SHAPES = _dynamodb("DescribeTable", "DescribeTimeToLive", "DescribeContinuousBackups")

COMMANDS: Mapping[str, Needs] = {
    "plan": Needs(_LOOK, _dynamodb("DescribeTable", "DescribeContinuousBackups", "Scan", "GetItem", "Query")),
    "status": Needs(_READ, DESCRIBE, has_progress=True),
    "check": Needs(_LOOK, DESCRIBE),
    "violations": Needs(_LOOK, DESCRIBE | SCAN),
    "patterns check --examples": Needs(_LOOK, _dynamodb("DescribeTable", "GetItem", "Query")),
    "diff": Needs(_LOOK, _SHAPES),
    "revision --autogenerate": Needs(_LOOK, _SHAPES),
    "export --live": Needs(tables=_SHAPES),
    "doctor": Needs(
        _LOOK,
        _dynamodb("DescribeTable", "DescribeContinuousBackups", "DescribeKinesisStreamingDestination"),
        others=_dynamodb("DescribeLimits")
        | {
            "application-autoscaling:DescribeScalableTargets",
            "iam:SimulatePrincipalPolicy",
            "lambda:ListEventSourceMappings",
            "servicequotas:GetServiceQuota",
        },
    ),
    "iam": Needs(_LOOK, DESCRIBE),
    "current": Needs(_READ, DESCRIBE, has_progress=True),
    "history": Needs(_READ, DESCRIBE, has_progress=True),
    "init --from-table": Needs(tables=_SHAPES),
    "upgrade": Needs(_RUN | CREATE, DESCRIBE, "apply"),
    # Access patterns with examples are asked of the new side before readers change over.
    "cutover": Needs(_RUN, DESCRIBE | QUERY, "cutover"),
    "contract": Needs(_RUN, DESCRIBE, "complete"),
    "mirror run": Needs(
        _RUN,
        _dynamodb(
            "DescribeTable",
            "GetItem",
            "PutItem",
            "UpdateItem",
            "DeleteItem",
            "ConditionCheckItem",
        ),
        others=_dynamodb("DescribeStream", "GetShardIterator", "GetRecords"),
    ),
    "mirror status": Needs(_READ, DESCRIBE),
    "verify": Needs(_RUN, DESCRIBE, "ready"),
    "rollback": Needs(_RUN, DESCRIBE, "rollback"),
    "downgrade": Needs(_RUN, DESCRIBE, "rollback"),
    "failed list": Needs(_READ),
    "failed retry": Needs(_RUN, DESCRIBE, "apply"),
    "failed skip": Needs(_READ | _dynamodb("PutItem"), DESCRIBE),
    "lock show": Needs(_dynamodb("DescribeTable", "GetItem")),
    "lock release": Needs(_dynamodb("DescribeTable", "GetItem", "PutItem")),
    **dict.fromkeys(("pause", "resume", "throttle", "cancel"), Needs(_dynamodb("DescribeTable", "GetItem", "PutItem"))),
    "repair": Needs(_RUN, DESCRIBE | SCAN | _UPDATE_TABLE, has_progress=True),
    "stamp": Needs(_RUN | CREATE, DESCRIBE),
}
"""Every command that talks to AWS."""


def needs_of(command: str) -> Needs | None:
    """Of a command, or of all commands of a group such as `failed`; None where no such one talks to AWS."""
    found = [needs for name, needs in COMMANDS.items() if name == command or name.split()[0] == command]
    if not found:
        return None
    together = Needs()
    for needs in found:
        together |= needs
    return together


# --- policy -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of a policy; what it allows."""

    sid: str
    actions: tuple[str, ...]
    resources: tuple[str, ...]
    condition: Mapping[str, Any] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        plain: dict[str, Any] = {
            "Sid": self.sid,
            "Effect": "Allow",
            "Action": list(self.actions),
            "Resource": self.resources[0] if len(self.resources) == 1 else list(self.resources),
        }
        return plain | ({"Condition": dict(self.condition)} if self.condition else {})


def statements(
    tables: Mapping[str, Actions],
    control: Actions,
    control_arn: str,
    prefix: str | None,
    *,
    has_progress: bool,
    others: Actions = NONE,
) -> tuple[Statement, ...]:
    """The policy: `tables` by ARN. `prefix` is that of control records which share a table with items, else None.

    What concerns such records alone is bounded by the keys that they have.
    """
    by_arn = dict(tables)
    if prefix is not None:
        # A condition on keys cannot bound what concerns the whole table.
        by_arn[control_arn] = by_arn.get(control_arn, NONE) | (control & TABLE_ACTIONS)
        control -= TABLE_ACTIONS
    groups: dict[Actions, list[str]] = {}
    for arn, actions in by_arn.items():
        if actions:
            groups.setdefault(actions, []).append(arn)
    found = [
        Statement("Tables" if len(groups) == 1 else f"Tables{number}", tuple(sorted(actions)), tuple(sorted(arns)))
        for number, (actions, arns) in enumerate(groups.items(), 1)
    ]
    if control:
        keys = {} if prefix is None else {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": [_literal(prefix) + "*"]}}
        found.append(Statement("Control", tuple(sorted(control)), (control_arn,), keys))
    if has_progress:
        found.append(Statement("Progress", ("cloudwatch:GetMetricData",), ("*",)))
    if others:
        found.append(Statement("Account", tuple(sorted(others)), ("*",)))
    found.append(Statement("Identity", ("sts:GetCallerIdentity",), ("*",)))
    return tuple(found)


def _literal(text: str) -> str:
    """Text in which IAM sees no wildcard or variable."""
    return "".join(f"${{{char}}}" if char in "*?$" else char for char in text)


def document(policy: Iterable[Statement]) -> dict[str, Any]:
    """The policy as IAM takes it."""
    return {"Version": "2012-10-17", "Statement": [statement.document() for statement in policy]}


def table_arn(name: str, region: str, account: str) -> str:
    """`arn:aws:dynamodb:REGION:ACCOUNT:table/NAME`; what is not known stands there as its name."""
    partition = "aws-cn" if region.startswith("cn-") else "aws-us-gov" if region.startswith("us-gov-") else "aws"
    return f"arn:{partition}:dynamodb:{region or 'REGION'}:{account or 'ACCOUNT'}:table/{name}"
