"""What an application imports while its keys are being rewritten: the phase, and a client that follows it."""

from migrator.runtime.client import RewritingClient, UnsupportedCall
from migrator.runtime.errors import KeyCollision, KeyUnknown, NotExpressible, PageMoved, PhaseUnknown, WrongForm
from migrator.runtime.mirroring import stream_handler
from migrator.runtime.reader import PhaseReader

__all__ = [
    "KeyCollision",
    "KeyUnknown",
    "NotExpressible",
    "PageMoved",
    "PhaseReader",
    "PhaseUnknown",
    "RewritingClient",
    "UnsupportedCall",
    "WrongForm",
    "stream_handler",
]
