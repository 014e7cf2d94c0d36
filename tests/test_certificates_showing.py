"""Certificates for people: on the terminal, and as a page that needs nothing else."""

from __future__ import annotations

import dataclasses
import html
import io
import re
from html.parser import HTMLParser

import pytest
from rich.console import Console

from ledgers import make_ledger, request
from unlearnspn.certificates import CertificateError, Envelope, audit_certificate, audit_ledger
from unlearnspn.certificates.bundle import read_bundle, write_bundle
from unlearnspn.certificates.page import render_page
from unlearnspn.certificates.showing import show_audit, show_certificate, show_ledger

LEDGER = make_ledger(2)
REMOVAL = LEDGER.envelopes[-1]


def printed(show: object, *arguments: object) -> str:
    output = io.StringIO()
    show(Console(file=output, width=220), *arguments)  # type: ignore[operator]
    return output.getvalue()


class Strict(HTMLParser):
    """Notes what a page refers to, and whether its elements are closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.names: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("envelope", LEDGER.envelopes, ids=lambda envelope: envelope.statement.action.value)
def test_the_page_is_whole_and_needs_nothing_from_elsewhere(envelope: Envelope) -> None:
    page = render_page(envelope)
    parser = Strict()
    parser.feed(page)
    assert parser.open == []
    assert not parser.names & {"script", "link", "img", "iframe", "object", "a", "form"}
    assert not parser.attributes & {"src", "href", "onload", "style"}
    assert "url(" not in page
    assert "@import" not in page
    assert "size: A4" in page


def test_the_page_carries_the_certificate_itself() -> None:
    found = re.search(r'<pre id="certificate">(.*?)</pre>', render_page(REMOVAL))
    assert found is not None
    assert audit_certificate(html.unescape(found[1]).encode(), LEDGER.key.public)


def test_page_and_terminal_say_what_matters() -> None:
    statement = REMOVAL.statement
    assert statement.before is not None
    assert statement.after is not None
    texts = [re.sub(r"<[^>]+>", " ", render_page(REMOVAL)), printed(show_certificate, REMOVAL)]
    for text in texts:
        for wanted in (
            *(*vars(statement.before).values(), *vars(statement.after).values()),
            *(statement.settings, statement.commitment, statement.link.previous, REMOVAL.digest, *REMOVAL.key_ids),
            *("2026-01-31 09:30:00 UTC", "registry", "unlearnspn 0.1.0", "0-certified", "backups", "Samples"),
            *("remaining", "98"),
        ):
            assert str(wanted) in text


def test_what_users_typed_is_text_not_markup() -> None:
    ledger = make_ledger(1, rotated=False)
    nasty = "<script>alert(1)</script>[red]\"'&"
    envelope = ledger.add(dataclasses.replace(ledger.last, request=request(nasty, operator=nasty)))
    page = render_page(envelope)
    assert "<script" not in page
    assert html.escape(nasty) in page
    assert nasty in printed(show_certificate, envelope)
    assert nasty in printed(show_ledger, [envelope]).replace("\n", "")


def test_the_ledger_has_a_line_for_each_entry() -> None:
    text = printed(show_ledger, LEDGER.envelopes)
    for wanted in (
        "init",
        "ingest",
        "fit",
        "removal",
        "key-rotation",
        "100 records added, 100 in the vault",
        "new key",
    ):
        assert wanted in text


def test_an_audit_says_its_outcome() -> None:
    assert "VERIFIED: all 6 checks were passed" in printed(show_audit, audit_ledger(LEDGER.entries, LEDGER.key.public))
    text = printed(show_audit, audit_ledger(LEDGER.entries[1:]))
    assert "NOT VERIFIED" in text
    assert "✗ link (entry 0)" in text


def test_a_bundle_gives_back_the_entries() -> None:
    content = write_bundle(LEDGER.entries)
    assert read_bundle(content) == LEDGER.entries
    for broken in (content[:-1], b"", content.replace(b"\n", b"\r\n")[:-1]):
        with pytest.raises(CertificateError, match="cut off"):
            read_bundle(broken)
    for change in (
        content.replace(b"\n", b"\r\n"),
        content + b"\n",
        b"\n" + content,
        content.replace(b"\n", b"\n\n", 1),
    ):
        assert not audit_ledger(read_bundle(change), LEDGER.key.public)
