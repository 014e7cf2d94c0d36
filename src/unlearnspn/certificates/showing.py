"""Certificates, ledgers and findings on a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich import box
from rich.console import Console, ConsoleRenderable, Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from unlearnspn.certificates.describing import TITLES, Section, describe, summarize
from unlearnspn.certificates.envelope import Envelope
from unlearnspn.certificates.findings import Audit


def show_certificate(console: Console, envelope: Envelope) -> None:
    """Print a certificate for people."""
    statement = envelope.statement
    parts: list[ConsoleRenderable] = [_section(section) for section in describe(envelope)]
    if statement.guarantee:
        parts.append(_words("Guarantee", [statement.guarantee]))
    if statement.limits:
        parts.append(_words("What it does not reach", statement.limits))
    console.print(
        Panel(Group(*parts), title=Text(TITLES[statement.action], style="bold"), box=box.ROUNDED, padding=(1, 2))
    )


def show_ledger(console: Console, envelopes: Iterable[Envelope]) -> None:
    """Print a ledger, a line for each entry: what was asked for when (UTC), and how many days it took."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("entry", justify="right")
    for name in ("what", "request", "received", "completed"):
        table.add_column(name)
    table.add_column("days", justify="right")
    for name in ("operator", "summary"):
        table.add_column(name)
    for envelope in envelopes:
        statement = envelope.statement
        request = statement.request
        table.add_row(
            str(statement.link.entry),
            statement.action.value,
            Text(request.id),
            request.received[:10],
            request.completed[:10],
            f"{request.days:,}",
            Text(request.operator),
            summarize(statement),
        )
    console.print(table)


def show_audit(console: Console, audit: Audit) -> None:
    """Print findings: what was passed, what failed and where, and the outcome."""
    for finding in audit.findings:
        mark = Text("✓", style="bold green") if finding.ok else Text("✗", style="bold red")
        place = "" if finding.entry is None else f" (entry {finding.entry})"
        console.print(mark, Text(f"{finding.check}{place}:", style="bold"), Text(finding.message))
    n, failed = len(audit.findings), len(audit.failures)
    if audit:
        console.print(Text(f"VERIFIED: all {n} checks were passed", style="bold green"))
    else:
        console.print(Text(f"NOT VERIFIED: {failed} of {n} checks failed", style="bold red"))


def show_head(console: Console, head: str) -> None:
    """Print the digest of the last entry, and why it is worth keeping."""
    lines = (
        "An old copy of a vault, or a ledger without its last entries, cannot be told from the present one.",
        f"Keep the digest of its last entry elsewhere, and pass it the next time: --head {head}",
    )
    for line in lines:
        console.print(Text(line, style="dim"), soft_wrap=True)


def _section(section: Section) -> ConsoleRenderable:
    table = Table(box=None, show_header=False, pad_edge=False, title=section.heading, title_justify="left")
    table.title_style = "bold underline"
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in section.lines:
        table.add_row(Text(name), Text(value))
    return Group(table, Text())


def _words(heading: str, sentences: Iterable[str]) -> ConsoleRenderable:
    lines = [Text(f"- {sentence}") for sentence in sentences]
    return Group(Text(heading, style="bold underline"), *lines, Text())
