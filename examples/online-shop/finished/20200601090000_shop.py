"""The shop's table."""

from migrator import CreateTable

revision, down_revision = "20200601090000", None

operations = [
    CreateTable(partition_key="PK", sort_key="SK"),
]
