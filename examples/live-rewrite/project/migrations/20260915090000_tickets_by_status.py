"""Tickets of a team by status, so that one query reads those that are open."""

from migrator import BeginsWith, RewriteKeys

revision, down_revision = "20260915090000", "20260901090000"

operations = [
    RewriteKeys(
        where={"SK": BeginsWith("TICKET#")},
        old={"SK": "TICKET#{number}"},
        key={"SK": "STATUS#{status}#{number}"},
        readers="runtime",
    ),
]
