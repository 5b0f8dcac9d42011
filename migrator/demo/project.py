"""The demo's own project: a folder with migrator.toml and migrations, and an environment without the person's AWS."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from migrator.config import default_config_text

ACCOUNT = "111122223333"
REGION = "eu-west-1"
TABLE = "demo-saas"
ITEMS = Path(__file__).with_name("items.json")
PATTERNS = "access_patterns.toml"
LEASE_SECONDS = 3
"""A killed run is taken over after a lease of silence: a short one, so that nobody has to wait for a minute."""

_LIMITS = f"""
[env.demo.limits]
lease = "{LEASE_SECONDS}s"
poll_interval = "250ms"
"""


@dataclass(frozen=True, slots=True)
class DemoProject:
    """Where it lies."""

    config: Path

    @property
    def migrations(self) -> Path:
        return self.config.with_name("migrations")


def shipped(name: str) -> Path:
    """`migrations` or `access_patterns.toml` of the model: inside an installed package, at the root of a checkout."""
    installed = Path(__file__).with_name(name)
    return installed if installed.exists() else Path(__file__).parents[2] / name


@contextmanager
def demo_project(endpoint_url: str) -> Iterator[DemoProject]:
    """A project in a folder that is removed at the end of the block."""
    with TemporaryDirectory(prefix="migrator-demo-") as folder:
        project = DemoProject(Path(folder) / "migrator.toml")
        text = default_config_text(table="{stage}-saas", env="demo", endpoint_url=endpoint_url, region=REGION)
        project.config.write_text(text + _LIMITS, encoding="utf-8")
        shutil.copytree(shipped("migrations"), project.migrations, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(shipped(PATTERNS), project.config.with_name(PATTERNS))
        yield project


@contextmanager
def no_aws() -> Iterator[None]:
    """The environment without profiles, credentials, endpoints and proxies of the person, until the end of the block.

    The demo talks to its own port alone: what is configured for the real AWS must neither reach it nor break it.
    """
    before = dict(os.environ)
    for name in before:
        if name.startswith(("AWS_", "MIGRATOR_")) or name.lower().endswith("_proxy"):
            del os.environ[name]
    os.environ.update(_made_up())
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _made_up() -> Mapping[str, str]:
    return {
        "AWS_ACCESS_KEY_ID": ACCOUNT,
        "AWS_SECRET_ACCESS_KEY": "demo",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
    }
