"""Results as a real project would get them. The pages of docs/commands show these very values, rendered."""

from __future__ import annotations

import dataclasses

from migrator.cli.answers import (
    ExportResult,
    FilesResult,
    OperationLine,
    RevisionLine,
    RevisionResult,
    RevisionsResult,
    SandboxResult,
)
from migrator.core.comparison import Difference
from migrator.core.declared import DeclaredTable
from migrator.core.events import Counts
from migrator.core.findings import Finding, Severity
from migrator.core.permissions import COMMANDS, CREATE, document, statements
from migrator.core.schema import Index, KeyAttribute, Table
from migrator.core.settings import TimeToLive
from migrator.runner.estimates.figures import (
    Amount,
    Bookkeeping,
    Duration,
    Estimate,
    IndexForecast,
    ItemCounts,
    KeySpread,
    PriceNote,
    Problem,
    Spread,
    StepEstimate,
    TimeLimit,
    TopKey,
    Units,
)
from migrator.runner.results import (
    AskedExample,
    CheckResult,
    ControlResult,
    DiffResult,
    DoctorResult,
    Examined,
    FailedItem,
    FailedResult,
    IamResult,
    IndexKey,
    IndexState,
    KeyProblem,
    LockResult,
    LockState,
    MirrorResult,
    NoteResult,
    PatternFinding,
    PatternLine,
    PatternsResult,
    PlannedRevision,
    PlannedStage,
    PlannedStep,
    PlanResult,
    ProblemCount,
    RevisionOutcome,
    RevisionStatus,
    RunResult,
    StatusResult,
    TargetOutcome,
    TargetsResult,
    ViolationsResult,
    Violator,
    Where,
)

BASE, ASSIGNEE, ESCALATIONS = "20261001080000", "20261115090000", "20261130172204"
WHERE = Where(
    env="prod",
    account="222222222222",
    region="eu-west-1",
    endpoint="https://dynamodb.eu-west-1.amazonaws.com",
    role="arn:aws:iam::222222222222:role/migrator",
    tables={"app": "prod-saas"},
)
LATE = "the run stops at a checkpoint when the job is ended, and the next one continues: plan for several"
KEY = {"PK": {"S": "TENANT#t1#PROJECT#p7"}, "SK": {"S": "TASK#2026-11-02#9f31"}}

PLAN = PlanResult(
    state="pending",
    next="migrator upgrade -e prod",
    where=WHERE,
    target="head",
    fingerprint="sha256:5f0c9b1e",
    fingerprint_parts={"table_id": "0b7c", "account": "222222222222"},
    unknown=("what writers do meanwhile: figures are of a sample of now",),
    estimate=Estimate(
        kind="sampled",
        looked_at=1_000,
        of_items=1_204_331,
        read_units=293.0,
        reads=(Units("prod-saas", Amount(1_033_000.0, 41_000.0)),),
        writes=(
            Units("prod-saas", Amount(1_670_000.0, 96_000.0)),
            Units("prod-saas/ByAssignee", Amount(835_000.0, 48_000.0)),
        ),
        bookkeeping=Bookkeeping(Amount(26.0), Amount(1_590.0)),
        duration=Amount(5_340.0, 310.0),
        limit=TimeLimit(3_000.0, "--job-limit", Amount(5_340.0, 310.0), True, LATE),
        cost=Amount(1.69, 0.1),
        storage_per_month=Amount(0.09, 0.01),
        prices=PriceNote("USD", "2026-11-30", "eu-west-1", "our bill of October"),
        stream_records=Amount(835_000.0, 48_000.0),
    ),
    data_findings={f"{ASSIGNEE} 1.apply.0": {"unindexable:index-key-null:GSI2PK": 3}},
    revisions=(
        PlannedRevision(
            revision=ASSIGNEE,
            message="Assignee keys on tasks, then the index",
            path="migrations/20261115090000_assignee_keys_on_tasks_then_the_index.py",
            checksum="sha256:77ab01c2",
            steps=(
                PlannedStep(
                    id="0.apply.0",
                    title="backfill app: set GSI2PK, GSI2SK",
                    table="prod-saas",
                    approximate_items=1_204_331,
                    approximate_bytes=1_410_000_000,
                    samples=(
                        {
                            "key": KEY,
                            "before": {"status": {"S": "open"}},
                            "after": {
                                "status": {"S": "OPEN"},
                                "GSI2PK": {"S": "TENANT#t1#USER#ana"},
                                "GSI2SK": {"S": "2026-11-02T10:00:00Z#9f31"},
                            },
                        },
                    ),
                    notes=("items without `assignee` are left as they are (missing=skip)",),
                    estimate=StepEstimate(
                        items=ItemCounts(
                            scanned=Amount(1_204_331.0),
                            matched=Amount(1_204_331.0),
                            changed=Amount(835_000.0, 48_000.0),
                            skipped=Amount(369_000.0, 48_000.0),
                        ),
                        reads=(Units("prod-saas", Amount(689_000.0, 27_000.0)),),
                        writes=(Units("prod-saas", Amount(1_670_000.0, 96_000.0)),),
                        stream_records=Amount(835_000.0, 48_000.0),
                        duration=Duration(Amount(3_340.0, 190.0), "the write budget"),
                        cost=Amount(1.13, 0.06),
                    ),
                ),
                PlannedStep(
                    id="1.apply.0",
                    title="build index ByAssignee on app (GSI2PK / GSI2SK), projection title, status",
                    table="prod-saas",
                    estimate=StepEstimate(
                        items=ItemCounts(scanned=Amount(1_204_331.0)),
                        reads=(Units("prod-saas", Amount(344_000.0, 14_000.0)),),
                        writes=(Units("prod-saas/ByAssignee", Amount(835_000.0, 48_000.0)),),
                        index=IndexForecast(
                            name="ByAssignee",
                            entries=Amount(835_000.0, 48_000.0),
                            size_bytes=Amount(384_000_000.0, 22_000_000.0),
                            sparse=Amount(366_000.0, 48_000.0),
                            unindexable=Amount(3_600.0, 2_900.0),
                            problems=(
                                Problem(
                                    "index-key-null",
                                    3,
                                    Amount(3_600.0, 2_900.0),
                                    'PK="TENANT#t1#PROJECT#p2" SK="TASK#2026-10-30#77aa"',
                                    "NULL",
                                    "GSI2PK",
                                ),
                            ),
                            units_per_write=1.0,
                            share_of_items=0.69,
                            constraints=(
                                "GSI2PK must be a string of 1 to 2048 bytes, or absent; among the items read: 3 null",
                                "GSI2SK must be a string of 1 to 1024 bytes, or absent",
                            ),
                        ),
                        keys=(
                            KeySpread(
                                index="ByAssignee",
                                attributes=("GSI2PK",),
                                entries=693,
                                distinct=212,
                                hottest_share=0.31,
                                top=(
                                    TopKey("GSI2PK=TENANT#t1#USER#unassigned", 0.31),
                                    TopKey("GSI2PK=TENANT#t1#USER#ana", 0.022),
                                    TopKey("GSI2PK=TENANT#t4#USER#<b>bo</b>", 0.019),
                                ),
                                histogram=(Spread(1, 1, 61), Spread(2, 9, 148), Spread(10, 99, 2), Spread(100, 999, 1)),
                                rate=4_000.0,
                                hottest_rate=1_240.0,
                                is_hot=True,
                                safe_rate=3_226.0,
                                is_exact=True,
                            ),
                        ),
                        duration=Duration(Amount(2_000.0, 120.0), "what a new on-demand index takes at once"),
                        cost=Amount(0.56, 0.04),
                        storage_per_month=Amount(0.09, 0.01),
                    ),
                ),
            ),
            reversible="downgrade deletes the index, then removes GSI2PK and GSI2SK where they are as written",
            destructive=False,
            findings=(
                Finding(
                    "writers-must-set-keys",
                    Severity.WARNING,
                    "tasks written while the backfill runs stay out of ByAssignee unless the application sets GSI2PK",
                    hint="deploy the writer first",
                ),
            ),
        ),
    ),
)

REWRITE_PLAN = dataclasses.replace(
    PLAN,
    estimate=None,
    revisions=(
        PlannedRevision(
            ESCALATIONS,
            "Task keys lose the date",
            f"migrations/{ESCALATIONS}_task_keys_lose_the_date.py",
            "v1:8470a42e1ded",
            (PlannedStep("0.apply.0", "look for what could not be rewritten in app; phase expand", "prod-saas"),),
            f"`migrator rollback {ESCALATIONS}` takes it back until `migrator contract {ESCALATIONS} --yes`; "
            "from there on no way back: the old items of app are deleted",
            destructive=False,
            findings=(),
            stages=(
                PlannedStage(
                    "ready",
                    "Does every writer take part?",
                    "migrator upgrade --app-ready",
                    (PlannedStep("0.ready.0", "copy items of app to their new keys in app", "prod-saas"),),
                ),
                PlannedStage(
                    "cutover",
                    "May the readers move?",
                    f"migrator cutover {ESCALATIONS}",
                    (
                        PlannedStep(
                            "0.cutover.0", "enter phase cutover and wait until every instance knows", "prod-saas"
                        ),
                    ),
                ),
                PlannedStage(
                    "complete",
                    "Does nothing need the old items?",
                    f"migrator contract {ESCALATIONS} --yes",
                    (PlannedStep("0.complete.0", "delete the old items of app", "prod-saas"),),
                    "the old items of app are deleted",
                ),
            ),
            serves=("AP3", "AP4"),
            breaks=("AP1",),
        ),
    ),
)

RUN = RunResult(
    state="applied",
    where=WHERE,
    current=(ASSIGNEE,),
    outcomes=(
        RevisionOutcome(
            ASSIGNEE,
            "Assignee keys on tasks, then the index",
            "applied",
            520.4,
            Counts(scanned=1_204_331, written=835_002, unchanged=12, skipped=369_317, read_units=310_200.5),
        ),
    ),
)

INCOMPLETE = RunResult(
    state="incomplete",
    exit_code=6,
    next="migrator failed list 20261115090000 -e prod",
    blocked_by="2 failed items",
    where=WHERE,
    current=(BASE,),
    outcomes=(
        RevisionOutcome(
            ASSIGNEE,
            "Assignee keys on tasks, then the index",
            "incomplete",
            61.0,
            Counts(scanned=900, written=898, failed=2),
            error="2 items could not be brought to their new form",
            examples=('PK="TENANT#t1#PROJECT#p7" SK="TASK#2026-11-02#9f31"',),
        ),
    ),
)

DOWNGRADED = RunResult(
    state="downgraded",
    where=WHERE,
    current=(BASE,),
    outcomes=(
        RevisionOutcome(
            ASSIGNEE,
            "Assignee keys on tasks, then the index",
            "rolled-back",
            402.0,
            Counts(scanned=1_204_331, written=835_002, write_units=835_002.0),
        ),
    ),
)
CUT_OVER = RunResult(
    state="at-gate",
    exit_code=9,
    where=WHERE,
    current=(ASSIGNEE,),
    next=f"when that is so: migrator contract {ASSIGNEE} --yes; or back: migrator rollback {ASSIGNEE}",
    blocked_by="Does nothing need the old items of app any more? There is no way back but a backup",
    outcomes=(
        RevisionOutcome(
            ASSIGNEE, "Task keys lose the date", "at-gate", 162.0, Counts(scanned=2_408_662, read_units=301_082.8)
        ),
    ),
)
VERIFIED = RunResult(
    state="incomplete",
    exit_code=6,
    where=WHERE,
    current=(ASSIGNEE,),
    next=f"who writes one side alone? Stop it, then: migrator verify {ASSIGNEE} --repair",
    blocked_by=f"revision {ASSIGNEE}: 2 of 1,204,331 pairs differ",
    outcomes=(
        RevisionOutcome(
            ASSIGNEE,
            "Task keys lose the date",
            "at-gate",
            91.3,
            Counts(scanned=2_408_662, read_units=301_082.8),
            "2 of 1,204,331 pairs differ",
            ('PK="TENANT#t1#PROJECT#p7" SK="TASK#9f31"', 'PK="TENANT#t2#PROJECT#p1" SK="TASK#77aa"'),
        ),
    ),
)
MIRRORED = MirrorResult(
    state="over",
    next="migrator status",
    where=WHERE,
    revision=ASSIGNEE,
    outcome="the rewrite is over",
    counts=Counts(written=12_031, unchanged=11_980),
)
MIRROR = MirrorResult(
    state="following",
    where=WHERE,
    revision=ASSIGNEE,
    outcome="12031 twins written",
    worker="ci-7 (host runner-3)",
    at="2026-11-30T17:22:03+00:00",
    generation=2,
)

ROLLED_BACK = RunResult(
    state="rolled-back",
    where=WHERE,
    current=(BASE,),
    next=f"edit the file of {ASSIGNEE}, then `migrator plan -e prod`",
    outcomes=(
        RevisionOutcome(
            ASSIGNEE,
            "Assignee keys on tasks, then the index",
            "rolled-back",
            31.5,
            Counts(scanned=900, written=898),
        ),
    ),
)
RETRIED = RunResult(
    state="applied",
    where=WHERE,
    current=(ASSIGNEE,),
    outcomes=(
        RevisionOutcome(
            ASSIGNEE, "Assignee keys on tasks, then the index", "applied", 3.2, Counts(scanned=2, written=2)
        ),
    ),
)

STATUS = StatusResult(
    state="building",
    exit_code=0,
    next="migrator upgrade -e prod",
    where=WHERE,
    current=(BASE,),
    heads=(ASSIGNEE,),
    lock=LockState(
        held=True,
        owner="7f3a9c",
        name="ci-7",
        host="runner-3",
        run="41",
        since="2026-11-30T12:04:10Z",
        token=17,
        lease_seconds=60.0,
        silent_seconds=12.0,
    ),
    revisions=(
        RevisionStatus(
            BASE,
            "Tenants, projects, tasks",
            "migrations/20261001080000_tenants_projects_tasks.py",
            "applied",
            who="ana",
            finished_at="2026-10-01T08:03:00Z",
        ),
        RevisionStatus(
            ASSIGNEE,
            "Assignee keys on tasks, then the index",
            "migrations/20261115090000_assignee_keys_on_tasks_then_the_index.py",
            "started",
            who="ci",
            host="runner-3",
            run="41",
            started_at="2026-11-30T12:04:10Z",
            counts=Counts(scanned=1_204_331, written=835_002),
            objects={"index:ByAssignee": "created"},
        ),
    ),
    indexes=(
        IndexState("prod-saas", "ByAssignee", "CREATING", True, 34.0, ASSIGNEE),
        IndexState("prod-saas", "GSI1", "ACTIVE", False, None, ""),
    ),
)

CHECK = CheckResult(
    state="findings",
    exit_code=3,
    next="migrator repair --drift -e prod, or restore the index",
    blocked_by="1 finding",
    where=WHERE,
    pending=(ESCALATIONS,),
    out_of_order=(),
    findings=(
        Finding(
            "index-gone",
            Severity.ERROR,
            "index ByAssignee of prod-saas is gone, although 20261115090000 created it",
            hint="`migrator repair --drift` builds it again",
        ),
    ),
)

DIFF = DiffResult(
    state="different",
    exit_code=3,
    next="migrator repair --drift",
    where=WHERE,
    left="applied revisions",
    right="live tables of prod",
    differences=(
        Difference("app", "index ByAssignee", "", "(GSI2PK / GSI2SK), INCLUDE [status, title]", "absent"),
        Difference("app", "index GSI1", "sort key", "createdAt", "N(createdAt)"),
        Difference("app", "setting time-to-live", "", "TTL on expiresAt", "TTL off"),
    ),
)
SAME = dataclasses.replace(DIFF, state="same", exit_code=0, next="", differences=())

DOCTOR = DoctorResult(
    state="problems",
    exit_code=3,
    next="`migrator iam` prints the policy that it needs",
    blocked_by=f"permissions: {WHERE.role} is denied dynamodb:UpdateTable",
    where=WHERE,
    target="head",
    pending=(ESCALATIONS,),
    checks=(
        Examined("credentials", "", "ok", WHERE.role),
        Examined("account", "", "ok", "222222222222, as expected"),
        Examined("region", "", "ok", "eu-west-1"),
        Examined("table", "prod-saas", "ok", "ACTIVE"),
        Examined("control", "prod-saas", "ok", "history and lock live here, under keys that begin with __migrator__"),
        Examined("plan", "", "ok", "1 revision pending"),
        Examined(
            "recovery",
            "prod-saas",
            "warning",
            "point-in-time recovery is off, and pending revisions write items",
            "SetPointInTimeRecovery(True) in a revision before",
        ),
        Examined(
            "stream", "prod-saas", "unknown", "[access-denied] not authorized to perform lambda:ListEventSourceMappings"
        ),
        Examined("indexes", "prod-saas", "ok", "2 indexes, 1 more pending, of 20"),
        Examined(
            "permissions",
            "prod-saas",
            "problem",
            f"{WHERE.role} is denied dynamodb:UpdateTable",
            "`migrator iam` prints the policy that it needs",
        ),
    ),
)
NOBODY = dataclasses.replace(DOCTOR, where=None, pending=(), checks=DOCTOR.checks[:1])

TARGETS = TargetsResult(
    state="partly",
    exit_code=6,
    next="the same command again: it does only what is left",
    blocked_by="target globex: 20261130172204 incomplete",
    targets=(
        TargetOutcome("acme", "applied", 0, 12.4, "20261130172204 applied", result=RUN),
        TargetOutcome("globex", "incomplete", 6, 9.1, "20261130172204 incomplete"),
        TargetOutcome("hooli", "error", 4, 0.4, "the lock is held by ada", "lock-held", "migrator lock show"),
        TargetOutcome("initech", "not-begun", 0, 0.0, "nothing was done"),
    ),
    not_begun=("initech",),
)

DECLARED = {
    "app": DeclaredTable(
        "app",
        "local-app",
        Table(
            "app",
            KeyAttribute("PK"),
            KeyAttribute("SK"),
            {"ByOwner": Index("ByOwner", (KeyAttribute("owner"),), (KeyAttribute("createdAt"),))},
        ),
        {"time-to-live": TimeToLive("expiresAt")},
        local_indexes=("ByDay",),
    )
}
EXPORTED = ExportResult(state="exported", format="terraform", tables=("app",), document="# app\n", notes=("a note",))
EXPORTED_TO_FILE = dataclasses.replace(EXPORTED, document="", written_to="app.tf")

VIOLATIONS = ViolationsResult(
    state="violators",
    exit_code=3,
    next='migrator violations ByAssignee --generate "what it repairs"',
    where=WHERE,
    index="ByAssignee",
    alias="app",
    table="prod-saas",
    table_key=("PK", "SK"),
    keys=(IndexKey("GSI2PK", "S", "partition"), IndexKey("GSI2SK", "S", "sort")),
    revision=ASSIGNEE,
    is_pending=True,
    scanned=1_204_331,
    indexable=835_000,
    sparse=369_328,
    violating=3,
    read_units=172_120.0,
    problems=(
        ProblemCount("GSI2PK", "index-key-null", 1),
        ProblemCount("GSI2SK", "index-key-size", 1),
        ProblemCount("GSI2SK", "index-key-type", 2),
    ),
    violators=(
        Violator(KEY, (KeyProblem("GSI2SK", "index-key-type", "type N where the index wants S"),)),
        Violator(
            {"PK": {"S": "TENANT#t2"}, "SK": {"S": "TASK#2026-11-02#a07c"}},
            (
                KeyProblem("GSI2PK", "index-key-null", "NULL"),
                KeyProblem("GSI2SK", "index-key-type", "type N where the index wants S"),
            ),
        ),
        Violator(
            {"PK": {"S": "TENANT#t2"}, "SK": {"S": "TASK#2026-11-03#11d2"}},
            (KeyProblem("GSI2SK", "index-key-size", "1026 bytes, over the 1024 of a sort key"),),
        ),
    ),
)
MANY_VIOLATIONS = dataclasses.replace(VIOLATIONS, violating=1_204, violators=VIOLATIONS.violators[:1])
NO_VIOLATIONS = dataclasses.replace(
    VIOLATIONS,
    state="clean",
    exit_code=0,
    next="",
    revision="",
    is_pending=False,
    violating=0,
    problems=(),
    violators=(),
)

_TABLE = "arn:aws:dynamodb:eu-west-1:222222222222:table/prod-saas"
PATTERNS = PatternsResult(
    state="findings",
    exit_code=3,
    next="mend the pattern or the table: docs/patterns.md says how, rule by rule",
    file="access_patterns.toml",
    where=WHERE,
    patterns=(
        PatternLine(
            "AP1", "tenant profile", "", "", "get", 'PK = "TENANT#{tenant}" and SK = "META"', "1", "served", BASE, 1,
            (AskedExample("right", 'tenant = "t1"', ("Tenant:t1",), 0),),
        ),
        PatternLine(
            "AP5", "tasks of a project", "", "", "query", 'PK = "TENANT#{tenant}#PROJECT#{project}"', "0..", "served",
            BASE, 1, (AskedExample("right", 'tenant = "t1", project = "p1"', ("Task:a1", "Task:a2", "Task:a3"), 3),),
        ),
        PatternLine(
            "AP10", "escalations to a user", "", "Escalations", "query",
            'tenantId = "{tenant}" and escalatedTo = "{user}"', "0..", "served", ESCALATIONS, 1,
            (AskedExample("wrong", 'tenant = "t1", user = "u2"', (), 0),),
        ),
    ),
    findings=(
        PatternFinding(
            "pattern-answer",
            Severity.ERROR,
            "AP10",
            "AP10: the answer lacks {PK=\"TENANT#t1\" SK=\"TASK#2026-10-22T09:00:00Z#a3\"} (it lacks escalatedTo, a "
            "part of the index's key, and so is not in it)",
            "is the index built and filled? `migrator status`; else correct the example or the items",
            "access_patterns.toml",
            112,
            "",
        ),
    ),
)  # fmt: skip
POLICY = IamResult(
    state="policy",
    of="upgrade",
    env="prod",
    account="222222222222",
    region="eu-west-1",
    revisions=(ESCALATIONS,),
    policy=document(
        statements(
            {_TABLE: frozenset({"dynamodb:DescribeTable", "dynamodb:Scan", "dynamodb:UpdateTable"})},
            COMMANDS["upgrade"].control - CREATE,
            _TABLE,
            "__migrator__",
            has_progress=True,
        )
    ),
    notes=("for the role arn:aws:iam::222222222222:role/migrator; whoever runs it needs sts:AssumeRole on that role",),
)
PLACEHOLDERS = dataclasses.replace(
    POLICY,
    account="",
    revisions=(),
    notes=("from the files alone, as if no revision were applied: [no-credentials] no AWS credentials were found",),
)

FAILED = FailedResult(
    state="failed-items",
    next=f"migrator failed retry {ASSIGNEE} -e prod",
    items=(
        FailedItem(
            ASSIGNEE,
            "0.apply.0",
            KEY,
            "template-attribute-absent",
            "template {createdAt}#{taskId}: createdAt is absent",
            3,
            "2026-11-30T12:05:02Z",
        ),
        FailedItem(
            ASSIGNEE,
            "0.apply.0",
            {"PK": {"S": "TENANT#t2"}, "SK": {"N": "5"}},
            "template-attribute-absent",
            "template {createdAt}#{taskId}: createdAt is absent",
            1,
            "2026-11-30T12:05:03Z",
            skipped_because="test tenant",
        ),
    ),
)

SKIPPED = FailedResult(
    state="skipped",
    changed=1,
    next="migrator upgrade -e prod",
    items=(FAILED.items[1],),
)
REPAIRED = NoteResult(
    state="repaired",
    lines=("recorded index ByAssignee of prod-saas as gone",),
    next="migrator check -e prod",
)

LOCK = LockResult(
    state="held", next="migrator lock release --owner 7f3a9c -e prod, if that run is dead", lock=STATUS.lock
)
_ASKED = "throttled to 500 write units/s by dana (host laptop-3) since 12:10:00 UTC until 14:10:00 UTC"
THROTTLED = ControlResult(
    state="throttled",
    next="migrator throttle --off -e prod",
    lock=dataclasses.replace(STATUS.lock, silent_seconds=None, requests=(_ASKED,)),
)
PAUSED = ControlResult(
    state="paused",
    next="migrator resume -e prod",
    lock=dataclasses.replace(
        STATUS.lock,
        silent_seconds=None,
        requests=("paused by dana (host laptop-3) since 12:12:40 UTC: checkout is slow", _ASKED),
    ),
)
RESUMED = dataclasses.replace(THROTTLED, state="resumed", next="migrator status -e prod")
CANCELLED = ControlResult(
    state="cancelled",
    next="migrator lock show -e prod",
    lock=dataclasses.replace(
        STATUS.lock,
        silent_seconds=None,
        requests=("cancelled by dana (host laptop-3) since 12:20:00 UTC: wrong template",),
    ),
)
RELEASED = LockResult(state="released", lock=STATUS.lock, released=True)
NOTE = NoteResult(
    state="stamped", next="migrator status -e prod", lines=(f"recorded {BASE} as applied; nothing was run",)
)

LINES = (
    RevisionLine(
        ASSIGNEE,
        (BASE,),
        "Assignee keys on tasks, then the index",
        "migrations/20261115090000_assignee_keys_on_tasks_then_the_index.py",
        is_head=True,
        status="started",
    ),
    RevisionLine(
        BASE,
        (),
        "Tenants, projects, tasks",
        "migrations/20261001080000_tenants_projects_tasks.py",
        is_head=False,
        status="applied",
        is_current=True,
    ),
)
OTHER_HEAD = RevisionLine(
    ESCALATIONS,
    (BASE,),
    "Escalations of a responder",
    "migrations/20261130172204_escalations_of_a_responder.py",
    is_head=True,
)
HISTORY = RevisionsResult(state="one-head", revisions=LINES)
SHOWN = RevisionResult(
    state="shown",
    revision=LINES[0],
    checksum="sha256:77ab01c2",
    content_hash="sha256:10aa",
    modules=("saas.keys sha256:0c1d",),
    operations=(OperationLine("AddIndex", "AddIndex(name='ByAssignee', partition_key=('GSI2PK',))"),),
)
FILES = FilesResult(
    state="created",
    created=("migrator.toml", "migrations/README.md"),
    next='migrator revision -m "what it does"',
)
KEPT = FilesResult(state="kept", created=(), kept=("migrator.toml",), paste="[tables.app]\nname = 'app'\n")
SANDBOX = SandboxResult(
    state="running",
    endpoint="http://127.0.0.1:4566",
    pid=4711,
    index_build_seconds=3.0,
    next='set endpoint_url = "http://127.0.0.1:4566" in an [env.NAME] of migrator.toml',
)
ALL = (
    PLAN,
    RUN,
    DOWNGRADED,
    ROLLED_BACK,
    RETRIED,
    SKIPPED,
    REPAIRED,
    INCOMPLETE,
    STATUS,
    CHECK,
    DIFF,
    SAME,
    DOCTOR,
    TARGETS,
    NOBODY,
    EXPORTED,
    EXPORTED_TO_FILE,
    VIOLATIONS,
    MANY_VIOLATIONS,
    NO_VIOLATIONS,
    PATTERNS,
    POLICY,
    PLACEHOLDERS,
    FAILED,
    LOCK,
    RELEASED,
    NOTE,
    HISTORY,
    SHOWN,
    FILES,
    KEPT,
    SANDBOX,
)
