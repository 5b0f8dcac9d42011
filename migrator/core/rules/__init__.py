"""Rules over several operations: what each may do alone and a reviewer should see in their sum.

Rules see plans, never a table: what needs live items belongs to `plan`. To add one: its file here, a line in RULES,
its tests, and its heading in docs/lint/rules.md. An operation's own findings are in `migrator/operations`.
"""

from __future__ import annotations

from migrator.core.rules import (
    destructive_without_journal,
    drop_not_retired,
    index_before_backfill,
    index_recreated,
    index_write_capacity,
    irreversible_step,
    local_time,
    managed_elsewhere,
    pattern_broken,
    projection_all,
    reserved_key_prefix,
    several_index_changes,
    ttl_milliseconds,
    unpadded_number,
)
from migrator.core.rules.rule import Rule

RULES: tuple[Rule, ...] = (
    several_index_changes.RULE,
    pattern_broken.RULE,
    drop_not_retired.RULE,
    index_recreated.RULE,
    index_before_backfill.RULE,
    index_write_capacity.RULE,
    projection_all.RULE,
    managed_elsewhere.RULE,
    irreversible_step.RULE,
    destructive_without_journal.RULE,
    reserved_key_prefix.RULE,
    unpadded_number.RULE,
    local_time.RULE,
    ttl_milliseconds.RULE,
)
