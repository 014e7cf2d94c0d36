"""Questions to the model as people choose them from lists, and the answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from unlearnspn.circuit import Circuit
from unlearnspn.circuit.domains import Domain
from unlearnspn.exchange.conditions import OPERATORS, Condition, evidence_of, write_category
from unlearnspn.exchange.tables import rows_of
from unlearnspn.schema import Kind
from unlearnspn.service.console.formats import Formats
from unlearnspn.service.console.pictures import ColumnPicture, picture_of, write_value
from unlearnspn.service.console.visitors import Visit
from unlearnspn.service.errors import InvalidInputError

#: Conditions that a form has room for: those that are known, and those that are asked for.
MOST_KNOWN, MOST_ASKED = 4, 2
#: Rows that are drawn.
MOST_ROWS = 100
#: Categories of each column that are offered.
_MOST_OFFERED = 50


@dataclass(frozen=True)
class Line:
    """A condition as it stands in the form: a column by its number, an operator, a value as it was typed."""

    column: str = ""
    operator: str = "="
    value: str = ""


@dataclass(frozen=True)
class Form:
    """What somebody has filled in."""

    known: tuple[Line, ...] = (Line(),) * MOST_KNOWN
    asked: tuple[Line, ...] = (Line(),) * MOST_ASKED
    #: What is asked: "probability", "expectation" or "sample".
    question: str = ""
    column: str = ""
    n_rows: str = "10"


@dataclass(frozen=True)
class Answer:
    """What the model says; just what was asked for is there."""

    known: tuple[str, ...]
    #: Of these conditions.
    event: tuple[str, ...] = ()
    probability: float | None = None
    #: Whatever is known.
    without: float | None = None
    #: A column, given what is known.
    picture: ColumnPicture | None = None
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    #: Values that no record has.
    unseen: tuple[str, ...] = ()
    #: Columns in which nearly every record has a value of its own, which rows show.
    identifying: tuple[str, ...] = ()


def read_form(visit: Visit) -> Form:
    """Return what was filled in."""
    return Form(
        _read_lines(visit, "known", MOST_KNOWN),
        _read_lines(visit, "asked", MOST_ASKED),
        visit.text("question"),
        visit.text("column"),
        visit.text("n_rows"),
    )


def _read_lines(visit: Visit, name: str, number: int) -> tuple[Line, ...]:
    parts = [visit.texts(f"{name}_{part}") for part in ("column", "operator", "value")]
    lines = [Line(*line) for line in zip(*parts, strict=False)][:number]
    return (*lines, *(Line(),) * (number - len(lines)))


def offered_values(circuit: Circuit) -> list[tuple[str, str]]:
    """Return categories that a form offers, each with its column; none that identify people."""
    return [
        (write_category(category), domain.name)
        for domain in circuit.domains.columns
        if not domain.identifies
        for category in domain.categories[:_MOST_OFFERED]
    ]


def answer(circuit: Circuit, form: Form, formats: Formats) -> Answer:
    """Return the answer to a question, or raise."""
    known = _conditions(circuit, form.known, formats)
    words, unseen = _words(known), _unseen(known)
    if form.question == "probability":
        asked = _conditions(circuit, form.asked, formats)
        if not asked:
            raise InvalidInputError("choose at least one condition to ask for")
        event, given = evidence_of(asked), evidence_of(known)
        return Answer(
            words,
            _words(asked),
            circuit.probability(event, given=given or None),
            circuit.probability(event) if given else None,
            unseen=(*unseen, *_unseen(asked)),
        )
    if form.question == "expectation":
        place = _place(circuit, form.column)
        conditioned = circuit.condition(evidence_of(known))
        return Answer(words, picture=picture_of(conditioned, place, formats), unseen=unseen)
    if form.question == "sample":
        rows = rows_of(circuit.sample(_n_rows(form.n_rows), given=evidence_of(known) or None), circuit)
        return Answer(
            words,
            columns=tuple(circuit.domains.names),
            rows=tuple(tuple(_cell(value, formats) for value in row) for row in rows),
            unseen=unseen,
            identifying=tuple(map(str, circuit.domains.identifying)),
        )
    raise InvalidInputError("choose what to ask")


def _conditions(circuit: Circuit, lines: Sequence[Line], formats: Formats) -> list[Condition]:
    conditions = []
    for line in lines:
        if line.column:
            if line.operator not in OPERATORS:
                raise InvalidInputError("choose how to compare")
            domain = circuit.domains.columns[_place(circuit, line.column)]
            value = line.value if domain.kind is Kind.CATEGORICAL else formats.plain(line.value)
            conditions.append(Condition(domain, line.operator, value))
    return conditions


def _place(circuit: Circuit, text: str) -> int:
    """Return the number of a column that was chosen."""
    if not (text.isascii() and text.isdigit() and len(text) < 9 and int(text) < len(circuit.domains)):
        raise InvalidInputError("choose a column")
    return int(text)


def _n_rows(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 9 and 1 <= int(text) <= MOST_ROWS):
        raise InvalidInputError(f"between 1 and {MOST_ROWS} rows can be drawn")
    return int(text)


def _words(conditions: Sequence[Condition]) -> tuple[str, ...]:
    return tuple(f"{domain.name} {operator} {value}" for domain, operator, value in conditions)


def _unseen(conditions: Sequence[Condition]) -> tuple[str, ...]:
    return tuple(
        f"{domain.name} = {value}"
        for domain, operator, value in conditions
        if domain.kind is Kind.CATEGORICAL and operator == "=" and not _is_known(domain, value)
    )


def _is_known(domain: Domain, value: str) -> bool:
    return any(write_category(category) == value for category in domain.categories)


def _cell(value: Any, formats: Formats) -> str:
    return "" if value is None else write_category(value) if isinstance(value, bool) else write_value(value, formats)
