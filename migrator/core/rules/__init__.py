"""Rules over several operations: what each may do alone and a reviewer should see in their sum.

Rules see plans, never a table: what needs live items belongs to `plan`. To add one: its file here, a line in RULES,
its tests, and its heading in docs/lint/rules.md. An operation's own findings are in `migrator/operations`.
"""

from __future__ import annotations

from migrator.core.rules import (
    control_records_in_stream,
    destructive_without_journal,
    drop_not_retired,
    index_before_backfill,
    index_recreated,
    index_write_capacity,
    irreversible_step,
    item_near_limit,
    local_time,
    low_cardinality_partition_key,
    managed_elsewhere,
    pattern_broken,
    projection_all,
    recovery_off_before_destructive,
    reserved_key_prefix,
    rewrite_not_alone,
    several_index_changes,
    stream_consumers,
    template_ambiguity,
    ttl_milliseconds,
    unconditional_transform,
    unpadded_number,
    wide_projection,
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
    wide_projection.RULE,
    low_cardinality_partition_key.RULE,
    managed_elsewhere.RULE,
    unconditional_transform.RULE,
    irreversible_step.RULE,
    destructive_without_journal.RULE,
    recovery_off_before_destructive.RULE,
    stream_consumers.RULE,
    control_records_in_stream.RULE,
    reserved_key_prefix.RULE,
    template_ambiguity.RULE,
    item_near_limit.RULE,
    unpadded_number.RULE,
    local_time.RULE,
    ttl_milliseconds.RULE,
    rewrite_not_alone.RULE,
)
