"""Many targets of one environment: the same tables once for each tenant or stage, told apart by variables."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from migrator.config.model import Config
from migrator.config.settings import Settings
from migrator.errors import UsageError


@dataclass(frozen=True, slots=True)
class Target:
    """One of them: its name in the configuration, and the settings that its variables give."""

    name: str
    settings: Settings


def chosen_targets(
    config: Config, env: str | None, variables: Mapping[str, str], patterns: Sequence[str]
) -> tuple[Target, ...]:
    """The targets that the patterns name, in the order of the file; `variables` go before their own.

    Raises UsageError `no-targets`, `unknown-target`, `targets-share-a-table`, and what `Config.settings` raises.
    """
    known = config.targets(env)
    if not known:
        raise UsageError(
            "no-targets",
            f"{config.path} has no [targets] for this environment",
            hint='[targets] acme = { tenant = "acme" }, and the variable in the names of tables',
        )
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in known):
            near = difflib.get_close_matches(pattern, known, n=1)
            raise UsageError(
                "unknown-target",
                f"no target is called {pattern!r}, or like it (known: {_listed(known)})",
                hint=f"did you mean --target {near[0]}?" if near else "--target '*' is all of them",
            )
    found = [name for name in known if any(fnmatchcase(name, pattern) for pattern in patterns)]
    # All of them are looked at, the chosen ones are not enough: two that share a history are wrong whoever is chosen.
    every = {name: config.settings(env, {**own, **variables}) for name, own in known.items()}
    _refuse_shared(config, every)
    return tuple(Target(name, every[name]) for name in found)


def _refuse_shared(config: Config, every: Mapping[str, Settings]) -> None:
    """One history and one lock a target: no table of one may be another's."""
    taken: dict[str, tuple[str, str]] = {}
    for target, settings in every.items():
        names = {f"tables.{alias}": table.name for alias, table in settings.tables.items()}
        if settings.control.name is not None:
            names["control"] = settings.control.name
        for place, name in names.items():
            other = taken.setdefault(name, (target, place))
            if other[0] != target:
                raise UsageError(
                    "targets-share-a-table",
                    f"{config.path}: {place} of target {target} and {other[1]} of target {other[0]} are both {name!r}",
                    hint=f"put a variable of the targets into {place}.name: each has a history and a lock of its own",
                )


def _listed(names: Iterable[str]) -> str:
    first = list(names)
    return ", ".join(first[:10]) + (f" and {len(first) - 10} more" if len(first) > 10 else "")
