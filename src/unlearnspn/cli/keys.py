"""The keys of a vault: `keys show`, `keys rotate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from unlearnspn.cli import options as given
from unlearnspn.cli.group import GuardedGroup, examples
from unlearnspn.cli.opening import open_vault, require_free, write_new
from unlearnspn.cli.output import console, print_json, print_notice

keys = typer.Typer(cls=GuardedGroup, no_args_is_help=True, help="Show, export and change the key of a vault.")


@keys.command(epilog=examples("keys show people.uspn", "keys show people.uspn --export public.pem"))
def show(
    vault: given.VaultPath,
    export: Annotated[
        Path | None, typer.Option("--export", metavar="FILE", help="Write the public key into a new file (PEM).")
    ] = None,
    json: given.Json = False,
) -> None:
    """Show the public key in use, and those before it."""
    require_free(export)
    with open_vault(vault) as opened:
        public = opened.public_key
        introduced = [(each.statement.link, each.statement.introduced) for each in opened.log()]
    all_keys = [(link.entry, key.id) for link, key in introduced if key is not None]
    if export is not None:
        write_new(export, public.pem())
        print_notice(f"the public key is in {export}")
    if json:
        listed = [{"id": key_id, "introduced_by_entry": entry} for entry, key_id in all_keys]
        print_json({"in_use": public.id, "pem": public.pem(), "keys": listed})
        return
    for entry, key_id in all_keys:
        note = "in use" if key_id == public.id else "retired"
        console().print(Text(f"{key_id}  introduced by entry {entry}, {note}"))
    if export is None:
        console().print(Text(public.pem().rstrip()))


@keys.command(epilog=examples("keys rotate people.uspn --request 2026-key"))
def rotate(
    vault: given.VaultPath,
    request: given.RequestId = None,
    operator: given.Operator = None,
    private_key: given.Key = None,
    json: given.Json = False,
) -> None:
    """Sign with a new key from now on: the old one introduces it in the ledger, and is wiped."""
    with open_vault(vault, write=True, key=private_key) as opened:
        before = opened.public_key.id
        opened.rotate_key(request_id=request, operator=operator)
        after = opened.public_key.id
    if json:
        print_json({"before": before, "in_use": after})
    else:
        console().print(Text(f"key {before[:16]}… was retired, {after} is in use: give auditors the new public key"))


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(keys, name="keys")
