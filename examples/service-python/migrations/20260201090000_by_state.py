"""The sort key tells the state: so a device's alarms are one query. State changes, and then the key does."""

from migrator import RewriteKeys

revision, down_revision = "20260201090000", "20260101090000"

operations = [
    RewriteKeys(table="log", to="by_state", key={"State#Date": "{State}#{Date}"}),
]
