"""What devices report, by device and date."""

from migrator import CreateTable

revision, down_revision = "20260101090000", None

operations = [
    CreateTable(partition_key="DeviceID", sort_key="Date", table="log"),
    CreateTable(partition_key="DeviceID", sort_key="State#Date", table="by_state"),
]
