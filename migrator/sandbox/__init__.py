"""The embedded DynamoDB: an engine on a loopback port, with the states and refusals of the real service."""

from __future__ import annotations

from migrator.sandbox.clients import open_client
from migrator.sandbox.clock import Clock, ManualClock, WallClock
from migrator.sandbox.detached import start_detached, status, stop
from migrator.sandbox.faults import Spec, Told, add_fault, clear_faults, list_faults, read_file, read_spec
from migrator.sandbox.interception import Interception, Logged
from migrator.sandbox.layer import Proceed, Rule
from migrator.sandbox.sandbox import Sandbox
from migrator.sandbox.serving import Info, reset, serve
from migrator.sandbox.wire import Drop, Reply, Request, Response

__all__ = [
    "Clock",
    "Drop",
    "Info",
    "Interception",
    "Logged",
    "ManualClock",
    "Proceed",
    "Reply",
    "Request",
    "Response",
    "Rule",
    "Sandbox",
    "Spec",
    "Told",
    "WallClock",
    "add_fault",
    "clear_faults",
    "list_faults",
    "open_client",
    "read_file",
    "read_spec",
    "reset",
    "serve",
    "start_detached",
    "status",
    "stop",
]
