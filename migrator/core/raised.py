"""What is told of an exception that a migration's function raised on items: never its words."""

from __future__ import annotations

import traceback
from pathlib import PurePath

from migrator.core.view import AttributeAbsent
from migrator.errors import as_text


def place_of(exc: BaseException) -> str:
    """The type of an exception and where the function raised it: its words may quote what the item holds."""
    kind = f"KeyError: {exc.args[0]!r}" if isinstance(exc, AttributeAbsent) else type(exc).__name__
    ours = __name__.partition(".")[0]
    foreign = [
        (frame.f_code, line)
        for frame, line in traceback.walk_tb(exc.__traceback__)
        if str(frame.f_globals.get("__name__", "")).partition(".")[0] != ours
    ]
    if not foreign:
        return kind
    # The deepest place in the file whose function we called, not in what that calls in turn.
    code, line = [one for one in foreign if one[0].co_filename == foreign[0][0].co_filename][-1]
    return as_text(f"{kind} in {code.co_name}(), line {line} of {PurePath(code.co_filename).name}")
