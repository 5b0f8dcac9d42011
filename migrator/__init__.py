"""Schema migrations and index evolution for Amazon DynamoDB: the names that a migration file imports."""

from __future__ import annotations

from migrator.core.schema import B, N
from migrator.core.view import ItemView, Lookup
from migrator.core.where import Absent, BeginsWith, Exists, OneOf
from migrator.operations.add_index import AddIndex
from migrator.operations.backfill import Backfill
from migrator.operations.claim_unique import ClaimUnique
from migrator.operations.copy_table import CopyTable
from migrator.operations.create_table import CreateTable
from migrator.operations.delete_items import DeleteItems
from migrator.operations.drop_index import DropIndex
from migrator.operations.index_spec import Index
from migrator.operations.put_items import PutItems
from migrator.operations.rebuild_counter import RebuildCounter
from migrator.operations.remove_attributes import RemoveAttributes
from migrator.operations.rename_attribute import RenameAttribute
from migrator.operations.replace_index import ReplaceIndex
from migrator.operations.rewrite_keys import RewriteKeys
from migrator.operations.run_python import RunPython
from migrator.operations.set_billing_mode import SetBillingMode
from migrator.operations.set_deletion_protection import SetDeletionProtection
from migrator.operations.set_point_in_time_recovery import SetPointInTimeRecovery
from migrator.operations.set_stream import SetStream
from migrator.operations.set_time_to_live import SetTimeToLive
from migrator.operations.split_item import SplitItem
from migrator.operations.update_index import UpdateIndex

__all__ = [
    "Absent",
    "AddIndex",
    "B",
    "Backfill",
    "BeginsWith",
    "ClaimUnique",
    "CopyTable",
    "CreateTable",
    "DeleteItems",
    "DropIndex",
    "Exists",
    "Index",
    "ItemView",
    "Lookup",
    "N",
    "OneOf",
    "PutItems",
    "RebuildCounter",
    "RemoveAttributes",
    "RenameAttribute",
    "ReplaceIndex",
    "RewriteKeys",
    "RunPython",
    "SetBillingMode",
    "SetDeletionProtection",
    "SetPointInTimeRecovery",
    "SetStream",
    "SetTimeToLive",
    "SplitItem",
    "UpdateIndex",
]
