"""Conditions as people type them: `age >= 60`, `city = Ulm`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from unlearnspn.errors import InvalidEvidenceError, listing

if TYPE_CHECKING:
    from unlearnspn.circuit.domains import Domain, Domains

_OPERATOR = re.compile(r"\s*(<=|>=|=|<|>)\s*(.*)", re.DOTALL)
_WHOLE = re.compile(r"\s*[+-]?\d+\s*", re.ASCII)
#: How a condition may compare.
OPERATORS = ("=", "<", "<=", ">", ">=")
_BOUNDS = {">": "above", ">=": "at_least", "<": "below", "<=": "at_most"}


class Condition(NamedTuple):
    """A condition in its parts: `age`, `>=`, `60`."""

    domain: Domain
    operator: str
    value: str


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
    return evidence_of([_split(text, domains) for text in texts])


def evidence_of(conditions: Iterable[Condition]) -> dict[str, Any]:
    """Return what conditions say, by column; whoever has the parts of a condition need not write and read it."""
    from unlearnspn.circuit import Range  # noqa: PLC0415

    bounds: dict[str, dict[str, Any]] = {}
    evidence: dict[str, Any] = {}
    for condition in conditions:
        domain, operator, value = condition
        text = f"{domain.name} {operator} {value}"
        if operator in _BOUNDS:
            if domain.kind.value != "numeric" and domain.family.value != "number":
                raise InvalidEvidenceError(f"{text!r}: column {domain.name!r} has no numbers to compare; use =")
            own = bounds.setdefault(domain.name, {})
            _require_new(_BOUNDS[operator], own, text)
            own[_BOUNDS[operator]] = _value(domain, text, value)
        elif domain.kind.value == "numeric":
            _require_new(domain.name, evidence, text)
            evidence[domain.name] = _value(domain, text, value)
        else:
            evidence.setdefault(domain.name, []).append(_category(domain, value))
    for name, bound in bounds.items():
        if name in evidence:
            raise InvalidEvidenceError(f"column {name!r} has both a value and bounds: give one or the other")
        evidence[name] = Range(**bound)
    return evidence


def _require_new(key: str, known: Mapping[str, Any], text: str) -> None:
    if key in known:
        raise InvalidEvidenceError(f"{text!r}: another condition compares this column in the same way already")


def _split(text: str, domains: Domains) -> Condition:
    """Find the column that a condition begins with, the longest if there are several; names may hold operators."""
    for domain in sorted(domains.columns, key=lambda column: -len(column.name)):
        stripped = text.lstrip()
        found = _OPERATOR.fullmatch(stripped[len(domain.name) :]) if stripped.startswith(domain.name) else None
        if found is not None:
            return Condition(domain, found[1], found[2])
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
        if math.isnan(number):
            raise ValueError
        return int(value) if _WHOLE.fullmatch(value) and int(value) != number else number
    except ValueError as error:
        raise InvalidEvidenceError(f"{text!r}: {value!r} is no number") from error


def _category(domain: Domain, value: str) -> Any:
    """Return the category that is written so; one never seen is read as the column's values are."""
    known = {write_category(category): category for category in domain.categories}
    if value in known:
        return known[value]
    if domain.family.value == "boolean" and value.lower() in ("true", "false"):
        return value.lower() == "true"
    return _number(value, value) if domain.family.value == "number" else value


def write_category(category: Any) -> str:
    """Return a category as people write it in a condition."""
    if isinstance(category, bool):
        return str(category).lower()
    return str(int(category)) if isinstance(category, float) and category.is_integer() else str(category)
