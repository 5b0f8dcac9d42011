"""The help desk: tickets of a team, in the order of their numbers."""

from migrator import CreateTable

revision, down_revision = "20260901090000", None

operations = [CreateTable(partition_key="PK", sort_key="SK")]
