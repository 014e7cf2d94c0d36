"""What a change did, for people and for machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

if TYPE_CHECKING:
    from unlearnspn.vault import Outcome


def describe_outcome(outcome: Outcome) -> dict[str, Any]:
    """Return a change as JSON values."""
    certificate, report = outcome.certificate, outcome.report
    document: dict[str, Any] = {
        "removed": outcome.removed,
        "added": outcome.added,
        "skipped": outcome.skipped,
        "remaining": outcome.remaining,
        "dry_run": certificate is None and report is not None and report.dry_run,
        "entry": None if certificate is None else certificate.statement.link.entry,
        "request": None if certificate is None else certificate.statement.request.id,
        "certificate": None if certificate is None else certificate.digest,
        "report": None,
    }
    if report is not None:
        document["report"] = {
            "nodes_visited": report.nodes_visited,
            "subnetworks_learned": report.subnetworks_learned,
            "rows_moved": report.rows_moved,
            "changed_operations": [
                {"address": change.address, "before": change.before.value, "after": change.after.value}
                for change in report.changed_operations
            ],
            "recoded": report.recoded,
            "seconds": report.seconds,
            "model_digest": {"before": report.digest_before, "after": report.digest_after},
            "state_digest": {"before": report.state_digest_before, "after": report.state_digest_after},
        }
    return document


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
