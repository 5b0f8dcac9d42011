"""What the runtime says where it can neither do what was asked nor let it pass."""

from __future__ import annotations

from migrator.core.item import Key, key_text
from migrator.errors import MigratorError


class PhaseUnknown(MigratorError):
    """The phase could not be read within a lease: nothing was sent, for it might go to a side that nobody reads."""

    def __init__(self, message: str):
        super().__init__(
            "phase-unknown",
            message,
            hint="allow dynamodb:GetItem on the control table, and look at its throttling and at the network",
        )


class NotExpressible(MigratorError):
    """The call cannot be kept on both sides: nothing was sent."""

    def __init__(self, message: str, hint: str | None = None):
        super().__init__("not-expressible", message, hint=hint or "see docs/runtime.md for what can be said instead")


class WrongForm(MigratorError):
    """The item or key is of the other form than the one that this client speaks: nothing was sent."""

    def __init__(self, table: str, key: Key, form: str):
        super().__init__(
            "wrong-form",
            f"{table} {key_text(key)} is not of the {form} form, which this client speaks; nothing was sent",
            hint="one client speaks one form through all phases: old code the old one, new code the new one",
        )


class KeyUnknown(MigratorError):
    """Where the item stands on the side that decides cannot be told from its key: nothing was sent."""

    def __init__(self, table: str, key: Key, why: str):
        super().__init__(
            "key-unknown",
            f"{table} {key_text(key)}: {why}; nothing was sent",
            hint="put code of the new form to work when dual-write is verified, and take that of the old form out of "
            "work before contract",
        )


class KeyCollision(MigratorError):
    """Another item's twin, or an item of its own, stands where this one's belongs: nothing was written."""

    def __init__(self, table: str, key: Key, rival: str):
        super().__init__(
            "key-collision",
            f"{table} {key_text(key)} is taken by {rival}; nothing was written",
            hint="two items would have one key: give one of them other attributes, or delete it",
        )


class PageMoved(MigratorError):
    """The listing was begun on a side that is no longer kept."""

    def __init__(self) -> None:
        super().__init__(
            "page-moved",
            "ExclusiveStartKey is of a side that this phase does not keep: the listing cannot be continued",
            hint="begin the query or scan again, without ExclusiveStartKey",
        )


class StanceExpired(Exception):
    """The lease of what a call knows of the phase ran out: it may not send any more under it."""
