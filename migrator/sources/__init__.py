"""Tables in the words of other tools: templates, plans and models. Pure: text to declared tables, and back."""

from __future__ import annotations

from migrator.sources.read import read_source
from migrator.sources.to_cloudformation import to_cloudformation
from migrator.sources.to_terraform import to_terraform

__all__ = ["read_source", "to_cloudformation", "to_terraform"]
