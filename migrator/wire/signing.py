"""Signature Version 4 for one endpoint: what changes once a day or once a second is kept, the rest is two hashes."""

from __future__ import annotations

import hmac
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import NamedTuple
from urllib.parse import quote

SERVICE = "dynamodb"
_TARGET = "DynamoDB_20120810."
_TYPE = "application/x-amz-json-1.0"


class Secrets(NamedTuple):
    """Credentials as they are at one moment."""

    access_key: str
    secret_key: str
    token: str | None


@dataclass(frozen=True, slots=True)
class _Second:
    """All that requests of one second have in common. `parts`: operation -> beginning of its canonical request and
    of its head."""

    at: datetime
    secrets: Secrets
    stamp: str
    scope: str
    key: bytes
    parts: dict[str, tuple[bytes, bytes]] = field(default_factory=dict)


class Signer:
    """Makes the heads of signed requests. Threads share it: the state of a second is published by one assignment."""

    def __init__(self, host: str, path: str, region: str, user_agent: str, target: str | None = None):
        """`target` is what the request line asks for where that is not the path: the whole URL, for a proxy."""
        self._host = host
        self._path = quote(path, safe="/~")
        self._target = target or path
        self._region = region
        self._user_agent = user_agent
        self._day: tuple[str, Secrets, bytes] | None = None
        self._second: _Second | None = None

    def head(self, operation: str, body: bytes, secrets: Secrets, now: datetime) -> bytes:
        """The request line and headers of a POST of `body`, signed as of `now` (UTC)."""
        second = self._second
        at = now.replace(microsecond=0)
        if second is None or second.at != at or second.secrets != secrets:
            second = self._second = self._begin(at, secrets)
        parts = second.parts.get(operation)
        if parts is None:
            parts = second.parts[operation] = self._parts(operation, second)
        canonical, head = parts
        hashed = sha256(canonical + sha256(body).hexdigest().encode()).hexdigest()
        text = f"AWS4-HMAC-SHA256\n{second.stamp}\n{second.scope}\n{hashed}"
        signature = hmac.digest(second.key, text.encode(), "sha256").hex()
        return b"%b%b\r\nContent-Length: %d\r\n\r\n" % (head, signature.encode(), len(body))

    def _begin(self, at: datetime, secrets: Secrets) -> _Second:
        stamp = at.strftime("%Y%m%dT%H%M%SZ")
        date = stamp[:8]
        day = self._day
        if day is None or day[0] != date or day[1] != secrets:
            key = f"AWS4{secrets.secret_key}".encode()
            for part in (date, self._region, SERVICE, "aws4_request"):
                key = hmac.digest(key, part.encode(), "sha256")
            day = self._day = (date, secrets, key)
        return _Second(at, secrets, stamp, f"{date}/{self._region}/{SERVICE}/aws4_request", day[2])

    def _parts(self, operation: str, second: _Second) -> tuple[bytes, bytes]:
        # In order of their names, as the signature wants them.
        headers = {"content-type": _TYPE, "host": self._host, "x-amz-date": second.stamp}
        if second.secrets.token:
            headers["x-amz-security-token"] = second.secrets.token
        headers["x-amz-target"] = _TARGET + operation
        signed = ";".join(headers)
        lines = "".join(f"{name}:{value}\n" for name, value in headers.items())
        canonical = f"POST\n{self._path}\n\n{lines}\n{signed}\n"
        head = (
            f"POST {self._target} HTTP/1.1\r\n"
            + "".join(f"{name}: {value}\r\n" for name, value in headers.items())
            + f"user-agent: {self._user_agent}\r\n"
            + f"authorization: AWS4-HMAC-SHA256 Credential={second.secrets.access_key}/{second.scope}, "
            + f"SignedHeaders={signed}, Signature="
        )
        return canonical.encode(), head.encode()
