"""Our signatures are botocore's."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from migrator.wire.signing import Secrets, Signer

NOON = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)


def by_botocore(
    url: str, operation: str, body: bytes, secrets: Secrets, at: datetime, monkeypatch: pytest.MonkeyPatch
) -> str:
    monkeypatch.setattr("botocore.auth.get_current_datetime", lambda: at.replace(tzinfo=None))
    headers = {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": f"DynamoDB_20120810.{operation}"}
    request = AWSRequest("POST", url, headers=headers, data=body)
    SigV4Auth(Credentials(*secrets), "dynamodb", "eu-west-1").add_auth(request)
    return str(request.headers["Authorization"])


def authorization(head: bytes) -> str:
    (line,) = (line for line in head.decode().split("\r\n") if line.startswith("authorization: "))
    return line.removeprefix("authorization: ")


@pytest.mark.parametrize(
    "url", ["https://dynamodb.eu-west-1.amazonaws.com/", "http://127.0.0.1:4566/", "https://h/a b/"]
)
@pytest.mark.parametrize("token", [None, "a/session+token=="])
def test_a_signature_is_the_one_that_botocore_makes(
    url: str, token: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets = Secrets("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", token)
    host, _, path = url.split("//")[1].partition("/")
    signer = Signer(host, f"/{path}", "eu-west-1", "test")
    for body in (b"{}", '{"é": 1}'.encode()):
        for at in (NOON, NOON, NOON + timedelta(seconds=1), NOON + timedelta(days=1)):
            for operation in ("Scan", "BatchExecuteStatement"):
                wanted = by_botocore(url, operation, body, secrets, at, monkeypatch)
                assert authorization(signer.head(operation, body, secrets, at)) == wanted


def test_fresh_credentials_sign_the_very_next_request(monkeypatch: pytest.MonkeyPatch) -> None:
    signer = Signer("h", "/", "eu-west-1", "test")
    signer.head("Scan", b"", Secrets("A", "one", None), NOON)
    for secrets in (Secrets("A", "two", None), Secrets("A", "two", "token")):
        wanted = by_botocore("https://h/", "Scan", b"", secrets, NOON, monkeypatch)
        assert authorization(signer.head("Scan", b"", secrets, NOON)) == wanted
