"""A policy as IAM takes it, and what stands around it, as text."""

from __future__ import annotations

import json
from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from migrator.cli.render.tables import pairs
from migrator.runner.results import IamResult


def pasted(result: IamResult) -> Text:
    """The policy, to be pasted."""
    return Text(json.dumps(result.policy, indent=2))


def drawn(result: IamResult) -> Iterator[RenderableType]:
    yield Text("")
    yield pairs(
        [
            ("command", result.of),
            ("env", result.env),
            ("account", result.account or "not known: ACCOUNT stands for it"),
            ("region", result.region or "not known: REGION stands for it"),
            ("revisions", ", ".join(result.revisions) or "none"),
        ]
    )
    for note in result.notes:
        yield Text(f"note: {note}", style="yellow", overflow="fold")
