"""boto3 clients of a sandbox, which owe nothing to the AWS settings of the machine."""

from __future__ import annotations

from functools import cache
from typing import Any

import boto3
import botocore.session
from botocore.config import Config

from migrator.sandbox.interception import UNSEEN

NO_PROFILE = {"profile": (None, None, None, None)}
"""botocore's variable without the names that it is read from: AWS_PROFILE may name one that this machine has not."""


def open_client(
    endpoint_url: str,
    region: str,
    service: str = "dynamodb",
    *,
    account: str = "sandbox",
    unseen: bool = False,
    **config: Any,
) -> Any:
    """A client of a running sandbox, whatever credentials, profile and proxy this machine has.

    `config` are members of botocore's Config. `account` is an access key: one of 12 digits is an account of its own.
    The requests of an `unseen` client are neither logged nor intercepted, meet no fault, and are sent once.
    """
    if unseen:
        config = {"user_agent_extra": UNSEEN, "retries": {"total_max_attempts": 1}, **config}
    return _session().client(
        service,  # type: ignore[call-overload]
        region_name=region,
        endpoint_url=endpoint_url,
        aws_access_key_id=account,
        aws_secret_access_key="sandbox",  # noqa: S106 - nothing checks it
        config=Config(**{"proxies": {}, **config}),
    )


@cache
def _session() -> boto3.Session:
    # One for all: it keeps the service's description, which takes a while to read.
    return boto3.Session(botocore_session=botocore.session.Session(session_vars=NO_PROFILE))
