"""The operations that a migration file lists: frozen values with a pure `lint` and a pure `plan`.

To add one: its file here, a line in ALL and in `migrator/__init__.py`, its tests and its page in docs/operations.
"""

from __future__ import annotations

from migrator.core.plan import Operation
from migrator.operations.add_index import AddIndex
from migrator.operations.backfill import Backfill
from migrator.operations.claim_unique import ClaimUnique
from migrator.operations.copy_table import CopyTable
from migrator.operations.create_table import CreateTable
from migrator.operations.delete_items import DeleteItems
from migrator.operations.drop_index import DropIndex
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

ALL: tuple[type[Operation], ...] = (
    CreateTable,
    AddIndex,
    DropIndex,
    UpdateIndex,
    Backfill,
    RemoveAttributes,
    RenameAttribute,
    PutItems,
    DeleteItems,
    RebuildCounter,
    RewriteKeys,
    CopyTable,
    ReplaceIndex,
    ClaimUnique,
    SplitItem,
    RunPython,
    SetTimeToLive,
    SetStream,
    SetPointInTimeRecovery,
    SetDeletionProtection,
    SetBillingMode,
)
