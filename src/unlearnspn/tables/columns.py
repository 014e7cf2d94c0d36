"""One column of a table, read: numbers or categories, and nothing that tells which library they came from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import count
from numbers import Real
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import numpy.typing as npt

from unlearnspn.errors import InvalidTableError, listing
from unlearnspn.tables.cells import Category, Family, is_missing, token
from unlearnspn.tables.holders import Encoded, Holder, as_objects

_ADVICE = "convert it to numbers (for dates: days since a date of yours) or to strings"
_NESTED = "give each of its parts a column of its own"
_DURATION = "convert it to numbers, such as seconds or days"
_TIME = "convert it to numbers, such as seconds since midnight"
_INTERVAL = "convert it to numbers, such as the middles, or to strings"
_BYTES = "decode it to strings"
#: What to do about types, by the names that libraries have for them.
_ADVICE_FOR = {
    **dict.fromkeys(("List", "Array", "Struct", "list", "tuple", "dict", "set", "ndarray"), _NESTED),
    **dict.fromkeys(("Duration", "timedelta", "Timedelta", "timedelta64", "TimeDelta64DType"), _DURATION),
    **dict.fromkeys(("Time", "time"), _TIME),
    "Interval": _INTERVAL,
    **dict.fromkeys(("Binary", "bytes", "bytearray", "memoryview", "BytesDType"), _BYTES),
}
_FLAGS = [False, True]


class Factor(NamedTuple):
    """A categorical column: its distinct categories, and each row's place among them (-1: missing)."""

    categories: list[Category]
    places: npt.NDArray[np.int64]


@dataclass(frozen=True)
class Column:
    """One column as it came: numbers in any precision (NaN: missing), or Python objects."""

    name: str
    family: Family
    values: npt.NDArray[Any]
    #: The type of the column, not just its values, says that it holds categories.
    categorical: bool = False
    #: If given, `values` are places among these objects (-1: missing), of which some may not occur.
    distinct: list[Any] | None = None

    def __len__(self) -> int:
        return len(self.values)

    def rows(self, start: int, end: int) -> Column:
        """Return some of the rows, without copying them."""
        return replace(self, values=self.values[start:end])

    def take(self, rows: npt.NDArray[np.int64]) -> Column:
        """Return the rows that are listed."""
        return replace(self, values=self.values[rows])

    def odd_value(self, expected: Family | None = None) -> str:
        """Name the first value that is not of the expected family, or not of the first value's."""
        for row, value in enumerate(self.objects().tolist()):
            if is_missing(value):
                continue
            family = _family(self.name, value)
            expected = expected or family
            if family is not expected:
                return f"row {row + 1} holds {value!r}"
        return "no value"

    def missing(self) -> npt.NDArray[np.bool_]:
        """Tell which rows are missing."""
        if self.family is Family.NUMBER:
            return np.asarray(np.isnan(self.values))
        return self.factor().places < 0

    def numbers(self) -> npt.NDArray[np.float64]:
        """Return the values as numbers, equal ones in equal bits; infinities are refused."""
        if self.family is Family.EMPTY:
            return np.full(len(self), np.nan)
        with np.errstate(over="ignore", invalid="ignore"):
            numbers: npt.NDArray[np.float64] = np.add(self.values, 0.0, dtype=np.float64)  # -0.0 becomes 0.0
        finite = np.isfinite(numbers)
        if finite.all():
            return numbers
        infinite = np.flatnonzero(np.isinf(numbers))
        if infinite.size:
            raise InvalidTableError(
                f"column {self.name!r} has infinite values in rows {listing((infinite + 1).tolist())}: "
                "replace them, or mark them as missing"
            )
        numbers[~finite] = np.nan
        return numbers

    def factor(self) -> Factor:
        """Return the values as categories, those that occur."""
        if self.family is Family.EMPTY:
            return Factor([], np.full(len(self), -1, np.int64))
        if self.family is Family.NUMBER:
            return _factor_numbers(self.numbers())
        distinct, places = self.distinct, self.values
        if distinct is None:
            distinct, places = _encode_objects(self.values.tolist(), self.family)
        distinct, places = _occurring(distinct, places)
        if _are_different_strings(distinct):
            return Factor(list(distinct), places)
        return _merge_factor([_category(self.name, value) for value in distinct], places)

    def objects(self) -> npt.NDArray[np.object_]:
        """Return the values as Python objects."""
        if self.distinct is None:
            return self.values.astype(object)
        return np.asarray(as_objects([*self.distinct, None])[self.values])


# -- reading ---------------------------------------------------------------------------------------------------------


def read_series(name: str, series: Any, holder: Holder | None) -> Column:
    """Read a narwhals series; the holder of its library, if any, knows a faster way to its categories."""
    dtype = series.dtype
    if dtype.is_numeric():
        if type(dtype).__name__ in ("Int128", "UInt128"):  # numpy has no such type
            series = series.cast(nw.Float64())
        return Column(name, Family.NUMBER, _to_numbers(name, series.to_numpy()))
    if dtype == nw.Boolean:
        flags = series.fill_null(False).to_numpy().astype(np.int64)
        return _flags(name, np.where(series.is_null().to_numpy(), -1, flags))
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        encoded = None if holder is None else holder.encode(series.to_native())
        column = read_objects(name, series.to_list()) if encoded is None else _read_encoded(name, encoded)
        return replace(column, categorical=True)
    if dtype in (nw.Object, nw.Unknown):
        return read_objects(name, series.to_list())
    raise _refusal(name, f"has type {dtype}, which cannot be modelled", type(dtype).__name__)


def read_vector(name: str, vector: npt.NDArray[Any]) -> Column:
    """Read a column of an array."""
    kind = vector.dtype.kind
    if kind in "fiu":
        return Column(name, Family.NUMBER, vector)
    if kind == "b":
        return _flags(name, vector.astype(np.int64))
    if kind in "OUT":
        return read_objects(name, vector.tolist())
    if kind == "c":
        raise InvalidTableError(f"Complex data not supported: column {name!r}")
    raise _refusal(name, f"has type {vector.dtype}, which cannot be modelled", type(vector.dtype).__name__)


def read_objects(name: str, values: list[Any]) -> Column:
    """Read Python objects; what they are decides what the column is."""
    families = {_family(name, example) for example in _examples(values)}
    if not families:
        return Column(name, Family.EMPTY, np.full(len(values), -1, np.int64), distinct=[])
    if families == {Family.NUMBER}:
        return Column(name, Family.NUMBER, _to_numbers(name, as_objects(values)))
    family = families.pop() if len(families) == 1 else Family.MIXED
    distinct, places = _encode_objects(values, family)
    return Column(name, family, places, categorical=family is not Family.MIXED, distinct=distinct)


def _read_encoded(name: str, encoded: Encoded) -> Column:
    distinct, places = _occurring(*encoded)
    if distinct and _are_different_strings(distinct):
        return Column(name, Family.TEXT, places, distinct=distinct)
    column = read_objects(name, distinct)
    if column.family is Family.NUMBER:
        return replace(column, values=np.append(column.values, np.nan)[places])
    # Nothing says that the libraries' dictionaries hold no missing values, nor that each is there once.
    return replace(column, values=np.append(column.values, -1)[places])


def _flags(name: str, places: npt.NDArray[np.int64]) -> Column:
    return Column(name, Family.BOOLEAN, places, categorical=True, distinct=_FLAGS)


def _examples(values: list[Any]) -> Iterable[Any]:
    """Return a value of each type that occurs and is not missing: one look at each is enough, and far cheaper."""
    for kind, example in dict(zip(map(type, values), values, strict=True)).items():
        if not is_missing(example):
            yield example
        elif issubclass(kind, float | np.floating):
            yield from [value for value in values if type(value) is kind and value == value][:1]


def _to_numbers(name: str, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if values.dtype != object:
        return values
    try:
        return values.astype(np.float64)
    except (TypeError, OverflowError):  # pandas' NA, or a number that must be named
        pass
    numbers = np.empty(len(values))
    for row, value in enumerate(values.tolist()):
        try:
            numbers[row] = np.nan if is_missing(value) else float(value)
        except OverflowError as error:
            raise InvalidTableError(f"column {name!r} holds a number too large in row {row + 1}") from error
    return numbers


def _encode_objects(values: list[Any], family: Family) -> Encoded:
    # By type too if several may occur: True and 1 are equal, but not the same category.
    keys: list[Any] = values if family is not Family.MIXED else list(zip(map(type, values), values, strict=True))
    numbered: defaultdict[Any, int] = defaultdict(count().__next__)
    places = np.fromiter(map(numbered.__getitem__, keys), np.int64, len(keys))
    distinct = list(numbered) if family is not Family.MIXED else [value for _, value in numbered]
    gone = [place for place, value in enumerate(distinct) if type(value) is not str and is_missing(value)]
    if not gone:
        return distinct, places
    present = np.ones(len(distinct), np.bool_)
    present[gone] = False
    return _keep(present, distinct, places)


def _are_different_strings(values: list[Any]) -> bool:
    """Tell whether values are categories as they stand, which costs far less to find out than to make them so."""
    return set(map(type, values)) <= {str} and len(set(values)) == len(values)


def _occurring(distinct: list[Any], places: npt.NDArray[np.int64]) -> Encoded:
    """Leave out what does not occur: a library's categories may be more than a column's."""
    occurs = np.zeros(len(distinct) + 1, np.bool_)
    occurs[places] = True  # a missing one, -1, is the last
    return (distinct, places) if occurs[:-1].all() else _keep(occurs[:-1], distinct, places)


def _keep(kept: npt.NDArray[np.bool_], distinct: list[Any], places: npt.NDArray[np.int64]) -> Encoded:
    """Keep some of the distinct values; the others are missing from now on."""
    renumbered = np.append(np.where(kept, np.cumsum(kept) - 1, -1), -1)
    return [distinct[place] for place in np.flatnonzero(kept).tolist()], renumbered[places]


def _family(name: str, value: Any) -> Family:
    if isinstance(value, bool | np.bool_):
        return Family.BOOLEAN
    if isinstance(value, str):
        return Family.TEXT
    if isinstance(value, Real | Decimal):
        return Family.NUMBER
    if isinstance(value, complex):
        raise InvalidTableError(f"Complex data not supported: column {name!r} holds {value!r}")
    kind = type(value).__name__
    fault = f"holds {value!r} of type {kind}; argument must be a string or a number, a boolean, or missing"
    raise _refusal(name, fault, kind)


def _refusal(name: str, fault: str, kind: str) -> InvalidTableError:
    return InvalidTableError(f"column {name!r} {fault}: {_ADVICE_FOR.get(kind, _ADVICE)}")


# -- categories ------------------------------------------------------------------------------------------------------


def _category(name: str, value: Any) -> Category:
    match _family(name, value):
        case Family.BOOLEAN:
            return bool(value)
        case Family.TEXT:
            return str(value)
        case _ if abs(value) == float("inf"):
            raise InvalidTableError(f"column {name!r} holds an infinite value: replace it, or mark it as missing")
        case _:
            return _number_category(float(value))


def _merge_factor(categories: list[Category], places: npt.NDArray[np.int64]) -> Factor:
    """Give one place to values that are the same category, such as 1 and 1.0."""
    distinct: dict[bytes, int] = {}
    merged = [distinct.setdefault(token(category), len(distinct)) for category in categories]
    first = {place: category for category, place in reversed(list(zip(categories, merged, strict=True)))}
    return Factor([first[place] for place in range(len(first))], np.array([*merged, -1], np.int64)[places])


def _number_category(number: float) -> Category:
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _factor_numbers(numbers: npt.NDArray[np.float64]) -> Factor:
    observed = ~np.isnan(numbers)
    distinct = np.unique(numbers[observed])
    places = np.where(observed, np.searchsorted(distinct, numbers), -1)
    return Factor([_number_category(number) for number in distinct.tolist()], places)
