"""migrations/*.py -> a Graph; and new files: revisions, merges, a first draft from a live table."""

from __future__ import annotations

from migrator.loader.checksum import CHECKSUM_VERSION, checksum, same_version
from migrator.loader.draft import draft_from_table
from migrator.loader.draft_changes import Drafted, draft_stage
from migrator.loader.facets import drafted_patterns
from migrator.loader.load import load
from migrator.loader.repair import Repair, repair_source
from migrator.loader.source import literal_revision
from migrator.loader.write import new_revision_id, slug_of, write_merge, write_revision

__all__ = [
    "CHECKSUM_VERSION",
    "Drafted",
    "Repair",
    "checksum",
    "draft_from_table",
    "draft_stage",
    "drafted_patterns",
    "literal_revision",
    "load",
    "new_revision_id",
    "repair_source",
    "same_version",
    "slug_of",
    "write_merge",
    "write_revision",
]
