"""Options of the whole suite: `--deep` runs the long proofs; what needs Docker skips visibly, or fails when asked."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

REQUIRE_DOCKER = "MIGRATOR_REQUIRE_DOCKER"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("migrator")
    group.addoption("--deep", action="store_true", help="run the long proofs too")
    group.addoption("--transport", choices=("boto3", "fast"), default="boto3", help="of the end-to-end tests")
    group.addoption(
        "--table-prefix", metavar="PREFIX", help="for -m aws: the tables that the run makes begin with this"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    deep = config.getoption("--deep")
    prefix = config.getoption("--table-prefix")
    for item in items:
        if "deep" in item.keywords and not deep:
            item.add_marker(pytest.mark.skip(reason="a long proof: run it with --deep"))
        if "aws" in item.keywords and not prefix:
            item.add_marker(pytest.mark.skip(reason="runs on AWS: opt in with -m aws --table-prefix PREFIX"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The last line counts what was skipped, by reason: nobody takes a skip for a pass."""
    skipped = terminalreporter.stats.get("skipped", [])
    counts: dict[str, int] = {}
    for report in skipped:
        reason = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
        kind = (
            "Docker"
            if "Docker" in reason
            else "--deep"
            if "--deep" in reason
            else "AWS"
            if "AWS" in reason
            else "other"
        )
        counts[kind] = counts.get(kind, 0) + 1
    if counts:
        parts = ", ".join(f"{count} for {kind}" for kind, count in sorted(counts.items()))
        terminalreporter.write_line(f"skipped: {parts}")


@pytest.fixture(scope="session", autouse=True)
def _no_aws_settings_of_this_machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test reads a developer's own AWS files or asks the instance metadata service."""
    if os.environ.get("MIGRATOR_TEST_AWS"):
        yield
        return
    nowhere = tmp_path_factory.mktemp("aws") / "none"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_CONFIG_FILE", str(nowhere))
        patch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(nowhere))
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        for name in ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "MIGRATOR_ENV", "MIGRATOR_CONFIG"):
            patch.delenv(name, raising=False)
        yield
