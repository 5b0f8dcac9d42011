"""The two indexes of version 14, whose items have their keys already."""

from migrator import AddIndex

revision, down_revision = "20200703090000", "20200601090000"

operations = [
    AddIndex("GSI1", partition_key="GSI1-PK", sort_key="GSI1-SK"),
    AddIndex("GSI2", partition_key="GSI2-PK", sort_key="GSI2-SK"),
]
