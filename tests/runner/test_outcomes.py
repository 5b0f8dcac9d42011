"""What a command says of its own work, on a table of the sandbox."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from migrator import wiring
from migrator.config import default_config_text
from migrator.errors import MigratorError
from migrator.runner.runner import Runner
from migrator.sandbox import Sandbox

CREATE = '''"""Orders, with an index."""
from migrator import CreateTable, Index, PutItems
revision, down_revision = "20260101000000", None
operations = [
    CreateTable(partition_key="PK", sort_key="SK", indexes=[Index("ByState", partition_key="state")]),
    PutItems([{"PK": f"O#{n}", "SK": "META", "state": "new"} for n in range(3)]),
]
'''
BACKFILL = '''"""A second name."""
from migrator import Backfill
revision, down_revision = "20260102000000", "20260101000000"
operations = [Backfill(where={"SK": "META"}, set={"copy": "{state}!"}, undo="journal")]
'''


@pytest.fixture
def config(tmp_path: Path) -> Iterator[Path]:
    with Sandbox() as sandbox:
        path = tmp_path / "migrator.toml"
        path.write_text(
            default_config_text(table="{stage}-outcomes", endpoint_url=sandbox.endpoint_url, region="eu-west-1")
        )
        folder = tmp_path / "migrations"
        folder.mkdir()
        (folder / "1_create.py").write_text(CREATE)
        (folder / "2_backfill.py").write_text(BACKFILL)
        yield path


def opened(config: Path) -> Runner:
    return wiring.open_runner(wiring.open_project(config, None, {}), lambda _event: None)


def test_a_downgrade_counts_its_own_work_and_not_that_of_the_upgrade_before(config: Path) -> None:
    with opened(config) as runner:
        up = runner.upgrade().outcomes[-1]
    with opened(config) as runner:
        down = runner.downgrade("-1").outcomes[-1]
    with opened(config) as runner:
        again = runner.upgrade().outcomes[-1]
    assert (up.counts.scanned, up.counts.written) == (3, 3)
    assert (down.counts.scanned, down.counts.written) == (3, 3)
    assert down.counts.write_units > 0
    assert again.counts == up.counts


def test_an_index_that_came_with_its_table_is_managed_by_the_revision_that_made_the_table(config: Path) -> None:
    with opened(config) as runner:
        runner.upgrade()
    with opened(config) as runner:
        assert [(one.name, one.managed_by) for one in runner.status().indexes] == [("ByState", "20260101000000")]


STREAM = '''"""A stream."""
from migrator import SetStream
revision, down_revision = "20260103000000", "20260102000000"
operations = [SetStream("KEYS_ONLY")]
'''


def test_a_stream_on_the_table_that_holds_the_records_is_refused_before_it_locks_everybody_out(config: Path) -> None:
    with opened(config) as runner:
        runner.upgrade()
    (config.parent / "migrations" / "3_stream.py").write_text(STREAM)
    with opened(config) as runner:
        assert "control-table-needed" in runner.plan().blocked_by
        with pytest.raises(MigratorError) as caught:
            runner.upgrade()
    assert caught.value.code == "control-table-needed"
    with opened(config) as runner:
        assert runner.status().current == ("20260102000000",)
    config.write_text(config.read_text().replace("[control]", "[control]\nallow_stream = true"))
    if "allow_stream" not in config.read_text():
        config.write_text(config.read_text() + "\n[control]\nallow_stream = true\n")
    with opened(config) as runner:
        assert runner.upgrade().exit_code == 0
    with opened(config) as runner:
        assert runner.downgrade("-1").exit_code == 0
