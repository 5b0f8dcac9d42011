"""From the parsed TOML to a Config: which keys there are, and what each may be."""

from __future__ import annotations

import difflib
import ipaddress
import re
import string
from dataclasses import replace
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from migrator.config.keys import Section
from migrator.config.limits import CriticalLoad, Limits, parse_budget, parse_duration
from migrator.config.model import VARIABLE, Config, Control, Environment, NamedTable
from migrator.config.settings import MANAGERS, ManagedBy
from migrator.core.findings import Severity
from migrator.core.rules.known import KNOWN
from migrator.core.rules.policy import Policy

_TARGET_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
TRANSPORTS = ("boto3", "fast")

_FILE_KEYS = (
    "script_location", "file_template", "default_env", "default_table", "tables", "control", "lint", "targets", "env",
    "prices", "access_patterns", "redact_keys",
)  # fmt: skip
_ENV_KEYS = (
    "endpoint_url", "region", "role_arn", "profile", "expected_account", "protected", "transport", "vars", "limits",
    "targets",
)  # fmt: skip
_LIMIT_KEYS = (
    "write_units", "read_units", "max_failures", "lock_timeout", "lease", "wait_timeout", "poll_interval",
    "settle_time", "reader_lease", "attempt_time", "workers", "segments", "critical_load",
)  # fmt: skip
_LINT_KEYS = ("start_after", "disable", "severity")


def read_config(path: Path, entries: dict[str, Any], way: tuple[str, ...] = ()) -> Config:
    """The Config that these entries of the file are; `way` leads to them. Raises UsageError `bad-config`."""
    top = Section(path, way, entries)
    top.only(_FILE_KEYS)
    tables = {alias: _table(section) for alias, section in top.section("tables").sections().items()}
    environments = {name: _environment(section) for name, section in top.section("env").sections().items()}
    default_table, default_env = top.text("default_table"), top.text("default_env")
    if default_table is not None and default_table not in tables:
        raise top.bad("default_table", f"there is no [tables.{default_table}]", _known(tables))
    control = _control(top.section("control"), tables)
    if default_env is not None and default_env not in environments:
        raise top.bad("default_env", f"there is no [env.{default_env}]", _known(environments))
    names = [*(table.name for table in tables.values()), control.name or ""]
    known = frozenset(variable for name in names for variable in VARIABLE.findall(name))
    return Config(
        path=path,
        script_location=top.text("script_location") or "migrations",
        file_template=_file_template(top),
        default_env=default_env,
        default_table=default_table or "",
        tables=tables,
        control=control,
        environments={
            name: replace(one, targets=_targets(top.section("env").section(name).section("targets"), known))
            for name, one in environments.items()
        },
        lint=_lint(top.section("lint")),
        prices=top.text("prices"),
        redact_keys=top.flag("redact_keys"),
        access_patterns=top.text("access_patterns"),
        every_target=_targets(top.section("targets"), known),
    )


def _targets(section: Section, known: frozenset[str]) -> dict[str, dict[str, str]]:
    """Name -> variables. A name goes into names of files, a variable has to be in the name of a table."""
    found = {}
    for name in section.entries:
        if not _TARGET_NAME.fullmatch(name):
            raise section.bad(name, "a target's name has 1 to 100 of the characters a-z A-Z 0-9 _ . -")
        found[name] = section.texts(name)
        for variable in found[name]:
            if variable not in known:
                raise section.section(name).bad(
                    variable, "no table's name has this variable", f"known: {', '.join(sorted(known)) or 'none'}"
                )
    return found


def is_loopback(endpoint_url: str | None) -> bool:
    """Whether the endpoint is on this machine: an emulator, where nothing takes minutes."""
    host = urlsplit(endpoint_url).hostname if endpoint_url else None
    if host is None:
        return False
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _known(names: dict[str, Any]) -> str:
    return f"known: {', '.join(names) or 'none'}"


def _file_template(top: Section) -> str:
    template = top.text("file_template") or "{rev}_{slug}"
    try:
        # A format or a conversion counts as part of the name: `{rev:>99}` names nothing that may stand here.
        fields = {
            field + (f"!{conversion}" if conversion else "") + (f":{form}" if form else "")
            for _, field, form, conversion in string.Formatter().parse(template)
            if field is not None
        }
    except ValueError as exc:
        raise top.bad("file_template", f"{template!r}: {exc}") from exc
    if not fields <= {"rev", "slug"} or not fields:
        raise top.bad("file_template", f"{template!r}: it holds {{rev}}, {{slug}} or both, and nothing else in braces")
    if "/" in template or "\\" in template or template.startswith((".", "_")):
        raise top.bad("file_template", f"{template!r}: a file name, not a path, and not one that begins with . or _")
    return template


def _table(section: Section) -> NamedTable:
    section.only(("name", "managed_by", "writer_region"))
    name = section.text("name")
    if name is None:
        raise section.bad("name", "missing: the table's name in DynamoDB", 'for example name = "{stage}-app"')
    return NamedTable(
        _checked_template(section, name),
        cast(ManagedBy, section.choice("managed_by", MANAGERS, "migrator")),
        section.text("writer_region"),
    )


def _checked_template(section: Section, name: str) -> str:
    if set(VARIABLE.sub("", name)) & {"{", "}"}:
        raise section.bad("name", f"{name!r}: braces hold the name of a variable, as in {{stage}}")
    return name


def _control(section: Section, tables: dict[str, NamedTable]) -> Control:
    section.only(("table", "name", "key_prefix", "allow_stream"))
    table, name = section.text("table"), section.text("name")
    if table is not None and name is not None:
        raise section.bad("name", "give either table (an alias) or name (of a table in DynamoDB), not both")
    if table is not None and table not in tables:
        raise section.bad("table", f"there is no [tables.{table}]", _known(tables))
    return Control(
        table=table,
        name=None if name is None else _checked_template(section, name),
        key_prefix=section.text("key_prefix") or "__migrator__",
        allow_stream=section.flag("allow_stream"),
    )


def _lint(section: Section) -> Policy:
    section.only(_LINT_KEYS)
    disabled = section.names("disable")
    for rule in disabled:
        if rule not in KNOWN:
            raise section.bad("disable", f"no rule is called {rule!r}", _near(rule))
    grades = section.section("severity")
    severities = {}
    for rule in grades.entries:
        if rule not in KNOWN:
            raise grades.bad(rule, "no rule is called so", _near(rule))
        severities[rule] = Severity(grades.choice(rule, tuple(Severity), Severity.WARNING))
    return Policy(section.text("start_after"), frozenset(disabled), severities)


def _near(rule: str) -> str:
    near = difflib.get_close_matches(rule, KNOWN, n=1)
    return f"did you mean {near[0]}?" if near else "docs/lint/rules.md lists them"


def _environment(section: Section) -> Environment:
    section.only(_ENV_KEYS)
    endpoint_url = section.text("endpoint_url")
    if endpoint_url is not None and not _is_web_address(endpoint_url):
        raise section.bad("endpoint_url", f"{endpoint_url!r} is not an address such as http://127.0.0.1:4566")
    account = section.text("expected_account")
    if account is not None and not (len(account) == 12 and account.isascii() and account.isdigit()):
        raise section.bad("expected_account", f"{account!r} is not an account id of 12 digits")
    role = section.text("role_arn")
    if role is not None and not role.startswith("arn:"):
        raise section.bad("role_arn", f"{role!r} does not begin with arn:")
    return Environment(
        variables=section.texts("vars"),
        endpoint_url=endpoint_url,
        region=section.text("region"),
        role_arn=role,
        profile=section.text("profile"),
        expected_account=account,
        protected=section.flag("protected"),
        transport=section.choice("transport", TRANSPORTS, "boto3"),
        limits=_limits(section.section("limits"), local=is_loopback(endpoint_url)),
    )


def _is_web_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)


def _limits(section: Section, *, local: bool) -> Limits:
    """`local`: an emulator answers at once, so that waiting as for the service would only be slow."""
    section.only(_LIMIT_KEYS)
    usual = Limits(poll_interval=0.5, settle_time=2.0, reader_lease=3.0, attempt_time=1.0) if local else Limits()
    max_failures = section.integer("max_failures", 0)
    settle_time = section.parsed("settle_time", parse_duration)
    return Limits(
        write_units=section.parsed("write_units", parse_budget),
        read_units=section.parsed("read_units", parse_budget),
        max_failures=usual.max_failures if max_failures is None else max_failures,
        lock_timeout=section.parsed("lock_timeout", parse_duration),
        lease=_above_zero(section, "lease") or usual.lease,
        wait_timeout=section.parsed("wait_timeout", parse_duration),
        poll_interval=_above_zero(section, "poll_interval") or usual.poll_interval,
        settle_time=usual.settle_time if settle_time is None else settle_time,
        reader_lease=_above_zero(section, "reader_lease") or usual.reader_lease,
        attempt_time=_above_zero(section, "attempt_time") or usual.attempt_time,
        workers=section.integer("workers", 1, 256) or usual.workers,
        segments=section.integer("segments", 1, 1_000_000),
        critical_load=_critical_load(section),
    )


def _critical_load(limits: Section) -> CriticalLoad | None:
    section = limits.section("critical_load")
    if "critical_load" not in limits.entries:
        return None
    section.only(("throttle_events", "latency", "action"))
    events = section.integer("throttle_events", 1)
    latency = _above_zero(section, "latency")
    if events is None and latency is None:
        raise limits.bad("critical_load", "says no load", 'for example { throttle_events = 100, latency = "500ms" }')
    action = section.choice("action", ("pause", "stop"), "pause")
    return CriticalLoad(events, latency, "stop" if action == "stop" else "pause")


def _above_zero(section: Section, key: str) -> float | None:
    seconds = section.parsed(key, parse_duration)
    if seconds == 0:
        raise section.bad(key, "must be above 0")
    return seconds
