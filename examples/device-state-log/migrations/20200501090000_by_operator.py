"""What an operator handled between two dates."""

from migrator import AddIndex

revision, down_revision = "20200501090000", "20200401090000"

operations = [
    AddIndex("GSI1", partition_key="Operator", sort_key="Date"),
]
