"""Faults of production on demand: throttles, lost answers, conflicts, expired credentials and their like."""

from __future__ import annotations

from migrator.sandbox.faults.admin import add_fault, clear_faults, list_faults
from migrator.sandbox.faults.file import read_file
from migrator.sandbox.faults.layer import Faults, Told
from migrator.sandbox.faults.match import Match
from migrator.sandbox.faults.spec import KINDS, BadFault, Spec, read_spec
from migrator.sandbox.faults.switch import FaultSwitch

__all__ = [
    "KINDS",
    "BadFault",
    "FaultSwitch",
    "Faults",
    "Match",
    "Spec",
    "Told",
    "add_fault",
    "clear_faults",
    "list_faults",
    "read_file",
    "read_spec",
]
