"""Records out of a vault: `unlearn`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unlearnspn.cli import options as given
from unlearnspn.cli.exits import CommandError, ExitCode
from unlearnspn.cli.group import examples
from unlearnspn.cli.opening import open_vault, require_free, write_new
from unlearnspn.cli.output import console, print_json, print_notice, progress
from unlearnspn.cli.reporting import show_outcome
from unlearnspn.exchange.outcomes import describe_outcome

if TYPE_CHECKING:
    from unlearnspn.certificates import Receipt
    from unlearnspn.vault import Outcome

#: More receipts than this are not printed: they belong into a file.
_PRINTED = 3


def unlearn(
    vault: given.VaultPath,
    id: Annotated[list[str] | None, typer.Option("--id", metavar="ID", help="The id of a record. Repeatable.")] = None,
    ids_file: Annotated[
        Path | None, typer.Option("--ids-file", metavar="FILE", help="A file of ids, one on each line.")
    ] = None,
    subject: Annotated[
        str | None, typer.Option("--subject", metavar="SUBJECT", help="Whose records are to be removed, all of them.")
    ] = None,
    ignore_missing: Annotated[
        bool, typer.Option("--ignore-missing", help="Skip ids that are not there, instead of removing nothing.")
    ] = False,
    receipt: Annotated[
        Path | None,
        typer.Option("--receipt", metavar="FILE", help="A new file for the receipts: they are kept nowhere else."),
    ] = None,
    dry_run: given.DryRun = False,
    yes: given.Yes = False,
    request: given.RequestId = None,
    received: Annotated[
        str | None,
        typer.Option("--received", metavar="DATE", help="When the request came, UTC. Default: now."),
    ] = None,
    operator: given.Operator = None,
    private_key: given.Key = None,
    json: given.Json = False,
) -> None:
    """Remove records from a vault: from its file and from its model, for good.

    The model is then, bit for bit, the one that learning without them gives; a signed certificate in the ledger says
    so. The receipt lets the requester confirm that their record was among the removed. Asks before it acts; where
    nobody can be asked, --yes is needed. Exits with 3 if a record is not there; then nothing is removed. Exits with 7
    if records were removed, and the receipts could not be written.
    """
    ids = _ids(id, ids_file, subject)
    date = None if received is None else _date(received)
    require_free(receipt)
    with open_vault(vault, write=not dry_run, key=private_key) as opened:
        names = None if ids is None else [opened.read_id(text) for text in ids]
        remove = partial(opened.unlearn, names, subject=subject, missing="ignore" if ignore_missing else "error")
        if not (dry_run or yes):
            _ask(remove, ids, subject)
        with progress(not json) as tell:
            tell("remove", 0, 0)
            outcome = remove(dry_run=dry_run, request_id=request, operator=operator, received=date)
    _report(outcome, receipt, json)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        epilog=examples(
            "unlearn people.uspn --id c-1042 --yes",
            "unlearn people.uspn --id c-7 --id c-8 --dry-run",
            "unlearn people.uspn --ids-file leavers.txt --receipt receipts.jsonl --yes",
            "unlearn people.uspn --subject p-17 --request 2026-17 --received 2026-01-31",
        )
    )(unlearn)


def _ids(ids: list[str] | None, ids_file: Path | None, subject: str | None) -> list[str] | None:
    """Return the ids that were asked for, each once; None if a subject was."""
    if subject is not None:
        if ids or ids_file is not None:
            raise typer.BadParameter("give either ids or a subject")
        return None
    wanted = list(ids or ())
    if ids_file is not None:
        from unlearnspn.sources import read_ids_file  # noqa: PLC0415

        wanted += read_ids_file(ids_file)
    if not wanted:
        raise typer.BadParameter("say what is to be removed: --id, --ids-file or --subject")
    return list(dict.fromkeys(wanted))


def _ask(remove: Callable[..., Outcome], ids: list[str] | None, subject: str | None) -> None:
    """Ask whether to remove what is there; if it is not there, that is an error before anybody is asked."""
    if not _somebody_is_there():
        raise CommandError(ExitCode.USAGE, "nobody can be asked here whether to remove: pass --yes")
    planned = remove(dry_run=True)
    what = "1 record" if planned.removed == 1 else f"{planned.removed:,} records"
    if subject is not None:
        what += f" of the subject {subject!r}"
    elif ids is not None and len(ids) == 1:
        what = f"the record {ids[0]!r}"
    if not typer.confirm(f"Remove {what} for good, and keep {planned.remaining:,}?", err=True):
        raise CommandError(ExitCode.FAILED, "nothing was removed")


def _somebody_is_there() -> bool:
    return sys.stdin.isatty()


def _date(text: str) -> str:
    try:
        read = datetime.fromisoformat(text)
    except ValueError as error:
        raise typer.BadParameter(
            f"--received {text!r} is no date such as 2026-01-31 or 2026-01-31T09:30:00Z"
        ) from error
    moment = read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _report(outcome: Outcome, receipt: Path | None, json: bool) -> None:
    """Tell what was done, and hand out the receipts; once records are gone, a failure says so with its own code."""
    receipts = outcome.receipts()
    failure = None if receipt is None or not receipts else _write_receipts(receipts, receipt)
    try:
        if json:
            document = describe_outcome(outcome)
            if receipt is None or failure is not None:
                document["receipts"] = [each.encode().decode().strip() for each in receipts]
            print_json(document)
        else:
            show_outcome(console(), outcome)
            if receipt is None and 0 < len(receipts) <= _PRINTED:
                print_notice("For the requester alone, and kept nowhere else:")
                _print_receipts(receipts)
            elif failure is not None:
                _print_receipts(receipts)
        sys.stdout.flush()
    except OSError as error:
        if outcome.certificate is None:
            raise
        raise _removed_all_the_same(outcome, f"the result cannot be printed ({error.strerror})", "") from error
    if failure is not None:
        raise _removed_all_the_same(outcome, failure, ": keep what was printed instead, it is nowhere else")
    if receipt is None and len(receipts) > _PRINTED and not json:
        print_notice(f"{_count(len(receipts))} not written: --receipt FILE keeps them for the requesters")


def _write_receipts(receipts: list[Receipt], path: Path) -> str | None:
    """Write receipts into a file; return why that is not possible, if it is not."""
    try:
        write_new(path, b"".join(each.encode() for each in receipts), private=True)
    except (OSError, ValueError, CommandError) as error:
        return str(error)
    print_notice(f"{_count(len(receipts))} in {path}: hand over what is in it, and keep no copy")
    return None


def _removed_all_the_same(outcome: Outcome, reason: str, advice: str) -> CommandError:
    assert outcome.certificate is not None
    entry = outcome.certificate.statement.link.entry
    return CommandError(
        ExitCode.RECEIPT,
        f"{reason}; the records were removed all the same, for good (entry {entry} of the ledger): do not repeat the "
        f"request. The certificate is in the vault (`unlearnspn certificate export VAULT FILE {entry}`), the receipts "
        f"are not{advice}",
    )


def _print_receipts(receipts: list[Receipt]) -> None:
    for each in receipts:
        typer.echo(each.encode().decode().strip())


def _count(n: int) -> str:
    return "1 receipt" if n == 1 else f"{n:,} receipts"
