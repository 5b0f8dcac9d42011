"""Open games of a map, the latest first."""

from migrator import AddIndex

revision, down_revision = "20190501090000", "20190401090000"

operations = [
    # Sparse: the application removes open_timestamp when a game is full.
    AddIndex("OpenGamesIndex", partition_key="map", sort_key="open_timestamp"),
]
