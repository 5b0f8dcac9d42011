"""A rewrite by the names of tables: what the phase record, the marks of twins and the application call them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from migrator.core.rewrite.rewrite import Rewrite


def physical(rewrite: Rewrite, name: Callable[[str], str]) -> Rewrite:
    """The same rewrite, whose tables are named as the service names them; `name` gives that of an alias."""
    routes = (replace(route, source=name(route.source), target=name(route.target)) for route in rewrite.routes)
    return replace(rewrite, routes=tuple(routes))
