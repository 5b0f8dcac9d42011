"""The embedded DynamoDB: an engine on a loopback port, with the states and refusals of the real service."""

from __future__ import annotations

from migrator.sandbox.clock import Clock, ManualClock, WallClock
from migrator.sandbox.interception import Interception, Logged
from migrator.sandbox.sandbox import Sandbox
from migrator.sandbox.wire import Drop, Reply, Request, Response

__all__ = [
    "Clock",
    "Drop",
    "Interception",
    "Logged",
    "ManualClock",
    "Reply",
    "Request",
    "Response",
    "Sandbox",
    "WallClock",
]
