from __future__ import annotations

import pytest

from tests.fuzz.bounds import Depth, tried


def pytest_configure(config: pytest.Config) -> None:
    Depth.is_deep = bool(config.getoption("--deep"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What was tried, for docs/reliability.md."""
    if tried:
        parts = ", ".join(f"{count} {kind}" for kind, count in sorted(tried.items()))
        terminalreporter.write_line(f"inputs tried: {parts}; {sum(tried.values())} in all")
