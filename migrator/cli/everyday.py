"""upgrade, status, check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from migrator.cli.options import (
    Engine,
    FromBaseOption,
    FromExportOption,
    LockTimeoutOption,
    TargetArgument,
    YesOption,
    seconds,
)
from migrator.cli.plans import read_plan
from migrator.cli.ports import Runner
from migrator.cli.shell import Shell
from migrator.cli.targets import (
    CANARY,
    PARALLEL,
    CanaryOption,
    KeepGoingOption,
    ParallelOption,
    TargetsOption,
    over_targets,
    plans_in,
)
from migrator.errors import UsageError
from migrator.runner.results import CheckResult, PlanResult, RunResult, StatusResult, TargetsResult

AT_GATE = 9


def upgrade(
    shell: Shell,
    target: TargetArgument = "head",
    *,
    plan: Annotated[
        Path | None,
        typer.Option(
            "--plan", metavar="FILE", help="Apply exactly this plan, or refuse; with --target, a folder of plans."
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan instead; changes nothing.")] = False,
    yes: YesOption = False,
    from_base: FromBaseOption = False,
    allow_out_of_order: Annotated[
        bool, typer.Option("--allow-out-of-order", help="Also run unapplied ancestors of applied revisions.")
    ] = False,
    expect_one: Annotated[
        bool, typer.Option("--expect-one", help="Refuse unless exactly one revision is pending.")
    ] = False,
    offline: Annotated[
        bool, typer.Option("--offline", help="No application is running: renames go in one step.")
    ] = False,
    app_ready: Annotated[
        bool,
        typer.Option("--app-ready", help="Every running writer of the application knows the phases of a key rewrite."),
    ] = False,
    no_wait: Annotated[
        bool, typer.Option("--no-wait", help="Do not wait for an index to be built: exit 5, the build goes on.")
    ] = False,
    wait_timeout: Annotated[
        float | None,
        typer.Option(
            "--wait-timeout", parser=seconds, metavar="DURATION", help="Wait at most so long for an index: then exit 5."
        ),
    ] = None,
    lock_timeout: LockTimeoutOption = None,
    allow_gate: Annotated[bool, typer.Option("--allow-gate", help="Stopping at a gate is success: exit 0.")] = False,
    workers: Annotated[
        int,
        typer.Option("--workers", min=1, max=256, metavar="N", help="Processes for data steps, such as one a core."),
    ] = 1,
    engine: Annotated[
        Engine, typer.Option("--engine", help="What data steps run on: this machine (default), or Spark.")
    ] = Engine.LOCAL,
    master: Annotated[
        str,
        typer.Option("--master", metavar="URL", help="Spark's master, such as local[2]. Default: the platform's."),
    ] = "",
    from_export: FromExportOption = None,
    from_export_check: Annotated[
        Path | None,
        typer.Option(
            "--from-export-check", metavar="FOLDER", help="Check by a later export, here or to come, and not by a scan."
        ),
    ] = None,
    targets: TargetsOption = None,
    canary: CanaryOption = CANARY,
    parallel: ParallelOption = PARALLEL,
    keep_going: KeepGoingOption = False,
) -> RunResult | PlanResult | TargetsResult:
    """Apply pending revisions up to TARGET.

    May be stopped and run again at any time: it continues where it was.
    """
    if (engine is Engine.SPARK and workers != 1) or (engine is Engine.LOCAL and master):
        raise UsageError(
            "usage",
            "--workers is for this machine, --master for --engine spark",
            hint="such as `migrator upgrade --workers 4`, or `migrator upgrade --engine spark --master local[4]`",
        )

    if (from_export or from_export_check) and (from_export is None or engine is Engine.SPARK or targets):
        raise UsageError(
            "usage",
            "--from-export is for one target and for this machine; --from-export-check goes with it",
            hint="such as `migrator upgrade -e prod --from-export FOLDER --workers 4`",
        )

    def upgraded(runner: Runner, reviewed: Mapping[str, Any] | None) -> RunResult:
        result = runner.upgrade(
            target,
            from_base=from_base,
            allow_out_of_order=allow_out_of_order,
            yes=yes,
            no_wait=no_wait,
            wait_timeout=wait_timeout,
            lock_timeout=lock_timeout,
            expect_one=expect_one,
            plan=reviewed,
            offline=offline,
            allow_gate=allow_gate,
            workers=workers,
            app_ready=app_ready,
            spark=master if engine is Engine.SPARK else None,
            from_export=from_export,
            from_export_check=from_export_check,
        )
        if allow_gate and result.state == "at-gate" and result.exit_code == AT_GATE:
            result = replace(result, exit_code=0)
        return result

    if dry_run:
        if plan is not None:
            raise UsageError("usage", "--dry-run and --plan exclude each other", hint="`--plan FILE` was shown already")
        if targets:
            return over_targets(
                shell,
                targets,
                lambda _, runner: runner.plan(target, from_base=from_base),
                read_only=True,
                parallel=parallel,
            )
        with shell.runner(read_only=True) as runner:
            return runner.plan(target, from_base=from_base, from_export=from_export)
    if targets:
        file_of = plans_in(plan)
        return over_targets(
            shell,
            targets,
            lambda name, runner: upgraded(runner, None if (file := file_of(name)) is None else read_plan(file)),
            read_only=False,
            parallel=parallel,
            canary=canary,
            keep_going=keep_going,
        )
    reviewed = None if plan is None else read_plan(plan)
    with shell.runner() as runner:
        return upgraded(runner, reviewed)


def status(
    shell: Shell, *, targets: TargetsOption = None, parallel: ParallelOption = PARALLEL
) -> StatusResult | TargetsResult:
    """Where this environment stands: revisions, indexes, lock."""
    if targets:
        return over_targets(shell, targets, lambda _, runner: runner.status(), read_only=True, parallel=parallel)
    with shell.runner(read_only=True) as runner:
        return runner.status()


def check(
    shell: Shell, *, targets: TargetsOption = None, parallel: ParallelOption = PARALLEL
) -> CheckResult | TargetsResult:
    """Compare files, history and live tables. Exit 3 for findings, 8 for changes pending."""
    if targets:
        return over_targets(shell, targets, lambda _, runner: runner.check(), read_only=True, parallel=parallel)
    with shell.runner(read_only=True) as runner:
        return runner.check()
