from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.adapters import ADAPTERS, Adapter


@pytest.fixture(scope="session", autouse=True)
def _no_aws_settings_of_this_machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    nowhere: Path = tmp_path_factory.mktemp("aws") / "none"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_CONFIG_FILE", str(nowhere))
        patch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(nowhere))
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        yield


@pytest.fixture(
    scope="session",
    params=[
        pytest.param(name, marks=[pytest.mark.docker] if name.endswith("dynamodb-local") else []) for name in ADAPTERS
    ],
)
def adapter(request: pytest.FixtureRequest) -> Iterator[Adapter]:
    """One engine for all tests of the session; each test makes tables and records of its own."""
    with ADAPTERS[request.param]() as found:
        yield found
