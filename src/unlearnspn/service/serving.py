"""Running the service: one process, which owns its vault."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from socket import socket

import uvicorn

from unlearnspn.errors import UnseenCategoryWarning
from unlearnspn.service.app import AppOptions, create_app
from unlearnspn.service.connections import ImpatientProtocol
from unlearnspn.service.desk_service import DeskService

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
#: Connections that are served at the same time; others are told to come back.
_MOST_CONNECTIONS = 500


@dataclass(frozen=True)
class Address:
    """Where the service listens, and how it is reached."""

    host: str = "127.0.0.1"
    port: int = 8080
    certificate: Path | None = None
    private_key: Path | None = None
    #: A proxy before the service speaks TLS with browsers, and says who they are.
    behind_proxy: bool = False
    #: Names by which browsers reach it, beside those of this machine itself.
    names: Sequence[str] = ()

    @property
    def with_tls(self) -> bool:
        """Whether browsers speak TLS, with the service or with a proxy before it."""
        return self.certificate is not None or self.behind_proxy

    @property
    def url(self) -> str:
        """The address for people."""
        name = self.names[0] if self.names else f"[{self.host}]" if ":" in self.host else self.host
        if self.behind_proxy and self.names:
            return f"https://{name}"
        return f"{'https' if self.certificate is not None else 'http'}://{name}:{self.port}"


def serve(vault: Path, key: Path | None, address: Address, tell: Callable[[str], None]) -> None:
    """Serve a vault until somebody ends it."""
    with closing(DeskService.open(vault, key)) as service:
        host = f"[{address.host}]" if ":" in address.host else address.host
        app = create_app(service, AppOptions((*LOOPBACK, host, *address.names), address.with_tls))
        # Requests are not logged, since what is asked may name a person; uvicorn's own messages do not.
        logging.getLogger("unlearnspn.service").addHandler(logging.StreamHandler())
        # It repeats what was asked about.
        warnings.simplefilter("ignore", UnseenCategoryWarning)
        config = uvicorn.Config(
            app,
            host=address.host,
            port=address.port,
            http=ImpatientProtocol,
            access_log=False,
            log_level="warning",
            server_header=False,
            ssl_certfile=address.certificate,
            ssl_keyfile=address.private_key,
            proxy_headers=address.behind_proxy,
            forwarded_allow_ips="127.0.0.1" if address.behind_proxy else None,
            limit_concurrency=_MOST_CONNECTIONS,
            timeout_keep_alive=15,
            timeout_graceful_shutdown=10,
            h11_max_incomplete_event_size=64 << 10,
        )
        _Server(config, service, address, tell).run()


class _Server(uvicorn.Server):
    """Says where it is reached once it can be."""

    def __init__(
        self, config: uvicorn.Config, service: DeskService, address: Address, tell: Callable[[str], None]
    ) -> None:
        super().__init__(config)
        self._service = service
        self._address = address
        self._tell = tell

    async def startup(self, sockets: list[socket] | None = None) -> None:
        """Begin to listen."""
        await super().startup(sockets)
        if not self.started:
            return
        url = self._address.url
        if self._address.port == 0:
            port = self.servers[0].sockets[0].getsockname()[1]
            url = url.removesuffix(":0") + f":{port}"
        self._tell(f"{url} serves {self._service.path}; its own file is {self._service.path.name}.service")
        key = self._service.accounts.first_key
        if key is not None:
            self._tell(f"nobody can sign in yet; set the first password here: {url}/first?key={key}")
