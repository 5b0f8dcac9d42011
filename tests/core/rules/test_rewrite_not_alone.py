"""A revision holds one rewrite, and nothing else that changes the items it moves."""

from __future__ import annotations

from migrator import Backfill, ClaimUnique, CopyTable, DeleteItems, PutItems, RebuildCounter, RewriteKeys
from migrator.core.rules import rewrite_not_alone
from tests.core.rules.files import TABLE, says, told

RULE = rewrite_not_alone.RULE
REWRITE = RewriteKeys(key={"SK": "T#{id}"}, old={"SK": "TASK#{id}"}, readers="runtime")
CLAIM = ClaimUnique(where={"entity": "User"}, key={"PK": "EMAIL#{email}", "SK": "EMAIL"})
COPY = CopyTable("app", "other", key={"PK": "V2#{PK}"})
BACKFILL = Backfill(set={"k": "{a}"})


def test_a_rewrite_by_itself_and_one_file_after_the_other_are_left_alone() -> None:
    assert says(RULE, [REWRITE]) == []
    assert says(RULE, [TABLE, REWRITE]) == []
    assert says(RULE, [BACKFILL], [REWRITE], [CLAIM], [BACKFILL]) == []


def test_a_second_rewrite_of_a_file_is_refused_whatever_its_table() -> None:
    assert says(RULE, [REWRITE, CLAIM]) == [("001", 1)]
    assert says(RULE, [CLAIM, COPY, REWRITE]) == [("001", 1), ("001", 2)]
    ((_, _, message),) = told(RULE, [REWRITE, CLAIM])
    assert message.startswith("RewriteKeys and ClaimUnique in one revision")


def test_what_changes_items_of_a_rewritten_table_is_refused_before_and_behind_it() -> None:
    counter = RebuildCounter("n", where={"SK": "META"}, count={})
    for one in (BACKFILL, DeleteItems({"entity": "Draft"}), PutItems([{"PK": "a", "SK": "b"}]), counter):
        assert says(RULE, [REWRITE, one]) == [("001", 1)]
        assert says(RULE, [one, REWRITE]) == [("001", 0)]
