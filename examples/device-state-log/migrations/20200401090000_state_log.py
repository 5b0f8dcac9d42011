"""The log of device states, read by device."""

from migrator import CreateTable

revision, down_revision = "20200401090000", None

operations = [
    CreateTable(partition_key="DeviceID", sort_key="State#Date"),
]
