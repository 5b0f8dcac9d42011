"""Key rewrites at work: pairs of items that are read and written together, and the steps that go through them."""

from migrator.engine.rewriting.copying import copy_twins, drop_old_side, release_attributes, remove_twins
from migrator.engine.rewriting.passes import Rewriting, part_id
from migrator.engine.rewriting.phase import close_rewrite, enter_phase
from migrator.engine.rewriting.prepare import prepare_rewrite
from migrator.engine.rewriting.probe import await_mirror
from migrator.engine.rewriting.verify import verify_twins

__all__ = [
    "Rewriting", "await_mirror", "close_rewrite", "copy_twins", "drop_old_side", "enter_phase", "part_id",
    "prepare_rewrite", "release_attributes", "remove_twins", "verify_twins",
]  # fmt: skip
