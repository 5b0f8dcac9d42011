from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.config import Config

from migrator.sandbox import Sandbox


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as one:
        yield one


@pytest.fixture(scope="session")
def client(sandbox: Sandbox) -> Iterator[Any]:
    """An application's own client: with its own retries, and short time-outs."""
    found = boto3.client(
        "dynamodb",
        endpoint_url=sandbox.endpoint_url,
        region_name="eu-west-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=Config(connect_timeout=2, read_timeout=5),
    )
    yield found
    found.close()
