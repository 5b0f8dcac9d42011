"""Where requests to DynamoDB go, by which proxy, trusting whom: what botocore decides, for connections of our own."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from botocore.httpsession import ProxyConfiguration, get_cert_path
from botocore.utils import get_environ_proxies

from migrator.dynamo.client import Clients
from migrator.dynamo.credentials import is_loopback
from migrator.dynamo.errors import without_userinfo
from migrator.errors import MigratorError


@dataclass(frozen=True, slots=True)
class Route:
    """How requests reach the endpoint. `proxy` None: directly."""

    url: str
    ca_bundle: str
    """A file of certificates."""
    proxy: str | None = None
    proxy_headers: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, clients: Clients) -> Route:
        """The endpoint as botocore resolved it: Region, FIPS and dual-stack, profile and environment included.

        Raises `proxy-unsupported` for a proxy that is itself spoken to over TLS.
        """
        url = clients.items.meta.endpoint_url
        ca_bundle = clients.access.session.get_config_variable("ca_bundle") or get_cert_path(True) or ""
        # A proxy of the environment is the way out; it knows no way back to this machine.
        proxies = {} if is_loopback(url) else get_environ_proxies(url)
        configured = ProxyConfiguration(proxies=proxies)
        proxy: str | None = configured.proxy_url_for(url)
        if proxy is None:
            return cls(url, ca_bundle)
        if urlsplit(proxy).scheme != "http":
            raise MigratorError(
                "proxy-unsupported",
                f"the fast transport cannot go by the proxy {without_userinfo(proxy)}: only http:// proxies",
                hint='set transport = "boto3" in this environment of migrator.toml',
            )
        headers: dict[str, str] = configured.proxy_headers_for(proxy)
        return cls(url, ca_bundle, proxy, tuple(headers.items()))

    @property
    def is_secure(self) -> bool:
        return urlsplit(self.url).scheme == "https"

    @property
    def host(self) -> str:
        """As the Host header says it: a port that is the scheme's own is left out."""
        parts = urlsplit(self.url)
        name = parts.hostname or ""
        name = f"[{name}]" if ":" in name else name
        usual = 443 if self.is_secure else 80
        return name if parts.port in (None, usual) else f"{name}:{parts.port}"

    @property
    def path(self) -> str:
        return urlsplit(self.url).path or "/"

    @property
    def request_target(self) -> str:
        """A proxy of plain HTTP is asked for the whole URL."""
        return f"http://{self.host}{self.path}" if self.proxy and not self.is_secure else self.path
