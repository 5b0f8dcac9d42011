"""The faults of a running sandbox: what production does on bad days, on demand."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer

from migrator.cli.answers import FaultLine, FaultsResult
from migrator.cli.options import seconds, variables
from migrator.cli.sandbox import PortOption, found
from migrator.cli.shell import Shell
from migrator.errors import UsageError

_WHICH = "Which requests"
_STRUCK = "Which of them are struck"


def add(
    shell: Shell,
    kind: Annotated[str, typer.Argument(metavar="KIND", help="Such as throttle, lost, conflict; docs/rehearse.md.")],
    *,
    operation: Annotated[
        list[str] | None,
        typer.Option("--operation", metavar="NAME", help="Such as UpdateItem; repeatable.", rich_help_panel=_WHICH),
    ] = None,
    table: Annotated[str | None, typer.Option("--table", metavar="NAME", rich_help_panel=_WHICH)] = None,
    index: Annotated[
        str | None,
        typer.Option("--index", metavar="NAME", help="Read, or written to by the item.", rich_help_panel=_WHICH),
    ] = None,
    key: Annotated[
        list[str] | None,
        typer.Option(
            "--key", metavar="NAME=VALUE", help="An attribute of the item or key; repeatable.", rich_help_panel=_WHICH
        ),
    ] = None,
    nth: Annotated[
        int | None, typer.Option("--nth", metavar="N", help="Only the nth.", rich_help_panel=_STRUCK)
    ] = None,
    every: Annotated[
        int | None, typer.Option("--every", metavar="N", help="Every nth.", rich_help_panel=_STRUCK)
    ] = None,
    probability: Annotated[
        float | None,
        typer.Option("--probability", metavar="P", help="Each with this chance, up to 1.", rich_help_panel=_STRUCK),
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="S", help="Of the chances; default 0.", rich_help_panel=_STRUCK)
    ] = None,
    times: Annotated[
        int | None, typer.Option("--times", metavar="N", help="No more than so often.", rich_help_panel=_STRUCK)
    ] = None,
    lasts: Annotated[
        float | None,
        typer.Option("--for", parser=seconds, metavar="DURATION", help="No longer than that.", rich_help_panel=_STRUCK),
    ] = None,
    setting: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="An option of the kind; repeatable.")
    ] = None,
    port: PortOption = None,
) -> FaultsResult:
    """Add a fault to the running sandbox: what it strikes is refused, delayed, lost or answered wrongly."""
    del shell
    given: dict[str, Any] = {
        "operation": operation or None,
        "table": table,
        "index": index,
        "key": variables(key) if key else None,
        "nth": nth,
        "every": every,
        "probability": probability,
        "seed": seed,
        "times": times,
        "for": lasts,
    }
    options = variables(setting or ())
    twice = next((name for name in options if name == "kind" or name in given), None)
    if twice is not None:
        raise UsageError("bad-fault", f"--set {twice}: that is no option of a kind", hint=f"give it as --{twice}")
    info = found(port)
    told = _faults().add_fault(info.endpoint_url, {"kind": kind, **given, **options})
    return FaultsResult(
        state="added", endpoint=info.endpoint_url, faults=(_line(told),), next=f"migrator sandbox fault clear {told.id}"
    )


def listed(shell: Shell, *, port: PortOption = None) -> FaultsResult:
    """The faults of the running sandbox, and how often each has struck."""
    del shell
    info = found(port)
    faults = tuple(_line(told) for told in _faults().list_faults(info.endpoint_url))
    following = "migrator sandbox fault clear" if faults else "migrator sandbox fault add KIND"
    return FaultsResult(state="listed", endpoint=info.endpoint_url, faults=faults, next=following)


def clear(
    shell: Shell,
    number: Annotated[int | None, typer.Argument(metavar="[ID]", help="Of `fault list`; all by default.")] = None,
    *,
    port: PortOption = None,
) -> FaultsResult:
    """Take one fault away, or all."""
    del shell
    info = found(port)
    cleared = _faults().clear_faults(info.endpoint_url, number)
    if number is not None and not cleared:
        raise UsageError("no-such-fault", f"there is no fault {number}", hint="see `migrator sandbox fault list`")
    return FaultsResult(state="cleared", endpoint=info.endpoint_url, cleared=cleared)


def _line(told: Any) -> FaultLine:
    return FaultLine(told.id, told.fault, told.met, told.struck, told.is_over)


def _faults() -> Any:
    # Late: an extra that is slow to load.
    return import_module("migrator.sandbox.faults")
