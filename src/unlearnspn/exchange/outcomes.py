"""What a change did, and what the ledger says, as JSON values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unlearnspn.certificates import Envelope
from unlearnspn.certificates.describing import summarize

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


def describe_entry(envelope: Envelope) -> dict[str, Any]:
    """Return an entry of the ledger as JSON values."""
    statement = envelope.statement
    return {
        "entry": statement.link.entry,
        "action": statement.action.value,
        "request": vars(statement.request) | {"days": statement.request.days},
        "summary": summarize(statement),
        "records": vars(statement.counts),
        "after": None if statement.after is None else vars(statement.after),
        "digest": envelope.digest,
    }
