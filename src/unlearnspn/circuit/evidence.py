"""Evidence and events: what is known, or asked, of some columns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from difflib import get_close_matches
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from unlearnspn.circuit.domains import Domain, Domains
from unlearnspn.errors import InvalidEvidenceError, UnseenCategoryWarning, listing, warn_outside
from unlearnspn.schema import Kind
from unlearnspn.tables import Category, Family, is_missing

#: Among more categories than this, none is looked for that is spelt a little differently.
_MOST_COMPARED = 2000


@dataclass(frozen=True)
class Range:
    """Numbers between bounds, of which any may be left out.

    >>> Range(above=60), Range(at_least=18, below=65)
    (Range(above=60), Range(at_least=18, below=65))
    """

    _: KW_ONLY
    at_least: float | None = None
    above: float | None = None
    at_most: float | None = None
    below: float | None = None

    def __post_init__(self) -> None:
        for name, bound in self._given().items():
            if isinstance(bound, bool) or not isinstance(bound, Real) or bound != bound:
                raise InvalidEvidenceError(f"Range({name}={bound!r}) must be a number")
        if self.at_least is not None and self.above is not None:
            raise InvalidEvidenceError(f"{self} has two lower bounds: give at_least or above")
        if self.at_most is not None and self.below is not None:
            raise InvalidEvidenceError(f"{self} has two upper bounds: give at_most or below")
        low, high = self.bounds()
        if low > high:
            raise InvalidEvidenceError(f"{self} is empty")

    def bounds(self) -> tuple[float, float]:
        """Return the closed bounds: the least and the largest float within."""
        low = -math.inf if self.at_least is None else _as_float(self.at_least)
        high = math.inf if self.at_most is None else _as_float(self.at_most)
        if self.above is not None:
            low = math.nextafter(_as_float(self.above), math.inf)
        if self.below is not None:
            high = math.nextafter(_as_float(self.below), -math.inf)
        return low, high

    def __contains__(self, number: float) -> bool:
        return (
            number == number
            and (self.at_least is None or self.at_least <= number)
            and (self.above is None or self.above < number)
            and (self.at_most is None or number <= self.at_most)
            and (self.below is None or number < self.below)
        )

    def _given(self) -> dict[str, Any]:
        return {name: bound for name, bound in vars(self).items() if bound is not None}

    def __repr__(self) -> str:
        return f"Range({', '.join(f'{name}={bound!r}' for name, bound in self._given().items())})"


def _as_float(number: Any) -> float:
    """Return the nearest float; an integer beyond all of them is infinite."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


@dataclass(frozen=True, eq=False)
class OneOf:
    """A categorical column has one of some categories, given by their places."""

    places: npt.NDArray[np.int64]


@dataclass(frozen=True)
class Between:
    """A numeric column lies between closed bounds; nowhere, if the lower one is above the other."""

    low: float
    high: float


@dataclass(frozen=True)
class Equals:
    """A numeric column has a certain value."""

    value: float


Constraint = OneOf | Between | Equals
Constraints = dict[int, Constraint]


def read_evidence(evidence: Mapping[Any, Any] | None, domains: Domains) -> Constraints:
    """Turn evidence, by column name, into constraints by column number; what is missing constrains nothing."""
    if evidence is None:
        return {}
    if not isinstance(evidence, Mapping):
        raise InvalidEvidenceError(
            f"evidence must say what is known of which column, as in {{'age': Range(above=60), 'sex': 'F'}}, "
            f"not {type(evidence).__name__}"
        )
    known = {domains.variable(name): wanted for name, wanted in evidence.items()}
    return {
        variable: _constraint(domains.columns[variable], wanted)
        for variable, wanted in known.items()
        if not is_missing(wanted)
    }


def _constraint(domain: Domain, wanted: Any) -> Constraint:
    if domain.kind is Kind.CATEGORICAL:
        return OneOf(np.array(sorted(_wanted_places(domain, wanted)), np.int64))
    grid = domain.grid
    if isinstance(wanted, Range):
        return Between(*(wanted.bounds() if grid is None else grid.cell(*wanted.bounds())))
    if isinstance(wanted, Real) and not isinstance(wanted, bool | np.bool_):
        value = _as_float(wanted)
        if math.isinf(value):
            raise InvalidEvidenceError(f"column {domain.name!r} cannot be {wanted!r}: give a Range, or leave it out")
        return Equals(value) if grid is None else Between(*grid.cell(value, value))
    raise InvalidEvidenceError(f"column {domain.name!r} is numeric: give a number or a Range, not {wanted!r}")


def _wanted_places(domain: Domain, wanted: Any) -> set[int]:
    if isinstance(wanted, Range):
        numbers = [c for c in domain.categories if isinstance(c, int | float) and not isinstance(c, bool)]
        if len(numbers) < len(domain.categories):
            raise InvalidEvidenceError(
                f"column {domain.name!r} has categories that are no numbers: give a category or a set of them"
            )
        return {domain.place(number) for number in numbers if number in wanted}
    if isinstance(wanted, Iterable) and not isinstance(wanted, str | bytes):
        return {_place(domain, category) for category in wanted}
    return {_place(domain, wanted)}


def _place(domain: Domain, category: Any) -> int:
    if isinstance(category, np.generic):
        category = category.item()
    families: dict[Family, type | tuple[type, ...]] = {
        Family.BOOLEAN: bool,
        Family.TEXT: str,
        Family.NUMBER: (int, float),
        Family.MIXED: (bool, str, int, float),
    }
    fits = isinstance(category, families[domain.family])
    if not fits or (domain.family is Family.NUMBER and isinstance(category, bool)):
        raise InvalidEvidenceError(f"column {domain.name!r} holds {domain.family} values, not {category!r}")
    known: Category = category
    place = domain.place(known)
    if place == len(domain.categories):
        warn_outside(f"no record has {unseen_category(domain, known)}", UnseenCategoryWarning)
    return place


def unseen_category(domain: Domain, category: Category) -> str:
    """Say which category of which column is unseen, and what may have been meant.

    >>> city = Domain("city", Kind.CATEGORICAL, Family.TEXT, ("Bonn", "Ulm"))
    >>> unseen_category(city, "bonn"), unseen_category(city, "Rome")
    ("'bonn' in column 'city'; did you mean 'Bonn'?", "'Rome' in column 'city'; its categories are 'Bonn', 'Ulm'")
    """
    said = f"{category!r} in column {domain.name!r}"
    if not domain.categories:
        return said
    meant = _alike(category, domain.categories)
    return f"{said}; did you mean {meant!r}?" if meant else f"{said}; its categories are {listing(domain.categories)}"


def _alike(category: Category, known: tuple[Category, ...]) -> str | None:
    """Return the text among the known categories that looks most like one, if any does."""
    texts = {text.strip().casefold(): text for text in known if isinstance(text, str)}
    if not isinstance(category, str):
        return None
    plain = category.strip().casefold()
    if plain in texts or len(texts) > _MOST_COMPARED:
        return texts.get(plain)
    return next((texts[found] for found in get_close_matches(plain, texts, 1)), None)
