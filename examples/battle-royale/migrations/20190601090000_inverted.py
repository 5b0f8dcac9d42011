"""Games of a player: the table's key, turned around."""

from migrator import AddIndex

revision, down_revision = "20190601090000", "20190501090000"

operations = [
    AddIndex("InvertedIndex", partition_key="SK", sort_key="PK"),
]
