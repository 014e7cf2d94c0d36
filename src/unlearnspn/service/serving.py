"""Running the service: one process, which owns its vault."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import ssl
import warnings
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from socket import socket
from types import FrameType

import uvicorn

from unlearnspn.errors import UnseenCategoryWarning
from unlearnspn.service.app import AppOptions, create_app
from unlearnspn.service.connections import ImpatientProtocol
from unlearnspn.service.desk_service import DeskService
from unlearnspn.service.errors import AddressError, CertificateFilesError

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
    _require_pair(address)
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
            forwarded_allow_ips=["127.0.0.1", "::1"],
            limit_concurrency=_MOST_CONNECTIONS,
            timeout_keep_alive=15,
            timeout_graceful_shutdown=10,
            h11_max_incomplete_event_size=64 << 10,
        )
        _Server(config, service, address, tell).run()


def _require_pair(address: Address) -> None:
    """Raise unless what TLS needs can be used, before anything is opened."""
    if address.certificate is None or address.private_key is None:
        return
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(address.certificate, address.private_key)
    except (OSError, ValueError) as error:
        raise CertificateFilesError(
            f"{address.certificate} and {address.private_key} are no certificate and its private key, as PEM: {error}"
        ) from error


class _Server(uvicorn.Server):
    """Says where it is reached once it can be, and comes to an end whoever ends it."""

    def __init__(
        self, config: uvicorn.Config, service: DeskService, address: Address, tell: Callable[[str], None]
    ) -> None:
        super().__init__(config)
        self._service = service
        self._address = address
        self._tell = tell

    async def startup(self, sockets: list[socket] | None = None) -> None:
        """Begin to listen."""
        await super().startup(await self._listen())
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

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End as one who was asked to; a signal that came through once more would not let the vault be closed."""
        if self.should_exit and sig == signal.SIGINT:
            self.force_exit = True
        self.should_exit = True

    async def _listen(self) -> list[socket]:
        """Return sockets for the address, or raise: the server itself would end the process with a code of its own."""
        address, loop = self._address, asyncio.get_running_loop()
        try:
            bound = await loop.create_server(asyncio.Protocol, address.host, address.port, start_serving=False)
        except OSError as error:
            raise AddressError(
                f"nobody can listen at {address.host}, port {address.port}: {error.strerror or error}; "
                f"choose another one with --port or --host"
            ) from error
        # Not by a method of theirs: other loops than Python's own have sockets that cannot be copied.
        sockets = [socket(fileno=os.dup(each.fileno())) for each in bound.sockets]
        bound.close()
        return sockets
