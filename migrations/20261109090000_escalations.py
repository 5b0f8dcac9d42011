"""Escalations of a responder (AP10)."""

from migrator import AddIndex

revision, down_revision = "20261109090000", "20261012090000"

operations = [
    # Sparse: only a task that was escalated has `escalatedTo`, so only those are in it.
    AddIndex("Escalations", partition_key=["tenantId", "escalatedTo"], sort_key=["createdAt", "taskId"]),
]
