"""A shipment's warehouse becomes the partition key of GSI2."""

from migrator import RenameAttribute

revision, down_revision = "20200701090000", "20200601090000"

operations = [
    # Copies, then waits at a gate until no application reads WarehouseId any more.
    RenameAttribute("WarehouseId", "GSI2-PK", where={"EntityType": "shipment"}),
]
