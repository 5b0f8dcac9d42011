"""With `redact_keys` no key of an item is in what a run says, nor in its log."""

from __future__ import annotations

import pytest

from tests.e2e.project import Project, tasks

BROKEN = """
def broken(item):
    raise ValueError(item["owner"])
"""


@pytest.mark.parametrize("redacted", [True, False])
def test_keys_are_digests_in_logs_and_results_where_that_is_asked_for(project: Project, redacted: bool) -> None:
    project.configure()
    config = project.folder / "migrator.toml"
    config.write_text(f"redact_keys = {str(redacted).lower()}\n{config.read_text()}")
    project.migration("0001", 'Backfill(where={"entity": "Task"}, transform=broken),', code=BROKEN)
    project.put(tasks(5))
    done = project.run("upgrade", "--from-base", "-o", "json", "--verbose")
    assert done.code == 6, done
    assert ("TASK#0000" in done.out + done.err) is not redacted
    shown = project.run("failed", "list", "-o", "json")
    assert "TASK#0000" in shown.out
