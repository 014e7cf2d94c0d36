"""What a change did, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

if TYPE_CHECKING:
    from unlearnspn.vault import Outcome


def show_outcome(console: Console, outcome: Outcome) -> None:
    """Print a change for people."""
    certificate, report = outcome.certificate, outcome.report
    counts = [
        f"{number:,} {word}"
        for number, word in ((outcome.removed, "removed"), (outcome.added, "added"), (outcome.skipped, "there already"))
        if number
    ]
    would = " (dry run: nothing was changed)" if report is not None and report.dry_run else ""
    console.print(Text(f"records: {', '.join([*counts, f'{outcome.remaining:,} in the vault'])}{would}"))
    if report is not None:
        for line in str(report).splitlines()[1:]:
            console.print(Text(line))
    if certificate is not None:
        statement = certificate.statement
        console.print(Text(f"entry {statement.link.entry} of the ledger, request {statement.request.id}"))
