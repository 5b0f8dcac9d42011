"""Project names on members (AP6)."""

from migrator import Backfill, ItemView, Lookup

revision, down_revision = "20261116090000", "20261109090000"


# Without it, listing a user's projects by name takes a second read for each of them.
def name_of_project(member: ItemView, lookup: Lookup) -> dict[str, str]:
    """The project stands beside its members, in the same item collection."""
    project = lookup.get({"PK": member["PK"], "SK": "META"})
    return {} if project is None else {"projectName": project["name"]}


operations = [
    Backfill(where={"entity": "Member"}, transform=name_of_project),
]
