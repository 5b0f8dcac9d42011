"""Every migration up, down and up again, with the tables compared each time."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass

from migrator.core.plan import Migration
from migrator.runner.planning import plan_migrations
from migrator.testing.kit.project import SandboxProject, succeeded
from migrator.testing.kit.sandboxes import SandboxEndpoint
from migrator.testing.kit.snapshots import Snapshot, snapshot
from migrator.testing.kit.tables import SeedOfTables, sow


@dataclass(frozen=True, slots=True)
class Walked:
    """One revision. `irreversible` says why it was not taken back, "" where it was."""

    revision: str
    message: str
    irreversible: str = ""


@dataclass(frozen=True, slots=True)
class Reversibility:
    """What `assert_reversible` did, revision by revision."""

    revisions: tuple[Walked, ...]

    @property
    def irreversible(self) -> Mapping[str, str]:
        """Revision -> why it has no way back."""
        return {one.revision: one.irreversible for one in self.revisions if one.irreversible}

    def __str__(self) -> str:
        count = len(self.revisions) - len(self.irreversible)
        lines = [f"{count} of {len(self.revisions)} revisions went up, down and up again"]
        lines += [f"not taken back: {revision}: {why}" for revision, why in self.irreversible.items()]
        return "\n".join(lines)


def assert_reversible(
    project: SandboxProject, target: str = "head", *, seeds: Mapping[str, SeedOfTables] | None = None
) -> Reversibility:
    """Take every revision up to `target` up, down and up again; definitions and items must come back as they were.

    `seeds` gives the items that are put once a revision is reached: they are what the next one meets ("base": what the
    first one meets). A revision whose plan says that it has no way back is named in the result and not taken down. One
    with a gate is taken back from the gate, and completed before the next. Branches are walked on accounts of their
    own. Raises AssertionError that names the revision and what differs.
    """
    __tracebackhide__ = True
    sown = {project.graph.find(name) if name != "base" else name: seed for name, seed in (seeds or {}).items()}
    wanted = project.graph.pending(target, ())
    found = []
    with ExitStack() as stack:
        walk = _Walk(project, sown, stack)
        for migration in wanted:
            walk.arrive_before(migration)
            found.append(Walked(migration.revision, migration.message, walk.there_and_back(migration)))
    return Reversibility(tuple(found))


class _Walk:
    """Where the walk is: a project, and the revisions that it has applied."""

    def __init__(self, project: SandboxProject, seeds: Mapping[str, SeedOfTables], stack: ExitStack):
        self.project = project
        self._seeds = seeds
        self._stack = stack
        self._applied: set[str] = set()
        self._sow("base")

    def arrive_before(self, migration: Migration) -> None:
        """Stand where exactly the ancestors of the migration are applied: then `-1` takes back it alone."""
        ancestors = self.project.graph.ancestors(migration.revision)
        if self._applied <= ancestors:
            missing = [one for one in self.project.graph.order() if one.revision in ancestors - self._applied]
        else:
            endpoint = SandboxEndpoint(self.project.account.endpoint_url)
            self.project = self.project.fresh(endpoint.new_account(self.project.account.region))
            self._stack.callback(self.project.close)
            self._applied = set()
            self._sow("base")
            missing = [one for one in self.project.graph.order() if one.revision in ancestors]
        for one in missing:
            self.project.reach(one.revision)
            self._arrived(one)

    def there_and_back(self, migration: Migration) -> str:
        """Up, down and up again, or only up: why, then."""
        __tracebackhide__ = True
        revision = migration.revision
        why = self._irreversible(migration)
        before = snapshot(self.project)
        gated = self._up(revision)
        after = snapshot(self.project)
        if not why:
            if gated:
                succeeded(self.project.rollback(revision), f"rollback of {revision}")
            else:
                succeeded(self.project.downgrade("-1"), f"downgrade of {revision}")
            self._same(before, f"after revision {revision} was taken back")
            gated = self._up(revision)
            self._same(after, f"after revision {revision} was applied a second time")
        if gated:
            succeeded(self.project.contract(revision), f"contract of {revision}")
        self._arrived(migration)
        return why

    def _up(self, revision: str) -> bool:
        """Apply it; whether it stands at its gate."""
        __tracebackhide__ = True
        result = self.project.upgrade(revision)
        succeeded(result, f"upgrade to {revision}", "at-gate")
        return result.state == "at-gate"

    def _irreversible(self, migration: Migration) -> str:
        with self.project.runner(read_only=True) as runner:
            (planned,) = plan_migrations(runner.session, [migration])
        return "; ".join(planned.irreversible)

    def _same(self, wanted: Snapshot, when: str) -> None:
        __tracebackhide__ = True
        different = snapshot(self.project).differences(wanted)
        if different:
            raise AssertionError("\n  ".join([f"{when}:", *different]))

    def _arrived(self, migration: Migration) -> None:
        self._applied.add(migration.revision)
        self._sow(migration.revision)

    def _sow(self, moment: str) -> None:
        if moment in self._seeds:
            sow(self.project, self._seeds[moment])
