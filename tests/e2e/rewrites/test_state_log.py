"""DeviceStateLog, version 1 to 3: the sort key attribute itself changes, so the items move to another table."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.e2e.rewrites.moving import App, Item, Moving, by_key, ordered, rows

TABLES = {"log": "log-v1", "log_v3": "log-v3"}
CREATE = 'operations = [CreateTable(partition_key="DeviceID", sort_key="Date")]'
COPY = """
operations = [
    CopyTable(
        "log", "log_v3",
        partition_key="DeviceID", sort_key="State#Date", key={"State#Date": "{State}#{Date}"},
    )
]
"""
OLD_KEYS = ("DeviceID", "Date")
V1 = rows("nwb-devicestatelog-v1.json", "DeviceStateLog")
V3 = rows("nwb-devicestatelog-v3.json", "DeviceStateLog")


def begun(moving: Callable[..., Moving]) -> Moving:
    project = moving(TABLES, r1=CREATE, r2=COPY)
    project.upgrade("r1")
    project.put("log", V1)
    project.advance("upgrade")
    return project


def bare(items: list[Item]) -> list[Item]:
    return ordered({name: value for name, value in item.items() if name != "State#Date"} for item in items)


def is_v3(items: list[Item]) -> None:
    """All keys of version 3, and every attribute that version 1 has, as it was."""
    assert by_key(items, "DeviceID", "State#Date").keys() == by_key(V3, "DeviceID", "State#Date").keys()
    assert len(items) == 11
    assert bare(items) == ordered(V1)


KEY = {"DeviceID": {"S": "d#12345"}, "Date": {"S": "2020-04-24T14:40:00"}}


def set_state(app: App, state: str) -> None:
    app.client.update_item(
        TableName="log-v1",
        Key=KEY,
        UpdateExpression="SET #s = :s",
        ExpressionAttributeNames={"#s": "State"},
        ExpressionAttributeValues={":s": {"S": state}},
    )


def stands(project: Moving, state: str) -> None:
    """One item of the moment `KEY` on each side, in the state, and all others as they were."""
    new = project.scan("log_v3")
    (found,) = [item for item in new if all(item[name] == KEY[name] for name in KEY)]
    assert (found["State"]["S"], found["State#Date"]["S"]) == (state, f"{state}#2020-04-24T14:40:00")
    assert len(new) == 11
    assert bare(new) == project.scan("log")


def test_the_items_have_the_eleven_keys_of_version_3_in_all_phases_and_a_change_of_state_moves_the_twin(
    moving: Callable[..., Moving],
) -> None:
    project = begun(moving)
    assert project.scan("log_v3") == []
    with project.app("old", "r2", keys=OLD_KEYS) as app:
        project.advance("ready")
        is_v3(project.scan("log_v3"))
        assert (app.phase, project.scan("log")) == ("dual-write", ordered(V1))
        set_state(app, "NORMAL")
        stands(project, "NORMAL")
        project.advance("cutover")
        assert app.phase == "cutover"
        set_state(app, "WARNING4")
        stands(project, "WARNING4")
        assert app.client.get_item(TableName="log-v1", Key=KEY)["Item"] == {**KEY, "State": {"S": "WARNING4"}}
        set_state(app, "WARNING1")
    is_v3(project.scan("log_v3"))
    assert project.scan("log") == ordered(V1)
    project.advance("contract")
    is_v3(project.scan("log_v3"))
    assert project.scan("log") == []
    assert project.check().exit_code == 0


@pytest.mark.deep
def test_a_rollback_after_cutover_leaves_the_old_table_with_what_was_written_and_the_new_one_empty(
    moving: Callable[..., Moving],
) -> None:
    project = begun(moving)
    with project.app("old", "r2", keys=OLD_KEYS) as app:
        project.advance("ready", "cutover")
        assert app.phase == "cutover"
        set_state(app, "NORMAL")
        project.advance("verify", "rollback")
        assert app.phase == "expand"
    late = {**KEY, "State": {"S": "NORMAL"}}
    there = [late if all(item[name] == KEY[name] for name in KEY) else item for item in V1]
    assert project.scan("log") == ordered(there)
    assert project.scan("log_v3") == []
    project.advance("upgrade", "ready", "cutover", "contract")
    assert bare(project.scan("log_v3")) == ordered(there)
    assert project.scan("log") == []
