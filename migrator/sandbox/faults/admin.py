"""Faults over HTTP: `/_sandbox/faults` of a running sandbox, and its client. Loopback only, as the port is."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from migrator.errors import MigratorError, UsageError
from migrator.sandbox.faults.layer import Faults, Told
from migrator.sandbox.faults.spec import read_spec
from migrator.sandbox.wire import Response

PATH = "/_sandbox/faults"


def administer(faults: Faults, method: str, path: str, raw: bytes) -> Response:
    """GET lists, POST adds one, DELETE takes all away, or one: `/_sandbox/faults/3`."""
    number = path.removeprefix(PATH).strip("/")
    try:
        match method:
            case "GET" if not number:
                return _listed(faults.told())
            case "POST" if not number:
                given = json.loads(raw or b"null")
                if not isinstance(given, dict):
                    raise UsageError("bad-fault", "a fault is a JSON object")
                return _listed((faults.add(read_spec(given)),))
            case "DELETE" if not number or number.isdecimal():
                return Response.json({"cleared": faults.clear(int(number) if number else None)})
    except MigratorError as error:
        told = {"code": error.code, "message": error.message, "hint": error.hint}
        return Response.json({"error": told}, 400)
    except ValueError as error:
        return Response.json({"error": {"code": "bad-fault", "message": f"no JSON: {error}", "hint": None}}, 400)
    return Response.json({"error": {"code": "no-such-path", "message": f"{method} {path}", "hint": None}}, 404)


def _listed(told: tuple[Told, ...]) -> Response:
    return Response.json({"faults": [asdict(one) for one in told]})


def add_fault(endpoint_url: str, spec: Mapping[str, Any]) -> Told:
    """Add a fault to the sandbox at `endpoint_url`. Raises UsageError where it is none."""
    return _read(_ask(endpoint_url, "POST", "", spec))[0]


def list_faults(endpoint_url: str) -> tuple[Told, ...]:
    return _read(_ask(endpoint_url, "GET", ""))


def clear_faults(endpoint_url: str, number: int | None = None) -> int:
    """Take faults away; how many there were."""
    return int(_ask(endpoint_url, "DELETE", "" if number is None else f"/{number}")["cleared"])


def _read(answer: dict[str, Any]) -> tuple[Told, ...]:
    return tuple(Told(**one) for one in answer["faults"])


def _ask(endpoint_url: str, method: str, below: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
    raw = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{endpoint_url.rstrip('/')}{PATH}{below}", raw, method=method)  # noqa: S310
    # Without proxies: loopback is never reached through one.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=10) as answer:
            told: dict[str, Any] = json.load(answer)
            return told
    except urllib.error.HTTPError as exc:
        with exc:
            error = json.load(exc).get("error", {})
        raise UsageError(
            error.get("code", "bad-fault"), error.get("message", str(exc)), hint=error.get("hint")
        ) from exc
    except (OSError, ValueError) as exc:
        raise MigratorError(
            "sandbox-not-running",
            f"no sandbox answers at {endpoint_url}: {exc}",
            hint="start one with `migrator sandbox start --detach`",
        ) from exc
