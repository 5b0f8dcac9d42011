"""Table settings and tables converge: set what differs, remember what was, wait until it shows."""

from __future__ import annotations

from contextlib import suppress

from migrator.control.history import setting_object, table_object
from migrator.core.ports import Busy, LiveTable
from migrator.core.schema import Table, differences
from migrator.core.settings import BillingMode, Setting
from migrator.core.steps import ChangeSetting, CreateTable
from migrator.core.wire_schema import setting_from_json, setting_to_json
from migrator.engine.work import StepOutcome, Work
from migrator.errors import AnswerLost, MigratorError


def change_setting(work: Work, step: ChangeSetting) -> StepOutcome:
    """Set it unless it is so already; what was before goes into the record first."""
    alias = work.schema.alias(step.table)
    name = setting_object(alias, step.setting.name)
    before = work.tables.setting(work.name(alias), type(step.setting))
    if work.ledger.object(name) is None:
        fate = "adopted" if before == step.setting else "changed"
        work.ledger.note_object(name, fate=fate, intent=True, previous=setting_to_json(before))
    outcome = _set(work, alias, step.setting)
    work.ledger.note_object(name, intent=False)
    return outcome


def restore_setting(work: Work, alias: str, setting: str) -> StepOutcome:
    """Put the setting back to what it was, which need not be "off"."""
    alias = work.schema.alias(alias)
    recorded = work.ledger.object(setting_object(alias, setting))
    if recorded is None or recorded["fate"] == "adopted":
        return StepOutcome(f"left alone: this revision did not change {setting}")
    return _set(work, alias, setting_from_json(recorded["previous"]))


def _set(work: Work, alias: str, wanted: Setting) -> StepOutcome:
    table = work.name(alias)
    began = work.clock.monotonic()
    sent = False

    def wait(reason: str) -> None:
        if work.wait_timeout is not None and work.clock.monotonic() - began >= work.wait_timeout:
            raise MigratorError(
                "setting-pending",
                f"{table}: {wanted} is not in force after {work.wait_timeout:.0f} s ({reason})",
                hint="run the same command again: it goes on waiting",
                exit_code=5,
            )
        work.wait(work.limits.poll_interval, reason)

    while True:
        live = work.live(alias)
        if live.status == "ACTIVE" and _is_set(work.tables.setting(table, type(wanted)), wanted):
            return StepOutcome(f"{wanted}" if sent else f"already so: {wanted}")
        if sent or live.status != "ACTIVE":
            wait(f"table {table} is {live.status}: {wanted}")
            continue
        try:
            work.lease.check()
            work.tables.change_setting(table, wanted)
            sent = True
        except (Busy, AnswerLost) as exc:
            wait(exc.message)


def _is_set(live: Setting, wanted: Setting) -> bool:
    if not (isinstance(live, BillingMode) and isinstance(wanted, BillingMode)):
        return live == wanted
    if wanted.mode == "PAY_PER_REQUEST" or live.mode != wanted.mode:
        return live.mode == wanted.mode
    # What the setting does not name (an index, say) may be what it is.
    units = dict(live.indexes)
    return wanted.table in (None, live.table) and all(units.get(name) == one for name, one in wanted.indexes)


def create_table(work: Work, step: CreateTable) -> StepOutcome:
    """Create the table, or adopt one that is equal. It runs before the lock where the lock would live in it."""
    alias = work.schema.alias(step.table)
    name = table_object(alias)
    live = work.tables.describe(work.name(alias))
    recorded = work.ledger.object(name)
    if live is not None:
        refuse_other_table(live, step.shape)
        if recorded is None:
            fate = "created" if alias in work.created_tables else "adopted"
            work.ledger.note_object(name, fate=fate, intent=False, previous=None)
    else:
        work.ledger.note_object(name, fate="created", intent=True, previous=None)
    sent = False
    while live is None or live.status != "ACTIVE":
        if live is None and not sent:
            # Of a lost answer the table itself tells what became of it.
            with suppress(AnswerLost):
                with suppress(Busy):
                    work.tables.create(work.name(alias), step.shape, step.settings)
                sent = True
        live = work.tables.describe(work.name(alias))
        if live is None or live.status != "ACTIVE":
            work.wait(min(2.0, work.limits.poll_interval), f"table {work.name(alias)} is being created")
    work.ledger.note_object(name, intent=False)
    for setting in step.settings:
        change_setting(work, ChangeSetting(alias, setting))
    is_ours = (work.ledger.object(name) or {}).get("fate") == "created"
    return StepOutcome("created" if is_ours else "adopted: the table was there already, and equal")


def refuse_other_table(live: LiveTable, wanted: Table) -> None:
    """Raises `table-differs` where the live table's keys, or an index of the wanted one, are others."""
    lines = []
    if live.shape.key != wanted.key:
        lines.append(f"key: live ({', '.join(map(str, live.shape.key))}), wanted ({', '.join(map(str, wanted.key))})")
    for name, index in wanted.indexes.items():
        found = live.indexes.get(name)
        if found is None:
            lines.append(f"index {name}: live none")
        else:
            lines += [f"index {name} {line}" for line in differences(found.definition, index, wanted.key_names)]
    if lines:
        raise MigratorError(
            "table-differs",
            f"table {live.name} exists with another shape: " + "; ".join(lines),
            hint="adopt it as it is: `migrator init --from-table`, then `migrator stamp`",
            exit_code=3,
        )
