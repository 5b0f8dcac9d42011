"""The two indexes, built once the items have their keys."""

from migrator import AddIndex

revision, down_revision = "20200703090000", "20200702090000"

# One after the other: DynamoDB builds one index of a table at a time.
operations = [
    AddIndex("GSI1", partition_key="GSI1-PK", sort_key="GSI1-SK"),
    AddIndex("GSI2", partition_key="GSI2-PK", sort_key="GSI2-SK"),
]
