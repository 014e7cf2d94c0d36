"""Entries of the ledger as its page lists them: found, and said in a few words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from unlearnspn.certificates import Action, Envelope
from unlearnspn.certificates.statement import Statement
from unlearnspn.service.console.formats import Formats

#: A text by its name, with values in its places.
Texts = Callable[..., str]
#: Entries on a page.
PAGE = 50


@dataclass(frozen=True)
class Line:
    """An entry in a list."""

    number: int
    completed: str
    title: str
    words: str
    request: str
    operator: str


@dataclass(frozen=True)
class Sought:
    """Which entries somebody wants to see."""

    action: Action | None = None
    #: Part of the id of a request, or of the name of an operator.
    text: str = ""

    def fits(self, statement: Statement) -> bool:
        """Tell whether an entry is among them."""
        text = self.text.casefold()
        return (self.action is None or statement.action is self.action) and (
            text in statement.request.id.casefold() or text in statement.request.operator.casefold()
        )


def find_entries(entries: Sequence[Envelope], sought: Sought) -> list[Statement]:
    """Return what is sought, the newest first."""
    return [envelope.statement for envelope in reversed(entries) if sought.fits(envelope.statement)]


def line_of(statement: Statement, t: Texts, formats: Formats) -> Line:
    """Return an entry in a few words of the reader's language."""
    return Line(
        number=statement.link.entry,
        completed=formats.moment(statement.request.completed),
        title=t(f"action.{statement.action.value}"),
        words=_words(statement, t, formats),
        request=statement.request.id,
        operator=statement.request.operator,
    )


def _words(statement: Statement, t: Texts, formats: Formats) -> str:
    counts = statement.counts
    removed, added, remaining = (formats.count(n) for n in (counts.removed, counts.added, counts.remaining))
    if statement.action is Action.KEY_ROTATION and statement.introduced is not None:
        return t("did.key-rotation", key=statement.introduced.id[:16])
    return t(f"did.{statement.action.value}", removed=removed, added=added, remaining=remaining)
