"""`serve`: the desk of a data protection officer, in the browser and for other systems."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from unlearnspn.cli import options as given
from unlearnspn.cli.exits import CommandError, ExitCode
from unlearnspn.cli.group import examples
from unlearnspn.cli.opening import require_file


def serve(
    vault: given.VaultPath,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Where it listens; 0 for any free one.")] = 8080,
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="On which address it listens: this machine alone.")
    ] = "127.0.0.1",
    name: Annotated[
        list[str] | None,
        typer.Option("--name", metavar="NAME", help="A name by which browsers reach it, if not this machine's."),
    ] = None,
    cert: Annotated[
        Path | None, typer.Option("--cert", metavar="FILE", help="The certificate for TLS, as PEM.")
    ] = None,
    tls_key: Annotated[
        Path | None, typer.Option("--key", metavar="FILE", help="The private key of that certificate, as PEM.")
    ] = None,
    behind_proxy: Annotated[
        bool, typer.Option("--behind-proxy", help="A proxy on this machine speaks TLS, and says who calls.")
    ] = False,
    private_key: given.Key = None,
) -> None:
    """Serve a vault: a console for people, an API for other systems. Ends with Ctrl-C."""
    require_file(vault)
    if (cert is None) != (tls_key is None):
        raise typer.BadParameter("TLS needs both: --cert FILE --key FILE")
    is_local = host in ("127.0.0.1", "localhost", "::1")
    if not is_local and cert is None and not behind_proxy:
        raise typer.BadParameter(
            f"on {host}, passwords would go over the network in clear: give --cert and --key, or --behind-proxy"
        )
    for file in (cert, tls_key):
        if file is not None:
            require_file(file)
    try:
        from unlearnspn.service.errors import AddressError, CertificateFilesError, ServiceFileError  # noqa: PLC0415
        from unlearnspn.service.serving import Address  # noqa: PLC0415
        from unlearnspn.service.serving import serve as run  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise CommandError(ExitCode.USAGE, f"serve needs pip install 'unlearnspn[serve]' ({error})") from error
    try:
        run(vault, private_key, Address(host, port, cert, tls_key, behind_proxy, name or ()), typer.echo)
    except AddressError as error:
        raise CommandError(ExitCode.USAGE, str(error)) from error
    except (CertificateFilesError, ServiceFileError) as error:
        raise CommandError(ExitCode.VAULT, str(error)) from error


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog=examples("serve people.uspn", "serve people.uspn --port 8443 --cert tls.pem --key tls.key"))(
        serve
    )
