"""The shop's table, as it was at version 9: no index."""

from migrator import CreateTable

revision, down_revision = "20200601090000", None

operations = [
    CreateTable(partition_key="PK", sort_key="SK", point_in_time_recovery=True),
]
