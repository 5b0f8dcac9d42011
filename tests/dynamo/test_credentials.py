"""Whose credentials sign: what the environment brings wins over a profile written in the file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

import pytest

from migrator.dynamo.client import Clients, connect
from migrator.dynamo.credentials import Connection, chosen_profile, is_loopback
from migrator.errors import MigratorError
from migrator.sandbox import Request, Response, Sandbox
from migrator.sandbox.interception import After

KEYS = {"AWS_ACCESS_KEY_ID": "ENVKEY", "AWS_SECRET_ACCESS_KEY": "env-secret"}
WEB = {"AWS_WEB_IDENTITY_TOKEN_FILE": "/token", "AWS_ROLE_ARN": "arn:aws:iam::111111111111:role/web"}
PROFILES = """
[default]
aws_access_key_id = DEFAULTKEY
aws_secret_access_key = x
[ops]
aws_access_key_id = OPSKEY
aws_secret_access_key = x
[named]
aws_access_key_id = NAMEDKEY
aws_secret_access_key = x
"""


@contextmanager
def environment(monkeypatch: pytest.MonkeyPatch, **values: str) -> Iterator[dict[str, str]]:
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    yield values


def signer(sandbox: Sandbox, connection: Connection, environ: dict[str, str]) -> str:
    """The access key that signs a request of this connection, seen at the wire."""
    seen: list[str] = []

    def look(request: Request) -> None:
        found = re.search(r"Credential=([^/]+)/", request.headers["authorization"])
        assert found is not None
        seen.append(found[1])

    with (
        connect(replace(connection, endpoint_url=sandbox.endpoint_url), environ) as clients,
        sandbox.intercept(look, operation="ListTables"),
    ):
        clients.tables.list_tables()
    return seen[-1]


@pytest.mark.parametrize(
    "environ",
    [
        KEYS,
        WEB,
        {"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/task"},
        {"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://127.0.0.1/pod"},
        {"AWS_PROFILE": "named"},
        {"AWS_DEFAULT_PROFILE": "named"},
    ],
)
def test_the_environment_wins_over_a_profile_in_the_file(environ: dict[str, str]) -> None:
    assert chosen_profile("ops", environ) is None


@pytest.mark.parametrize(
    "environ", [{}, {"AWS_ACCESS_KEY_ID": "half"}, {"AWS_ROLE_ARN": "arn"}, {"AWS_REGION": "eu-west-1"}]
)
def test_the_profile_in_the_file_counts_where_the_environment_brings_no_credentials(environ: dict[str, str]) -> None:
    assert chosen_profile("ops", environ) == "ops"


def test_the_profile_of_the_file_signs(sandbox: Sandbox, aws_files: Path) -> None:
    (aws_files / "credentials").write_text(PROFILES)
    assert signer(sandbox, Connection(profile="ops"), {}) == "OPSKEY"
    assert signer(sandbox, Connection(), {}) == "DEFAULTKEY"


def test_keys_in_the_environment_sign_in_place_of_the_file_s_profile(
    sandbox: Sandbox, aws_files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (aws_files / "credentials").write_text(PROFILES)
    with environment(monkeypatch, **KEYS) as environ:
        assert signer(sandbox, Connection(profile="ops"), environ) == "ENVKEY"


def test_a_profile_in_the_environment_signs_in_place_of_the_file_s(
    sandbox: Sandbox, aws_files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (aws_files / "credentials").write_text(PROFILES)
    with environment(monkeypatch, AWS_PROFILE="named") as environ:
        assert signer(sandbox, Connection(profile="ops"), environ) == "NAMEDKEY"


def test_a_web_identity_signs_in_place_of_the_file_s_profile(
    sandbox: Sandbox, aws_files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (aws_files / "token").write_text("a-token")
    (aws_files / "config").write_text("[profile ops]\naws_access_key_id = OPSKEY\naws_secret_access_key = x\n")
    with environment(
        monkeypatch,
        AWS_WEB_IDENTITY_TOKEN_FILE=str(aws_files / "token"),
        AWS_ROLE_ARN=WEB["AWS_ROLE_ARN"],
        AWS_DEFAULT_REGION="eu-west-1",
        AWS_ENDPOINT_URL_STS=sandbox.endpoint_url,
    ) as environ:
        assert signer(sandbox, Connection(profile="ops"), environ).startswith("ASIA")
    assert "AssumeRoleWithWebIdentity" in [operation for operation, _ in sandbox.requests]


class _Pod(BaseHTTPRequestHandler):
    """The credentials endpoint of a container."""

    def do_GET(self) -> None:
        body = json.dumps(
            {"AccessKeyId": "PODKEY", "SecretAccessKey": "x", "Token": "t", "Expiration": "2999-01-01T00:00:00Z"}
        ).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        return


def test_a_container_s_credentials_sign_in_place_of_the_file_s_profile(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, aws_files: Path
) -> None:
    (aws_files / "config").write_text("[profile ops]\naws_access_key_id = OPSKEY\naws_secret_access_key = x\n")
    with HTTPServer(("127.0.0.1", 0), _Pod) as pod:
        thread = Thread(target=pod.serve_forever)
        thread.start()
        try:
            url = f"http://127.0.0.1:{pod.server_port}/pod"
            with environment(monkeypatch, AWS_CONTAINER_CREDENTIALS_FULL_URI=url) as environ:
                assert signer(sandbox, Connection(profile="ops"), environ) == "PODKEY"
        finally:
            pod.shutdown()
            thread.join()


def test_made_up_credentials_and_a_region_serve_an_engine_on_this_machine(sandbox: Sandbox) -> None:
    assert signer(sandbox, Connection(), {}) == "local"
    with connect(Connection(endpoint_url=sandbox.endpoint_url), {}) as clients:
        assert clients.region == "us-east-1"


def test_an_endpoint_in_the_environment_is_seen_as_the_sandbox_that_it_is(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        environment(monkeypatch, AWS_ENDPOINT_URL_DYNAMODB=sandbox.endpoint_url) as environ,
        connect(Connection(), environ) as clients,
    ):
        assert clients.access.is_loopback
        assert clients.whoami().account == "000000000000"


@pytest.mark.parametrize("url", ["http://127.0.0.1:4566", "http://127.8.9.1", "http://localhost:1", "http://[::1]:80"])
def test_loopback_addresses_are_known(url: str) -> None:
    assert is_loopback(url)


@pytest.mark.parametrize(
    "url",
    ["http://10.0.0.1", "https://dynamodb.eu-west-1.amazonaws.com", "http://localhost.example.com", "http://[::2]:80"],
)
def test_other_addresses_are_no_loopback(url: str) -> None:
    assert not is_loopback(url)


def test_without_credentials_there_is_an_error_that_says_what_to_set() -> None:
    with pytest.raises(MigratorError) as caught:
        connect(Connection(region="eu-west-1"), {})
    assert caught.value.code == "no-credentials"
    assert "AWS_PROFILE" in (caught.value.hint or "")


def test_an_endpoint_that_is_not_this_machine_gets_no_made_up_credentials() -> None:
    with pytest.raises(MigratorError) as caught:
        connect(Connection(region="eu-west-1", endpoint_url="http://dynamodb.example.com"), {})
    assert caught.value.code == "no-credentials"


def test_without_a_region_there_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with environment(monkeypatch, **KEYS) as environ, pytest.raises(MigratorError) as caught:
        connect(Connection(), environ)
    assert caught.value.code == "no-region"


def test_an_unknown_profile_is_named() -> None:
    with pytest.raises(MigratorError) as caught:
        connect(Connection(profile="nobody", region="eu-west-1"), {})
    assert caught.value.code == "no-profile"
    assert "nobody" in caught.value.message


# --- the role ---------------------------------------------------------------------------------------------------------

ROLE = "arn:aws:iam::222222222222:role/migrator"


def assumed(sandbox: Sandbox) -> list[dict[str, str]]:
    return [body for operation, body in sandbox.requests if operation == "AssumeRole"]


def test_a_role_is_assumed_once_and_signs(sandbox: Sandbox) -> None:
    with connect(Connection(endpoint_url=sandbox.endpoint_url, role_arn=ROLE), {}) as clients:
        assert assumed(sandbox) == []
        clients.tables.list_tables()
        clients.tables.list_tables()
        assert clients.whoami().arn.endswith("assumed-role/migrator/migrator")
    (request,) = assumed(sandbox)
    assert request["RoleArn"] == ROLE


def expiring(when: datetime) -> After:
    """Gives what STS answers another end."""

    def change(_: Request, response: Response) -> Response:
        stamp = when.strftime("%Y-%m-%dT%H:%M:%SZ").encode()
        return replace(response, raw=re.sub(rb"(<Expiration>)[^<]+", rb"\g<1>" + stamp, response.raw))

    return change


def test_a_role_is_assumed_again_before_it_expires(sandbox: Sandbox) -> None:
    soon = datetime.now(UTC) + timedelta(minutes=5)
    with connect(Connection(endpoint_url=sandbox.endpoint_url, role_arn=ROLE), {}) as clients:
        with sandbox.intercept(after=expiring(soon), operation="AssumeRole"):
            clients.tables.list_tables()
        before = len(assumed(sandbox))
        clients.tables.list_tables()
        clients.tables.list_tables()
    assert len(assumed(sandbox)) == before + 1


def test_credentials_that_stay_expired_are_said_to_be(sandbox: Sandbox) -> None:
    past = datetime.now(UTC) - timedelta(minutes=5)
    with (
        connect(Connection(endpoint_url=sandbox.endpoint_url, role_arn=ROLE), {}) as clients,
        sandbox.intercept(after=expiring(past), operation="AssumeRole"),
        pytest.raises(MigratorError) as caught,
    ):
        clients.whoami()
    assert caught.value.code == "credentials-expired"


def test_a_role_that_may_not_be_assumed_is_named(sandbox: Sandbox) -> None:
    def deny(request: Request) -> Response:
        message = f"User: arn:aws:iam::1:user/a is not authorized to perform: sts:AssumeRole on resource: {ROLE}"
        body = f"<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>{message}</Message></Error>"
        return Response(403, (body + "</ErrorResponse>").encode(), {"content-type": "text/xml"})

    with (
        connect(Connection(endpoint_url=sandbox.endpoint_url, role_arn=ROLE), {}) as clients,
        sandbox.intercept(deny, operation="AssumeRole"),
        pytest.raises(MigratorError) as caught,
    ):
        clients.whoami()
    assert caught.value.code == "access-denied"
    assert caught.value.message.startswith(f"sts:AssumeRole on {ROLE} is denied")


# --- the account ------------------------------------------------------------------------------------------------------


def expecting(sandbox: Sandbox, account: str | None) -> Clients:
    return connect(Connection(endpoint_url=sandbox.endpoint_url, expected_account=account), {})


@pytest.mark.parametrize("account", ["000000000000", None])
def test_the_expected_account_is_confirmed_by_one_question(sandbox: Sandbox, account: str | None) -> None:
    with expecting(sandbox, account) as clients:
        assert clients.confirm_account().account == "000000000000"
        assert clients.confirm_account().account == "000000000000"
    assert [operation for operation, _ in sandbox.requests] == ["GetCallerIdentity"]


def test_another_account_than_expected_is_refused(sandbox: Sandbox) -> None:
    with expecting(sandbox, "222222222222") as clients, pytest.raises(MigratorError) as caught:
        clients.confirm_account()
    assert caught.value.code == "wrong-account"
    assert "222222222222" in caught.value.message


@pytest.mark.parametrize("name", ["tables", "items", "elsewhere"])
def test_no_change_is_sent_to_another_account_than_expected_even_if_nobody_asked(sandbox: Sandbox, name: str) -> None:
    with expecting(sandbox, "222222222222") as clients:
        client = clients.tables_in("eu-central-1") if name == "elsewhere" else getattr(clients, name)
        client.list_tables()
        with pytest.raises(MigratorError) as caught:
            client.delete_table(TableName="app")
    assert caught.value.code == "wrong-account"
    assert [operation for operation, _ in sandbox.requests] == ["ListTables", "GetCallerIdentity"]


def test_an_engine_without_sts_is_an_account_of_its_own_and_no_other(sandbox: Sandbox) -> None:
    def unknown(_: Request) -> Response:
        return Response.error("UnknownOperationException", "An unknown operation was requested.")

    with sandbox.intercept(unknown, operation="GetCallerIdentity"):
        with expecting(sandbox, None) as clients:
            assert clients.whoami().account == "000000000000"
        with expecting(sandbox, "222222222222") as clients, pytest.raises(MigratorError) as caught:
            clients.confirm_account()
    assert caught.value.code == "wrong-account"


def test_a_sandbox_that_is_not_running_is_said_to_be_and_how_to_start_it() -> None:
    with Sandbox() as gone:
        url = gone.endpoint_url
    with connect(Connection(endpoint_url=url), {}) as clients, pytest.raises(MigratorError) as caught:
        clients.whoami()
    assert caught.value.code == "endpoint-unreachable"
    assert f"migrator sandbox start --port {urlsplit(url).port} --detach" in (caught.value.hint or "")
