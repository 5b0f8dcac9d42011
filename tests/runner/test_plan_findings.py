"""What a plan says of the pending set as a whole, and that it stops nothing."""

from __future__ import annotations

from dataclasses import replace

from migrator.core.places import Allowance, Place
from migrator.operations import AddIndex, Backfill, DropIndex
from tests.simulation.world import Site, chain, migration, person

FIRST = migration("001", AddIndex("ByTeam", partition_key="team"))
SECOND = migration("002", AddIndex("ByClub", partition_key="club"))
THIRD = migration("003", Backfill(set={"club": "C#{team}"}))
DROP = migration("004", DropIndex("ByTeam"))


def found(site: Site) -> dict[str, list[str]]:
    """Revision -> the rules that the plan shows."""
    result = site.runner().plan(from_base=True)
    assert (result.state, result.exit_code) == ("pending", 0)
    return {one.revision: [finding.rule for finding in one.findings] for one in result.revisions}


def test_the_pending_set_is_one_release() -> None:
    site = Site(chain(FIRST, SECOND, THIRD)).with_table(person(1))
    assert found(site) == {"001": [], "002": ["several-index-changes"], "003": ["index-before-backfill"]}
    assert site.runner().upgrade(from_base=True).state == "applied"


def test_what_is_applied_is_known_and_not_judged_again() -> None:
    site = Site(chain(FIRST, SECOND)).with_table(person(1))
    site.runner().upgrade(from_base=True)
    site.migrations = chain(FIRST, SECOND, THIRD, DROP)
    # ByClub came after ByTeam in an earlier file: it may replace it.
    assert found(site) == {"003": ["index-before-backfill"], "004": []}


def test_what_a_comment_allows_is_not_shown() -> None:
    quiet = replace(
        THIRD, places=(Place(5, 5),), allowances=(Allowance(5, 5, ("index-before-backfill",), "nobody reads it yet"),)
    )
    site = Site(chain(SECOND, quiet)).with_table(person(1))
    assert found(site) == {"002": [], "003": []}
