"""plan, upgrade, status, check."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from migrator.cli.options import Engine, FromBaseOption, LockTimeoutOption, TargetArgument, YesOption, seconds
from migrator.cli.render.document import document, text
from migrator.cli.shell import Shell
from migrator.errors import UsageError
from migrator.runner.results import CheckResult, PlanResult, RunResult, StatusResult

CHANGES_PENDING = 8
AT_GATE = 9


def plan(
    shell: Shell,
    target: TargetArgument = "head",
    *,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write the plan for `upgrade --plan FILE`.")
    ] = None,
    detailed_exitcode: Annotated[
        bool, typer.Option("--detailed-exitcode", help="Exit 8 when changes are pending.")
    ] = False,
    from_base: FromBaseOption = False,
    samples: Annotated[int, typer.Option("--samples", min=0, help="Items shown before and after, a step.")] = 3,
) -> PlanResult:
    """Show what an upgrade would do, with samples of real items. Changes nothing.

    The plan holds a client that cannot write.
    """
    with shell.runner(read_only=True) as runner:
        result = runner.plan(target, from_base=from_base, samples=samples)
    if detailed_exitcode and result.state == "pending" and result.exit_code == 0:
        result = replace(result, exit_code=CHANGES_PENDING)
    if out is not None:
        if result.next.startswith("migrator upgrade"):
            # A reviewed plan answers for what it destroys: it needs no --yes.
            result = replace(result, next=f"{result.next.removesuffix(' --yes')} --plan {shlex.quote(str(out))}")
        write_plan(out, result)
    return result


def upgrade(
    shell: Shell,
    target: TargetArgument = "head",
    *,
    plan: Annotated[
        Path | None, typer.Option("--plan", metavar="FILE", help="Apply exactly this plan, or refuse.")
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
) -> RunResult | PlanResult:
    """Apply pending revisions up to TARGET.

    May be stopped and run again at any time: it continues where it was.
    """
    if (engine is Engine.SPARK and workers != 1) or (engine is Engine.LOCAL and master):
        raise UsageError(
            "usage",
            "--workers is for this machine, --master for --engine spark",
            hint="such as `migrator upgrade --workers 4`, or `migrator upgrade --engine spark --master local[4]`",
        )
    if dry_run:
        if plan is not None:
            raise UsageError("usage", "--dry-run and --plan exclude each other", hint="`--plan FILE` was shown already")
        with shell.runner(read_only=True) as runner:
            return runner.plan(target, from_base=from_base)
    reviewed = None if plan is None else read_plan(plan)
    with shell.runner() as runner:
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
            spark=master if engine is Engine.SPARK else None,
        )
    if allow_gate and result.state == "at-gate" and result.exit_code == AT_GATE:
        result = replace(result, exit_code=0)
    return result


def status(shell: Shell) -> StatusResult:
    """Where this environment stands: revisions, indexes, lock."""
    with shell.runner(read_only=True) as runner:
        return runner.status()


def check(shell: Shell) -> CheckResult:
    """Compare files, history and live tables. Exit 3 for findings, 8 for changes pending."""
    with shell.runner(read_only=True) as runner:
        return runner.check()


def write_plan(path: Path, result: PlanResult) -> None:
    """The plan's document; whole or not at all."""
    draft = path.with_name(path.name + ".part")
    try:
        # As on stdout: half a character is written as its escape, which JSON reads back as it was.
        draft.write_text(text(document(result, "plan")) + "\n", encoding="utf-8", errors="backslashreplace")
        os.replace(draft, path)
    except OSError as exc:
        raise UsageError(
            "plan-not-written", f"cannot write the plan to {path}: {exc.strerror}", hint="name another file with --out"
        ) from exc


def read_plan(path: Path) -> Mapping[str, Any]:
    """The document that `plan --out` wrote. Raises UsageError `bad-plan`."""
    hint = f"make it with `migrator plan --out {path}`"
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as exc:
        raise UsageError("bad-plan", f"cannot read the plan {path}: {exc.strerror}", hint=hint) from exc
    except (ValueError, RecursionError) as exc:
        raise UsageError("bad-plan", f"{path} is no JSON document: {exc}", hint=hint) from exc
    if not isinstance(content, dict) or content.get("command") != "plan" or not content.get("fingerprint"):
        raise UsageError("bad-plan", f"{path} is no plan", hint=hint)
    return content
