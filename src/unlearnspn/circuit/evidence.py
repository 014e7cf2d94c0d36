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
from unlearnspn.tables.times import DAY, EXAMPLES, family_of, is_day, read_text, seconds_of, written_family

#: Among more categories than this, none is looked for that is spelt a little differently.
_MOST_COMPARED = 2000


@dataclass(frozen=True)
class Range:
    """Numbers, dates, times or durations between bounds, of which any may be left out; dates also by ISO 8601.

    >>> Range(above=60), Range(at_least=18, below=65), Range(at_least="2024-01-01")
    (Range(above=60), Range(at_least=18, below=65), Range(at_least='2024-01-01'))
    """

    _: KW_ONLY
    at_least: Any = None
    above: Any = None
    at_most: Any = None
    below: Any = None

    def __post_init__(self) -> None:
        for name, bound in self._given().items():
            if not _is_number(bound) and _times_in(bound) is None:
                raise InvalidEvidenceError(f"Range({name}={bound!r}) must be a number, or a date, a time or a duration")
        if self.at_least is not None and self.above is not None:
            raise InvalidEvidenceError(f"{self} has two lower bounds: give at_least or above")
        if self.at_most is not None and self.below is not None:
            raise InvalidEvidenceError(f"{self} has two upper bounds: give at_most or below")
        families = {None if _is_number(bound) else _times_in(bound) for bound in self._given().values()}
        if len(families) > 1:
            raise InvalidEvidenceError(f"{self} has bounds of different kinds")
        family = next(iter(families), None)
        low, high = self.bounds(family or Family.NUMBER)
        if low > high:
            raise InvalidEvidenceError(f"{self} is empty")

    def bounds(self, family: Family = Family.NUMBER) -> tuple[float, float]:
        """Return the closed bounds: the least and the largest float within, of those that stand for such values."""
        low, high = -math.inf, math.inf
        if self.at_least is not None:
            low = _read(self.at_least, family)
        if self.at_most is not None:
            high = _read(self.at_most, family)
        if self.above is not None:
            low = math.nextafter(_read(self.above, family), math.inf)
        if self.below is not None:
            high = math.nextafter(_read(self.below, family), -math.inf)
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


def _is_number(value: Any) -> bool:
    no_number = isinstance(value, bool | np.bool_ | np.timedelta64)
    return isinstance(value, Real) and not no_number and value == value


def _times_in(value: Any) -> Family | None:
    """Return the family of a date, a time or a duration, or of a text that says one."""
    if isinstance(value, str):
        return written_family([value.strip()])
    return None if is_missing(value) else family_of(value)


def _read(value: Any, family: Family) -> float:
    """Return the number that stands for a value of a family."""
    if family is Family.NUMBER:
        if _is_number(value):
            return _as_float(value)
        raise InvalidEvidenceError(f"{value!r} is no number")
    if _times_in(value) is not family:
        raise InvalidEvidenceError(f"{value!r} is no {family}, such as {EXAMPLES[family]}")
    try:
        return read_text(value, family) if isinstance(value, str) else seconds_of(value)
    except (ValueError, OverflowError) as error:
        raise InvalidEvidenceError(f"{value!r} is no {family}: {error}") from error


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
        try:
            low, high = wanted.bounds(domain.family)
        except InvalidEvidenceError as error:
            raise InvalidEvidenceError(f"column {domain.name!r} holds {domain.family} values: {error}") from None
        return Between(low, high) if grid is None else Between(*grid.cell(low, high))
    if domain.family.is_time:
        return _time_constraint(domain, wanted)
    if isinstance(wanted, Real) and not isinstance(wanted, bool | np.bool_):
        value = _as_float(wanted)
        if math.isinf(value):
            raise InvalidEvidenceError(f"column {domain.name!r} cannot be {wanted!r}: give a Range, or leave it out")
        return Equals(value) if grid is None or grid.holds_inside(value) else Between(*grid.cell(value, value))
    raise InvalidEvidenceError(f"column {domain.name!r} is numeric: give a number or a Range, not {wanted!r}")


def _time_constraint(domain: Domain, wanted: Any) -> Constraint:
    """Return what it means that a column has a date, a time or a duration; a date without a time is all of that day."""
    try:
        value = _read(wanted, domain.family)
    except InvalidEvidenceError as error:
        raise InvalidEvidenceError(f"column {domain.name!r} holds {domain.family} values: {error}") from None
    if domain.grid is not None and not domain.grid.holds_inside(value):
        return Between(*domain.grid.cell(value, value))
    return Between(value, math.nextafter(value + DAY, -math.inf)) if is_day(wanted) else Equals(value)


def _wanted_places(domain: Domain, wanted: Any) -> set[int]:
    if isinstance(wanted, Range):
        numbers = [c for c in domain.categories if isinstance(c, int | float) and not isinstance(c, bool)]
        if len(numbers) < len(domain.categories):
            raise InvalidEvidenceError(
                f"column {domain.name!r} has categories that are no numbers: give a category or a set of them"
            )
        wanted.bounds()  # which raises if they are no numbers
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
