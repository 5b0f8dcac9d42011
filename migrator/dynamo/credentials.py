"""Whose credentials sign the requests, and to which endpoint and Region they go."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from urllib.parse import urlsplit

import botocore.session
from botocore import credentials as aws
from botocore.configprovider import ConfiguredEndpointProvider

from migrator.dynamo.errors import no_credentials, no_region, translated

SESSION_NAME = "migrator"


@dataclass(frozen=True, slots=True)
class Connection:
    """Whom a run talks to. What is None comes from the environment and the shared files, as botocore reads them.

    `expected_account` refuses to work on any other account (`Clients.confirm_account`). `read_only` gives clients that
    refuse to send a request that changes anything.
    """

    region: str | None = None
    endpoint_url: str | None = None
    profile: str | None = None
    role_arn: str | None = None
    expected_account: str | None = None
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class Access:
    """A connection resolved: a session that signs, the Region, and the endpoint where it is not AWS's own."""

    session: botocore.session.Session
    region: str
    endpoint_url: str | None

    @property
    def is_loopback(self) -> bool:
        return self.endpoint_url is not None and is_loopback(self.endpoint_url)

    @property
    def loopback_url(self) -> str | None:
        """The endpoint, where it stands in for every service of AWS."""
        return self.endpoint_url if self.is_loopback else None

    @property
    def hint(self) -> str | None:
        """What to do when the endpoint cannot be reached."""
        if self.is_loopback:
            port = urlsplit(self.endpoint_url or "").port
            return f"start it with `migrator sandbox start{'' if port in (None, 4566) else f' --port {port}'} --detach`"
        return "check the network, the Region and endpoint_url"


def resolve(connection: Connection, environ: Mapping[str, str]) -> Access:
    """The session for a connection. `environ` is the process's environment, which botocore reads by itself."""
    with translated("reading the AWS configuration", ""):
        session = botocore.session.Session(profile=chosen_profile(connection.profile, environ))
        endpoint = connection.endpoint_url or _configured_endpoint(session, environ)
        region = connection.region or session.get_config_variable("region")
        if endpoint is not None and is_loopback(endpoint):
            _make_local(session)
            region = region or "us-east-1"
        elif session.get_credentials() is None:
            raise no_credentials()
        if not region:
            raise no_region()
        if connection.role_arn:
            session = _assuming(session, connection.role_arn, region, endpoint)
    return Access(session, region, endpoint)


def chosen_profile(profile: str | None, environ: Mapping[str, str]) -> str | None:
    """The profile written in the file, unless the environment brings credentials or names a profile itself.

    A session with an explicit profile ignores the credentials of the environment: in a pipeline those are the job's.
    """
    brought = (
        ("AWS_ACCESS_KEY_ID" in environ and "AWS_SECRET_ACCESS_KEY" in environ)
        or ("AWS_WEB_IDENTITY_TOKEN_FILE" in environ and "AWS_ROLE_ARN" in environ)
        or "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI" in environ
        or "AWS_CONTAINER_CREDENTIALS_FULL_URI" in environ
        or "AWS_PROFILE" in environ
        or "AWS_DEFAULT_PROFILE" in environ
    )
    return None if brought else profile


def is_loopback(url: str) -> bool:
    """Whether the URL's host is this machine: 127.0.0.0/8, ::1 or localhost."""
    host = urlsplit(url if "//" in url else f"//{url}").hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _configured_endpoint(session: botocore.session.Session, environ: Mapping[str, str]) -> str | None:
    if session.get_config_variable("ignore_configured_endpoint_urls"):
        return None
    provider = ConfiguredEndpointProvider(
        full_config=session.full_config,
        scoped_config=session.get_scoped_config(),
        client_name="dynamodb",
        environ=dict(environ),
    )
    found = provider.provide()
    return str(found) if found else None


def _make_local(session: botocore.session.Session) -> None:
    """Credentials for an engine on this machine, which checks none: any that are found, else a made-up pair."""
    # Asking the instance's metadata service would only cost seconds: no one runs a sandbox by an instance role.
    session.get_component("credential_provider").remove("iam-role")
    if session.get_credentials() is None:
        session.set_credentials("local", "local")


class _Only(aws.CredentialProvider):
    """A credential chain of one: credentials that are there already."""

    METHOD = "assume-role"

    def __init__(self, found: aws.Credentials):
        super().__init__()
        self._found = found

    def load(self) -> aws.Credentials:
        return self._found


def _assuming(
    session: botocore.session.Session, role_arn: str, region: str, endpoint: str | None
) -> botocore.session.Session:
    """A session whose credentials are the role's, fetched when first needed and again before they expire."""
    local = endpoint if endpoint is not None and is_loopback(endpoint) else None
    source = session.get_credentials()
    fetcher = aws.AssumeRoleCredentialFetcher(
        client_creator=partial(session.create_client, region_name=region, endpoint_url=local),
        source_credentials=source,
        role_arn=role_arn,
        extra_args={"RoleSessionName": SESSION_NAME},
    )
    credentials = aws.DeferredRefreshableCredentials(refresh_using=fetcher.fetch_credentials, method="assume-role")
    assuming = botocore.session.Session(profile=session.instance_variables().get("profile"))
    assuming.register_component("credential_provider", aws.CredentialResolver([_Only(credentials)]))
    return assuming
