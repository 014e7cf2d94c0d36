"""A certificate in words: titles and lines, for the terminal and for the page."""

from __future__ import annotations

from dataclasses import dataclass

from unlearnspn.certificates.envelope import Envelope
from unlearnspn.certificates.statement import Action, Statement

TITLES = {
    Action.INIT: "Beginning of a ledger",
    Action.INGEST: "Records taken in",
    Action.FIT: "Model learned",
    Action.REMOVAL: "Certificate of removal",
    Action.ADDITION: "Records added",
    Action.CORRECTION: "Records corrected",
    Action.KEY_ROTATION: "Change of the signing key",
    Action.EXPORT: "Model exported",
}


@dataclass(frozen=True)
class Section:
    """A heading, and lines of name and value below it; values that are to be compared letter by letter are codes."""

    heading: str
    lines: tuple[tuple[str, str], ...]
    codes: bool = False


def describe(envelope: Envelope) -> list[Section]:
    """Return the parts of a certificate in the order in which people read them."""
    statement = envelope.statement
    sections = [_request(statement), _records(statement), _commitments(statement), _proof(envelope)]
    return [section for section in sections if section.lines]


def summarize(statement: Statement) -> str:
    """Say in a line what an entry did.

    >>> from unlearnspn.certificates.statement import Counts, Link, Request
    >>> request = Request("r-1", "2026-01-31T09:30:00Z", "2026-01-31T09:30:01Z", "registry")
    >>> summarize(Statement(Action.INGEST, Link("v", 1, "0" * 64), request, "unlearnspn", Counts(0, 600, 600)))
    '600 records added, 600 in the vault'
    """
    counts = statement.counts
    match statement.action:
        case Action.INIT:
            return "new vault"
        case Action.FIT:
            return f"learned from {_records_text(counts.remaining)}"
        case Action.EXPORT:
            return f"the model of {_records_text(counts.remaining)} was taken"
        case Action.KEY_ROTATION:
            key = statement.introduced
            return f"new key {key.id[:16]}…" if key is not None else "new key"
        case Action.CORRECTION:
            return f"{_records_text(counts.added)} corrected, {counts.remaining:,} in the vault"
    parts = [
        f"{_records_text(count)} {verb}"
        for count, verb in ((counts.removed, "removed"), (counts.added, "added"))
        if count or (verb == "removed") == (statement.action is Action.REMOVAL)
    ]
    return ", ".join([*parts, f"{counts.remaining:,} in the vault"])


def _request(statement: Statement) -> Section:
    request, link = statement.request, statement.link
    lines = (
        ("request", request.id),
        ("received", _date(request.received)),
        ("completed", _date(request.completed)),
        ("operator", request.operator),
        ("vault", link.vault),
        ("entry of its ledger", str(link.entry)),
        ("software", statement.software),
    )
    return Section("Request", lines)


def _records(statement: Statement) -> Section:
    if statement.action in (Action.INIT, Action.KEY_ROTATION, Action.EXPORT):
        return Section("Records", ())
    counts = statement.counts
    lines = [("removed", f"{counts.removed:,}"), ("added", f"{counts.added:,}"), ("remaining", f"{counts.remaining:,}")]
    if statement.action is Action.REMOVAL:
        del lines[1]
    return Section("Records", tuple(lines))


def _commitments(statement: Statement) -> Section:
    lines = []
    for name in ("model", "state"):
        for when, commitments in (("before", statement.before), ("after", statement.after)):
            if commitments is not None:
                lines.append((f"commitment to the {name} {when}", vars(commitments)[name]))
    if statement.settings is not None:
        lines.append(("digest of schema, parameters, seed", statement.settings))
    return Section("Model, state and settings", tuple(lines), codes=True)


def _proof(envelope: Envelope) -> Section:
    statement = envelope.statement
    lines = [("this certificate (SHA-256)", envelope.digest)]
    if statement.link.previous is not None:
        lines.append(("the entry before it", statement.link.previous))
    if statement.commitment is not None:
        lines.append(("commitment to the removed ids", statement.commitment))
    if statement.introduced is not None:
        lines.append(("key that signs from now on", statement.introduced.id))
    lines += [("signed by the key (Ed25519)", key_id) for key_id in envelope.key_ids]
    return Section("Evidence", tuple(lines), codes=True)


def _date(text: str) -> str:
    return text.replace("T", " ").replace("Z", " UTC")


def _records_text(n: int) -> str:
    return "1 record" if n == 1 else f"{n:,} records"
