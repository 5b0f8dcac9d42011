"""Players, games, and who plays in which."""

from migrator import CreateTable

revision, down_revision = "20190401090000", None

operations = [
    CreateTable(partition_key="PK", sort_key="SK"),
]
