"""plan: what an upgrade would do and cost, in whichever form; and the file of a reviewed plan."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from migrator.cli.options import FromBaseOption, FromExportOption, Output, TargetArgument, seconds
from migrator.cli.ports import Runner
from migrator.cli.render.document import document, text
from migrator.cli.reports import page
from migrator.cli.shell import Shell
from migrator.cli.targets import PARALLEL, ParallelOption, TargetsOption, over_targets, plans_in
from migrator.errors import UsageError
from migrator.runner.results import PlanResult, TargetsResult

CHANGES_PENDING = 8


def plan(
    shell: Shell,
    target: TargetArgument = "head",
    *,
    full: Annotated[
        bool, typer.Option("--full", help="Read every item once and count, instead of a sample. Writes nothing.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="FILE", help="Write the plan for `upgrade --plan FILE`; with --target, a folder."
        ),
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Also write it as one HTML file with charts.")
    ] = None,
    prices: Annotated[
        Path | None, typer.Option("--prices", metavar="FILE", help="Prices to use, instead of the configured ones.")
    ] = None,
    job_limit: Annotated[
        float | None,
        typer.Option(
            "--job-limit", parser=seconds, metavar="DURATION", help="How long the job may take: warn if it is longer."
        ),
    ] = None,
    detailed_exitcode: Annotated[
        bool, typer.Option("--detailed-exitcode", help="Exit 8 when changes are pending.")
    ] = False,
    from_base: FromBaseOption = False,
    samples: Annotated[int, typer.Option("--samples", min=0, help="Items shown before and after, a step.")] = 3,
    from_export: FromExportOption = None,
    targets: TargetsOption = None,
    parallel: ParallelOption = PARALLEL,
) -> PlanResult | TargetsResult:
    """Show what an upgrade would do and cost, with samples of real items. Changes nothing.

    The plan holds a client that cannot write. -o also takes markdown, for a pull request, and html.
    """

    def planned(runner: Runner, file: Path | None) -> PlanResult:
        result = runner.plan(
            target,
            from_base=from_base,
            samples=samples,
            full=full,
            prices=prices,
            job_limit=job_limit,
            from_export=from_export,
        )
        if detailed_exitcode and result.state == "pending" and result.exit_code == 0:
            result = replace(result, exit_code=CHANGES_PENDING)
        return result if file is None else _kept(file, result)

    is_page = html is not None or shell.habits.output == Output.HTML
    if targets and from_export is not None:
        raise UsageError("usage", "an export is of one target's table", hint="`-e ENV` and no --target")
    if targets:
        if is_page or shell.habits.output == Output.MARKDOWN:
            raise UsageError(
                "usage", "the reports of a plan are of one target", hint="`-e ENV` and no --target, or -o text or json"
            )
        file_of = plans_in(out, made=True)
        return over_targets(
            shell, targets, lambda name, runner: planned(runner, file_of(name)), read_only=True, parallel=parallel
        )
    if is_page:
        # Refused now rather than after an hour of reading.
        page.refuse_without_templates()
    with shell.runner(read_only=True) as runner:
        result = planned(runner, out)
    if html is not None:
        write_whole(html, page.html(result, shell.now()), "--html")
    return result


def _kept(out: Path, result: PlanResult) -> PlanResult:
    """The plan in its file, and what to type to apply it."""
    if result.next.startswith("migrator upgrade"):
        # A reviewed plan answers for what it destroys: it needs no --yes.
        result = replace(result, next=f"{result.next.removesuffix(' --yes')} --plan {shlex.quote(str(out))}")
    write_whole(out, text(document(result, "plan")) + "\n", "--out")
    return result


def write_whole(path: Path, content: str, option: str) -> None:
    """The file whole or not at all. Raises UsageError `plan-not-written`."""
    draft = path.with_name(path.name + ".part")
    try:
        # As on stdout: half a character is written as its escape, which JSON reads back as it was.
        draft.write_text(content, encoding="utf-8", errors="backslashreplace")
        os.replace(draft, path)
    except OSError as exc:
        raise UsageError(
            "plan-not-written",
            f"cannot write the plan to {path}: {exc.strerror}",
            hint=f"name another file with {option}",
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
