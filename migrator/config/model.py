"""The configuration file as read and checked, before an environment is chosen."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from migrator.config.limits import Limits
from migrator.config.patterns import FILE_NAME
from migrator.config.settings import ControlConfig, ManagedBy, Settings, TableConfig
from migrator.core.rules.policy import Policy
from migrator.errors import UsageError

VARIABLE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_TABLE_NAME = re.compile(r"[A-Za-z0-9_.-]{3,255}")


@dataclass(frozen=True, slots=True)
class NamedTable:
    """A table under its alias; `name` may hold variables, `{stage}-app`."""

    name: str
    managed_by: ManagedBy = "migrator"
    writer_region: str | None = None


@dataclass(frozen=True, slots=True)
class Control:
    """Where control records live; `name` may hold variables."""

    table: str | None = None
    name: str | None = None
    key_prefix: str = "__migrator__"
    allow_stream: bool = False


@dataclass(frozen=True, slots=True)
class Environment:
    """One [env.NAME]."""

    variables: Mapping[str, str] = field(default_factory=dict)
    endpoint_url: str | None = None
    region: str | None = None
    role_arn: str | None = None
    profile: str | None = None
    expected_account: str | None = None
    protected: bool = False
    transport: str = "boto3"
    limits: Limits = field(default_factory=Limits)
    targets: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Config:
    """The whole file."""

    path: Path
    script_location: str
    file_template: str
    default_env: str | None
    default_table: str
    tables: Mapping[str, NamedTable]
    control: Control
    environments: Mapping[str, Environment]
    lint: Policy = field(default_factory=Policy)
    every_target: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """[targets]: name -> variables, in every environment."""
    prices: str | None = None
    """A price file, relative to this one."""
    redact_keys: bool = False
    """Whether logs and messages show digests of keys instead of keys."""
    access_patterns: str | None = None
    """None: access_patterns.toml beside this file, if it is there."""

    @property
    def patterns_file(self) -> Path | None:
        """Where the access patterns stand; None where the file does not name any and has none beside it."""
        if self.access_patterns is not None:
            return self.path.parent / self.access_patterns
        usual = self.path.with_name(FILE_NAME)
        return usual if usual.is_file() else None

    def settings(self, env: str | None, variables: Mapping[str, str]) -> Settings:
        """The settings of an environment, of `default_env` when None; `variables` go before the file's own.

        Raises UsageError `no-env`, `unknown-env`, `unset-variable`, `unknown-variable`, `bad-table-name` or
        `same-table`. A variable is never taken from the process's environment: a name that happens to be exported
        on one machine must not choose the table.
        """
        chosen, environment = self._environment(env)
        self._refuse_unknown(variables, chosen, environment)
        values = {**environment.variables, **variables}
        root = self.path.parent
        control = self.control
        return Settings(
            env=chosen,
            project_root=root,
            script_location=root / self.script_location,
            file_template=self.file_template,
            default_table=self.default_table,
            tables=self._tables(values, chosen),
            control=ControlConfig(
                table=control.table,
                name=None if control.name is None else self._name(control.name, values, "control", chosen),
                key_prefix=control.key_prefix,
                allow_stream=control.allow_stream,
            ),
            endpoint_url=environment.endpoint_url,
            region=environment.region,
            role_arn=environment.role_arn,
            profile=environment.profile,
            expected_account=environment.expected_account,
            protected=environment.protected,
            transport=environment.transport,
            limits=environment.limits,
            lint=self.lint,
            prices=None if self.prices is None else root / self.prices,
            redact_keys=self.redact_keys,
            access_patterns=self.patterns_file,
        )

    def targets(self, env: str | None) -> Mapping[str, Mapping[str, str]]:
        """Name -> variables of each target of an environment: the file's, and its own, which win."""
        _, environment = self._environment(env)
        return {**self.every_target, **environment.targets}

    def variables(self, env: str | None) -> frozenset[str]:
        """The variables that `settings` takes for this environment. Raises UsageError `no-env`, `unknown-env`."""
        _, environment = self._environment(env)
        return self._known(environment)

    def _known(self, environment: Environment) -> frozenset[str]:
        names = [*(table.name for table in self.tables.values()), self.control.name or ""]
        return frozenset(environment.variables).union(*(VARIABLE.findall(name) for name in names))

    def _environment(self, env: str | None) -> tuple[str, Environment]:
        known = ", ".join(self.environments) or "none"
        chosen = env if env is not None else self.default_env
        if chosen is None:
            raise UsageError(
                "no-env",
                f"no environment was chosen, and {self.path} has no default_env (known: {known})",
                hint="choose one with -e NAME",
            )
        if chosen not in self.environments:
            near = difflib.get_close_matches(chosen, self.environments, n=1)
            raise UsageError(
                "unknown-env",
                f"{self.path} has no environment {chosen!r} (known: {known})",
                hint=f"did you mean -e {near[0]}?" if near else f"add [env.{chosen}] to it",
            )
        return chosen, self.environments[chosen]

    def _refuse_unknown(self, variables: Mapping[str, str], env: str, environment: Environment) -> None:
        """A misspelt `-x stge=test` would otherwise leave the environment's own value, and so choose another table."""
        known = self._known(environment)
        for variable in variables:
            if variable not in known:
                raise UsageError(
                    "unknown-variable",
                    f"-x {variable}=…: environment {env} and the tables of {self.path} have no such variable "
                    f"(known: {', '.join(sorted(known)) or 'none'})",
                )

    def _tables(self, values: Mapping[str, str], env: str) -> dict[str, TableConfig]:
        tables: dict[str, TableConfig] = {}
        taken: dict[str, str] = {}
        for alias, table in self.tables.items():
            name = self._name(table.name, values, f"tables.{alias}", env)
            if name in taken:
                raise UsageError(
                    "same-table",
                    f"{self.path}: in environment {env} tables.{taken[name]} and tables.{alias} are both {name!r}",
                    hint="give each alias a table of its own",
                )
            taken[name] = alias
            tables[alias] = TableConfig(name, table.managed_by, table.writer_region)
        return tables

    def _name(self, template: str, values: Mapping[str, str], where: str, env: str) -> str:
        for variable in VARIABLE.findall(template):
            if variable not in values:
                of_targets = any(variable in own for own in self.targets(env).values())
                raise UsageError(
                    "unset-variable",
                    f"{self.path}: {where}.name is {template!r}, and {variable!r} is not set in environment {env}",
                    hint=f"each target sets it: choose some with --target, or one with -x {variable}=…"
                    if of_targets
                    else f'add it to vars of [env.{env}], vars = {{ {variable} = "…" }}, or give -x {variable}=…',
                )
        name = VARIABLE.sub(lambda match: values[match[1]], template)
        if not _TABLE_NAME.fullmatch(name):
            raise UsageError(
                "bad-table-name",
                f"{self.path}: {where}.name gives {name!r} in environment {env}, which no table can be called",
                hint="3 to 255 of the characters a-z A-Z 0-9 _ . -",
            )
        return name
