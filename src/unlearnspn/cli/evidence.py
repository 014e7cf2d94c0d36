"""Evidence: `certificate show`, `certificate export`, `verify`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from unlearnspn.certificates import (
    Action,
    Audit,
    CertificateError,
    Envelope,
    Finding,
    Item,
    Kind,
    PublicKey,
    Receipt,
    audit_certificate,
    audit_ledger,
    audit_receipt,
)
from unlearnspn.certificates.bundle import read_bundle
from unlearnspn.certificates.page import render_page
from unlearnspn.certificates.showing import show_audit, show_certificate, show_head
from unlearnspn.cli import options as given
from unlearnspn.cli.exits import CommandError, ExitCode
from unlearnspn.cli.group import GuardedGroup, examples
from unlearnspn.cli.opening import is_vault, open_vault, read_ledger, require_file, require_free, write_new
from unlearnspn.cli.output import console, print_json, progress

#: So many digits of a digest name an entry.
_DIGITS = 12

certificates = typer.Typer(cls=GuardedGroup, no_args_is_help=True, help="Show and export certificates.")

EvidencePath = Annotated[
    Path,
    typer.Argument(metavar="PATH", help="A vault, an exported ledger, or a certificate.", show_default=False),
]
Entry = Annotated[
    str | None,
    typer.Argument(metavar="ENTRY", help="The number of an entry, or a request id. Default: the last removal."),
]


@certificates.command(
    epilog=examples(
        "certificate show people.uspn", "certificate show people.uspn 2026-17", "certificate show c.json --json"
    )
)
def show(path: EvidencePath, entry: Entry = None, json: given.Json = False) -> None:
    """Print a certificate for people."""
    envelope = _find(_read_entries(path), entry)
    if json:
        print_json(_describe(envelope))
    else:
        show_certificate(console(), envelope)


@certificates.command(
    epilog=examples("certificate export people.uspn removal.html", "certificate export people.uspn removal.json 3")
)
def export(
    path: EvidencePath,
    output: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A new file: .html for people, .json for machines.", show_default=False),
    ],
    entry: Entry = None,
    json: given.Json = False,
) -> None:
    """Write a certificate into a file: a page that can be printed, or the signed envelope itself."""
    require_free(output)
    suffix = output.suffix.lower()
    if suffix not in (".html", ".htm", ".json"):
        raise typer.BadParameter(f"what {output.name!r} is to be is not told by its name: call it .html or .json")
    envelope = _find(_read_entries(path), entry)
    write_new(output, envelope.encoded + b"\n" if suffix == ".json" else render_page(envelope))
    number = envelope.statement.link.entry
    if json:
        print_json({"entry": number, "path": str(output), "digest": envelope.digest})
    else:
        console().print(Text(f"entry {number} in {output}"))


def verify(
    path: EvidencePath,
    key: Annotated[
        Path | None, typer.Option("--key", metavar="FILE", help="The public key (PEM), from a source that you trust.")
    ] = None,
    receipt: Annotated[
        Path | None, typer.Option("--receipt", metavar="FILE", help="A receipt: was its record among the removed?")
    ] = None,
    id: Annotated[
        str | None, typer.Option("--id", metavar="ID", help="The record that the receipt must be about.")
    ] = None,
    subject: Annotated[
        str | None, typer.Option("--subject", metavar="SUBJECT", help="The subject that the receipt must be about.")
    ] = None,
    head: Annotated[
        str | None,
        typer.Option("--head", metavar="DIGEST", help="The digest of an entry that you have seen: is it still there?"),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Do not learn from scratch to compare.")] = False,
    json: given.Json = False,
) -> None:
    """Check everything that can be checked. Exits with 0 only if all of it is right, else with 1.

    With a vault: its file, every signature and link of its ledger, and that learning from scratch on the remaining
    records gives the same digests. With a ledger or a certificate and a public key: signatures and links. With a
    receipt also that the requester's record was among the removed.
    """
    public = None if key is None else _read_key(key)
    wanted = _wanted(id, subject)
    if wanted and receipt is None:
        raise typer.BadParameter("--id and --subject are about a receipt: give --receipt as well")
    receipts = None if receipt is None else _read_receipts(receipt)
    if is_vault(path):
        audit = _audit_vault(path, public, head, quick, receipts, wanted, json)
    else:
        audit = _audit_file(path, public, head, receipts, wanted)
    if json:
        findings = [vars(finding) for finding in audit.findings]
        print_json(
            {"verified": bool(audit), "findings": findings, "head": audit.head, "head_checked": head is not None}
        )
    else:
        show_audit(console(), audit)
        if audit.head is not None and head is None:
            show_head(console(), audit.head)
    if not audit:
        raise typer.Exit(int(ExitCode.FAILED))


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(certificates, name="certificate")
    app.command(
        epilog=examples(
            "verify people.uspn",
            "verify ledger.jsonl --key public.pem",
            "verify removal.json --key public.pem --receipt receipt.json",
        )
    )(verify)


# -- reading ---------------------------------------------------------------------------------------------------------


def _read_entries(path: Path) -> list[Envelope]:
    if is_vault(path):
        return read_ledger(path)
    content = path.read_bytes()
    _refuse_page(path, content)
    return [Envelope.decode(encoded) for encoded in read_bundle(content)]


def _find(envelopes: list[Envelope], entry: str | None) -> Envelope:
    if entry is None:
        found = [each for each in envelopes if each.statement.action is Action.REMOVAL] or envelopes[-1:]
        return found[-1]
    found = [envelope for envelope in envelopes if _is_named(envelope, entry)]
    if not found:
        raise CommandError(ExitCode.NOT_FOUND, f"there is no entry or request {entry!r}; `unlearnspn log` shows all")
    if len(found) > 1:
        listed = ", ".join(
            f"entry {each.statement.link.entry} ({each.statement.action}, completed "
            f"{each.statement.request.completed[:10]}, digest {each.digest[:_DIGITS]})"
            for each in found
        )
        raise CommandError(
            ExitCode.USAGE,
            f"{entry!r} names {len(found)} entries: {listed}; say which by its number, or by how its digest begins",
        )
    return found[0]


def _is_named(envelope: Envelope, text: str) -> bool:
    statement = envelope.statement
    by_digest = len(text) >= _DIGITS and envelope.digest.startswith(text)
    return by_digest or text in (str(statement.link.entry), statement.request.id)


def _refuse_page(path: Path, content: bytes) -> None:
    if content[:200].lstrip().lower().startswith((b"<!doctype html", b"<html")):
        raise CommandError(
            ExitCode.VAULT,
            f"{path} is a page for people, to be read and printed: what can be checked is the certificate itself, "
            "which `unlearnspn certificate export VAULT FILE.json` writes, the ledger, or the vault",
        )


def _read_key(path: Path) -> PublicKey:
    require_file(path)
    return PublicKey.from_pem(path.read_bytes())


def _read_receipts(path: Path) -> list[Receipt] | CertificateError:
    """Return the receipts of a file; one that cannot be read is a finding like any other."""
    require_file(path)
    try:
        return [Receipt.decode(line) for line in path.read_bytes().splitlines() if line.strip()]
    except CertificateError as error:
        return error


def _wanted(id: str | None, subject: str | None) -> list[Item]:
    """Return what a receipt must be about; an id that looks like a number may be one."""
    if id is not None and subject is not None:
        raise typer.BadParameter("give either --id or --subject")
    if subject is not None:
        return [Item(Kind.SUBJECT, subject)]
    if id is None:
        return []
    number = [Item(Kind.RECORD, int(id))] if id.lstrip("-").isdecimal() and id.isascii() else []
    return [Item(Kind.RECORD, id), *number]


def _describe(envelope: Envelope) -> dict[str, Any]:
    import json  # noqa: PLC0415

    return {"digest": envelope.digest, "key_ids": list(envelope.key_ids), "statement": json.loads(envelope.payload)}


# -- checking --------------------------------------------------------------------------------------------------------


def _audit_vault(
    path: Path, key: PublicKey | None, head: str | None, quick: bool, receipts: Any, wanted: list[Item], json: bool
) -> Audit:
    from unlearnspn.vault import DamagedVaultError  # noqa: PLC0415

    try:
        with open_vault(path) as vault, progress(not json) as tell:
            audit: Audit = vault.verify(key, head, relearn=not quick, progress=tell)
            return audit if receipts is None else audit + _audit_receipts(receipts, vault.log(), wanted)
    except DamagedVaultError as error:
        return Audit((Finding(False, "vault", str(error)),))


def _audit_file(path: Path, key: PublicKey | None, head: str | None, receipts: Any, wanted: list[Item]) -> Audit:
    content = path.read_bytes()
    _refuse_page(path, content)
    if key is None and content[:1] != b"{":
        raise CommandError(ExitCode.VAULT, f"{path} is neither a vault nor a ledger nor a certificate, or is damaged")
    if key is None:
        raise typer.BadParameter("a ledger or a certificate can only be checked with a public key: give --key FILE")
    try:
        encoded = read_bundle(content)
    except CertificateError as error:
        return Audit((Finding(False, "encoding", str(error)),))
    if len(encoded) == 1 and not _starts_a_ledger(encoded[0]):
        audit = audit_certificate(encoded[0], key)
        if head is not None:
            raise typer.BadParameter("--head is about a ledger, and this is a single certificate")
    else:
        audit = audit_ledger(encoded, key, head)
    if receipts is None or not audit:
        return audit
    return audit + _audit_receipts(receipts, [Envelope.decode(each) for each in encoded], wanted)


def _starts_a_ledger(encoded: bytes) -> bool:
    try:
        return Envelope.decode(encoded).statement.action is Action.INIT
    except CertificateError:
        return False


def _audit_receipts(receipts: list[Receipt] | CertificateError, envelopes: list[Envelope], wanted: list[Item]) -> Audit:
    if isinstance(receipts, CertificateError):
        return Audit((Finding(False, "receipt", str(receipts)),))
    by_digest = {envelope.digest: envelope for envelope in envelopes}
    audit = Audit()
    for receipt in receipts:
        certificate = by_digest.get(receipt.certificate)
        if certificate is None:
            message = f"there is no certificate with the digest {receipt.certificate[:16]}… that it belongs to"
            audit += Audit((Finding(False, "receipt", message, receipt.entry),))
        else:
            audit += audit_receipt(receipt, certificate)
    items = {(item.kind, type(item.id), item.id) for receipt in receipts for item in receipt.items}
    if wanted and not any((item.kind, type(item.id), item.id) in items for item in wanted):
        message = f"it is not about the {wanted[0].kind} {wanted[0].id!r}"
        audit += Audit((Finding(False, "receipt", message),))
    return audit
