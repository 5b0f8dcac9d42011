"""The table, with its relationships (AP1 to AP7, AP9)."""

from migrator import CreateTable, Index

revision, down_revision = "20261005090000", None

operations = [
    CreateTable(
        partition_key="PK",
        sort_key="SK",
        # Overloaded: projects of a tenant and projects of a user are both read from it (AP2, AP6).
        indexes=[Index("Relationships", partition_key="GSI1PK", sort_key="GSI1SK")],
    ),
]
