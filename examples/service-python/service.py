"""The service over HTTP, with nothing but the standard library around it: `FORM=old python service.py`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from typing import Any
from wsgiref.simple_server import make_server

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError
from devices import Log, NewLog, OldLog

from migrator.runtime import PhaseReader, PhaseUnknown, RewritingClient

REVISION = "20260201090000"
CONTROL_TABLE = "device-control"
LEASE_SECONDS = 5.0
"""As `reader_lease` in rewrite.toml, or less."""


def open_client(**further: Any) -> Any:
    """Time-outs together below `attempt_time` in rewrite.toml: the tool waits for it after a change of phase."""
    return boto3.client("dynamodb", config=Config(connect_timeout=2, read_timeout=5), **further)


def open_log(client: Any, reader: PhaseReader, form: str) -> Log:
    rewriting = RewritingClient(client, reader, form="new" if form == "new" else "old")
    return NewLog(rewriting) if form == "new" else OldLog(rewriting)


def application(log: Log) -> Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]:
    """POST /report, /change, /count, /withdraw, /read or /in-state, with the arguments as JSON."""
    calls: dict[str, Callable[..., Any]] = {
        "/report": log.report,
        "/change": log.change,
        "/count": log.count,
        "/withdraw": log.withdraw,
        "/read": log.read,
        "/in-state": log.in_state,
    }

    def answer(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        call = calls.get(environ["PATH_INFO"])
        if call is None:
            start("404 Not Found", [])
            return []
        asked = json.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"] or 0)))
        try:
            said, status = call(**asked), "200 OK"
        except ClientError as exc:
            said, status = {"error": exc.response["Error"]["Code"]}, "409 Conflict"
        except PhaseUnknown as exc:
            # Nothing was sent: the caller may try again.
            said, status = {"error": exc.code}, "503 Service Unavailable"
        start(status, [("Content-Type", "application/json")])
        return [json.dumps(said).encode()]

    return answer


def main() -> None:
    form, port = os.environ.get("FORM", "old"), int(os.environ.get("PORT", "8080"))
    client = open_client()
    with (
        PhaseReader(
            client, table=CONTROL_TABLE, revision=REVISION, name=f"devices-{form}", lease_seconds=LEASE_SECONDS
        ) as reader,
        make_server("127.0.0.1", port, application(open_log(client, reader, form))) as server,
    ):
        print(f"listening on {port}, speaking the {form} form")
        server.serve_forever()


if __name__ == "__main__":
    main()
