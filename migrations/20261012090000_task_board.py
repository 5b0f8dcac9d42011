"""Task board: tasks by status and date (AP8)."""

from migrator import AddIndex

revision, down_revision = "20261012090000", "20261005090000"

operations = [
    # Keys of several attributes: the items need no attribute that exists for the index alone.
    AddIndex(
        "TaskBoard",
        partition_key=["tenantId", "projectId"],
        sort_key=["status", "createdAt", "taskId"],
    ),
]
