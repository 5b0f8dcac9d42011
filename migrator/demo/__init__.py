"""`migrator demo`: a real data model migrated in a sandbox of its own, with a run killed on the way."""

from __future__ import annotations

from migrator.demo.story import run

__all__ = ["run"]
