"""What was escalated to a supervisor, by state."""

from migrator import AddIndex

revision, down_revision = "20200601090000", "20200501090000"

operations = [
    # Sparse: an item that was not escalated has no EscalatedTo. The sort key is the table's own.
    AddIndex("GSI2", partition_key="EscalatedTo", sort_key="State#Date"),
]
