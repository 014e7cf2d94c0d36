"""Conditions as people type them: `age >= 60`, `city = Ulm`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from unlearnspn.errors import InvalidEvidenceError, listing

if TYPE_CHECKING:
    from unlearnspn.circuit.domains import Domain, Domains

_OPERATOR = re.compile(r"\s*(<=|>=|=|<|>)\s*(.*)", re.DOTALL)
_WHOLE = re.compile(r"\s*[+-]?\d+\s*", re.ASCII)
_BOUNDS = {">": "above", ">=": "at_least", "<": "below", "<=": "at_most"}


def read_conditions(texts: Iterable[str], domains: Domains) -> dict[str, Any]:
    """Read conditions on columns; several bounds of a number hold together, several categories are alternatives.

    >>> from unlearnspn.circuit.domains import Domain, Domains
    >>> from unlearnspn.schema import Kind
    >>> from unlearnspn.tables import Family
    >>> age = Domain("age", Kind.NUMERIC, Family.NUMBER)
    >>> city = Domain("city", Kind.CATEGORICAL, Family.TEXT, ("Bonn", "Ulm"))
    >>> read_conditions(["age >= 18", "age<65", "city = Ulm"], Domains((age, city)))
    {'city': ['Ulm'], 'age': Range(at_least=18.0, below=65.0)}
    """
    from unlearnspn.circuit import Range  # noqa: PLC0415

    bounds: dict[str, dict[str, Any]] = {}
    evidence: dict[str, Any] = {}
    for text in texts:
        domain, operator, value = _split(text, domains)
        if operator in _BOUNDS:
            if domain.kind.value != "numeric" and domain.family.value != "number":
                raise InvalidEvidenceError(f"{text!r}: column {domain.name!r} has no numbers to compare; use =")
            bounds.setdefault(domain.name, {})[_BOUNDS[operator]] = _value(domain, text, value)
        elif domain.kind.value == "numeric":
            evidence[domain.name] = _value(domain, text, value)
        else:
            evidence.setdefault(domain.name, []).append(_category(domain, value))
    for name, bound in bounds.items():
        if name in evidence:
            raise InvalidEvidenceError(f"column {name!r} has both a value and bounds: give one or the other")
        evidence[name] = Range(**bound)
    return evidence


def _split(text: str, domains: Domains) -> tuple[Domain, str, str]:
    """Find the column that a condition begins with, the longest if there are several; names may hold operators."""
    for domain in sorted(domains.columns, key=lambda column: -len(column.name)):
        stripped = text.lstrip()
        found = _OPERATOR.fullmatch(stripped[len(domain.name) :]) if stripped.startswith(domain.name) else None
        if found is not None:
            return domain, found[1], found[2]
    raise InvalidEvidenceError(
        f"{text!r} is no condition such as 'age >= 60' or 'city = Ulm' on one of the columns {listing(domains.names)}"
    )


def _value(domain: Domain, text: str, value: str) -> Any:
    """Return a number; dates, times and durations stay as they were written, by ISO 8601."""
    return value.strip() if domain.family.is_time else _number(text, value)


def _number(text: str, value: str) -> float:
    """Return a number; a whole one that no double holds as it is, and not as its neighbour."""
    try:
        number = float(value)
        return int(value) if _WHOLE.fullmatch(value) and int(value) != number else number
    except ValueError as error:
        raise InvalidEvidenceError(f"{text!r}: {value!r} is no number") from error


def _category(domain: Domain, value: str) -> Any:
    """Return the category that is written so; one never seen is read as the column's values are."""
    known = {_written(category): category for category in domain.categories}
    if value in known:
        return known[value]
    if domain.family.value == "boolean" and value.lower() in ("true", "false"):
        return value.lower() == "true"
    return _number(value, value) if domain.family.value == "number" else value


def _written(category: Any) -> str:
    if isinstance(category, bool):
        return str(category).lower()
    return str(int(category)) if isinstance(category, float) and category.is_integer() else str(category)
