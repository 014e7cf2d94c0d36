"""One column of a table, read: numbers or categories, and nothing that tells which library they came from."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from itertools import count, islice
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from unlearnspn.errors import InvalidTableError, listing
from unlearnspn.tables.cells import EXACT, Category, Family, is_double, is_missing, token, whole_if_it_is
from unlearnspn.tables.holders import Encoded, Holder, as_objects
from unlearnspn.tables.times import USUAL_TYPES, family_of, objects_of, seconds_of_array, seconds_of_objects, unit_of

_ADVICE = "convert it to numbers or to strings"
_NESTED = "give each of its parts a column of its own"
_INTERVAL = "convert it to numbers, such as the middles, or to strings"
_BYTES = "decode it to strings"
#: What to do about types, by the names that libraries have for them.
_ADVICE_FOR = {
    **dict.fromkeys(("List", "Array", "Struct", "list", "tuple", "dict", "set", "ndarray"), _NESTED),
    "Interval": _INTERVAL,
    **dict.fromkeys(("Binary", "bytes", "bytearray", "memoryview", "BytesDType"), _BYTES),
}
_FLAGS = [False, True]
#: So few strings are sooner read one by one than encoded by a library.
_FEW_ROWS = 16
_SHOWN = 60


class Factor(NamedTuple):
    """A categorical column: its distinct categories, and each row's place among them (-1: missing)."""

    categories: list[Category]
    places: npt.NDArray[np.int64]


@dataclass(frozen=True)
class Column:
    """One column as it came: numbers in any precision (NaN: missing), or Python objects.

    Numbers stand for dates, times and durations, too: see `times`. Numbers of which doubles cannot hold some are given
    by `distinct`, as objects are.
    """

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
        if self.family.is_numeric and self.distinct is None:
            return np.asarray(np.isnan(self.values))
        return self.factor().places < 0

    def inexact_row(self) -> int | None:
        """Return the first row whose number no double holds, such as 2**53 + 1; None if there is none."""
        if self.family is not Family.NUMBER:
            return None
        if self.distinct is not None:
            inexact = np.array([*map(_loses_digits, self.distinct), False])
            rows = np.flatnonzero(inexact[self.values])
        else:
            rows = _inexact_rows(self.values)
        return int(rows[0]) if rows.size else None

    def require_exact(self) -> None:
        """Raise unless doubles hold all of the numbers: others would be taken for their neighbours."""
        row = self.inexact_row()
        if row is not None:
            value = self.objects()[row]
            raise InvalidTableError(
                f"column {self.name!r} holds {_shortened(value)} in row {row + 1}, which a numeric column would round "
                f"to {_rounded(value)}, as it would its neighbours: make it categorical (list it in "
                "categorical_features, or convert it to strings), take a number off that all of them share, or leave "
                "the column out"
            )

    def numbers(self) -> npt.NDArray[np.float64]:
        """Return the values as doubles, the nearest there are, equal ones in equal bits; infinities are refused."""
        if self.family is Family.EMPTY:
            return np.full(len(self), np.nan)
        values = self.values if self.distinct is None else _as_floats(self.name, self.objects())
        with np.errstate(over="ignore", invalid="ignore"):
            numbers: npt.NDArray[np.float64] = np.add(values, 0.0, dtype=np.float64)  # -0.0 becomes 0.0
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
        if self.family.is_time:
            raise self.no_categories()
        if self.family is Family.NUMBER and self.distinct is None:
            return _factor_integers(self.values) if self.values.dtype.kind in "iu" else _factor_numbers(self.numbers())
        distinct, places = self.distinct, self.values
        if distinct is None:
            distinct, places = _encode_objects(self.values.tolist(), self.family)
        distinct, places = _occurring(distinct, places)
        if _are_different_strings(distinct):
            return Factor(list(distinct), places)
        return _merge_factor([_category(self.name, value) for value in distinct], places)

    def no_categories(self) -> InvalidTableError:
        """Say that dates are no categories."""
        return InvalidTableError(
            f"column {self.name!r} holds {self.family} values, which are modelled as numbers: convert it to strings if "
            "each of them is to be a category"
        )

    def objects(self) -> npt.NDArray[np.object_]:
        """Return the values as Python objects."""
        if self.family.is_time:
            return as_objects(objects_of(USUAL_TYPES[self.family], self.values))
        if self.distinct is None:
            return self.values.astype(object)
        return np.asarray(as_objects([*self.distinct, None])[self.values])


# -- reading ---------------------------------------------------------------------------------------------------------


def read_series(name: str, series: Any, holder: Holder | None) -> Column:
    """Read a narwhals series; the holder of its library, if any, knows a faster way to its categories."""
    dtype = series.dtype
    kind = type(dtype).__name__  # by its name, since narwhals is imported only where a table is one of its own
    if dtype.is_numeric():
        return _read_numeric(name, series)
    if kind == "Boolean":
        flags = series.fill_null(False).to_numpy().astype(np.int64)
        return _flags(name, np.where(series.is_null().to_numpy(), -1, flags))
    if kind in ("String", "Categorical", "Enum"):
        is_short = kind == "String" and len(series) <= _FEW_ROWS
        encoded = None if holder is None or is_short else holder.encode(series.to_native())
        column = read_objects(name, series.to_list()) if encoded is None else _read_encoded(name, encoded)
        return replace(column, categorical=True)
    if kind in ("Object", "Unknown"):
        return read_objects(name, series.to_list())
    if kind in ("Date", "Datetime", "Duration"):
        family = Family.DURATION if kind == "Duration" else Family.DATE
        zoned = kind == "Datetime" and dtype.time_zone is not None
        array = series.to_numpy()
        if array.dtype.kind not in "mM":  # so come types of Arrow's in pandas
            return read_objects(name, series.to_list())
        return _read_times(name, Family.INSTANT if zoned else family, array)
    if kind == "Time":
        return _read_clock(name, series, holder)
    raise _refusal(name, f"has type {dtype}, which cannot be modelled", kind)


def read_vector(name: str, vector: npt.NDArray[Any]) -> Column:
    """Read a column of an array."""
    kind = vector.dtype.kind
    if kind in "fiu":
        return Column(name, Family.NUMBER, vector)
    if kind == "b":
        return _flags(name, vector.astype(np.int64))
    if kind in "OUT":
        return read_objects(name, vector.tolist())
    if kind in "mM":
        return _read_times(name, Family.DATE if kind == "M" else Family.DURATION, vector)
    if kind == "c":
        raise InvalidTableError(f"Complex data not supported: column {name!r}")
    raise _refusal(name, f"has type {vector.dtype}, which cannot be modelled", type(vector.dtype).__name__)


def empty_column(name: str, n_rows: int) -> Column:
    """Return a column without any value: it is of no kind."""
    return Column(name, Family.EMPTY, np.full(n_rows, -1, np.int64), distinct=[])


def read_objects(name: str, values: list[Any]) -> Column:
    """Read Python objects; what they are decides what the column is."""
    families = {_family(name, example) for example in _examples(values)}
    if not families:
        return empty_column(name, len(values))
    if families == {Family.NUMBER}:
        return _read_numbers(name, values)
    if len(families) == 1 and (family := next(iter(families))).is_time:
        return Column(name, family, seconds_of_objects(name, values))
    family = families.pop() if len(families) == 1 else Family.MIXED
    distinct, places = _encode_objects(values, family)
    return Column(name, family, places, categorical=family is not Family.MIXED, distinct=distinct)


def _read_encoded(name: str, encoded: Encoded) -> Column:
    distinct, places = _occurring(*encoded)
    if distinct and _are_different_strings(distinct):
        return Column(name, Family.TEXT, places, distinct=distinct)
    column = read_objects(name, distinct)
    if column.family.is_numeric and column.distinct is None:
        return replace(column, values=np.append(column.values, np.nan)[places])
    # Nothing says that the libraries' dictionaries hold no missing values, nor that each is there once.
    return replace(column, values=np.append(column.values, -1)[places])


def _read_times(name: str, family: Family, array: npt.NDArray[Any]) -> Column:
    return Column(name, family, seconds_of_array(name, np.ascontiguousarray(array)))


def _read_clock(name: str, series: Any, holder: Holder | None) -> Column:
    """Read times of day; Python's lack the last three digits of nanoseconds."""
    column = read_objects(name, series.to_list())
    cell_type = None if holder is None else holder.type_of(series.to_native()).time
    if column.family is Family.EMPTY or cell_type is None or unit_of(cell_type) != "ns":
        return column
    from narwhals import Int64  # noqa: PLC0415  # which is there, as the series is

    nanoseconds = series.cast(Int64).fill_null(0).to_numpy()
    return replace(column, values=column.values + nanoseconds % 1_000 / 1_000_000_000)


def _flags(name: str, places: npt.NDArray[np.int64]) -> Column:
    return Column(name, Family.BOOLEAN, places, categorical=True, distinct=_FLAGS)


def _examples(values: list[Any]) -> Iterable[Any]:
    """Return a value of each type that occurs and is not missing: one look at each is enough, and far cheaper.

    Of dates one with a time zone and one without, for these are of two families, but of one type.
    """
    for kind, example in dict(zip(map(type, values), values, strict=True)).items():
        if issubclass(kind, datetime):
            zoned = {value.tzinfo is not None: value for value in values if type(value) is kind}
            yield from (value for value in zoned.values() if not is_missing(value))
        elif not is_missing(example):
            yield example
        elif kind is not type(None):  # NaN, NaT and their like are of the type of others that are there
            yield from islice((value for value in values if type(value) is kind and not is_missing(value)), 1)


def _read_numeric(name: str, series: Any) -> Column:
    """Read a narwhals series of numbers; what is missing among integers must not make floats of them."""
    dtype = series.dtype
    if type(dtype).__name__ in ("Int128", "UInt128", "Decimal"):  # numpy has no such types
        return _read_numbers(name, series.to_list())
    if not dtype.is_integer() or not series.null_count():
        values = series.to_numpy()
        return _read_numbers(name, values.tolist()) if values.dtype == object else Column(name, Family.NUMBER, values)
    whole = series.fill_null(0).to_numpy()
    if whole.dtype == object or _inexact_rows(whole).size:
        return _read_numbers(name, series.to_list())
    return Column(name, Family.NUMBER, np.where(series.is_null().to_numpy(), np.nan, whole))


def _read_numbers(name: str, values: list[Any]) -> Column:
    """Read numbers of any type: as doubles if these hold them all, else as they are."""
    try:
        floats = _as_floats(name, as_objects(values))
    except InvalidTableError:
        exact = False
    else:
        decimals = {value for value in values if isinstance(value, Decimal)}
        far = [values[row] for row in np.flatnonzero(np.abs(floats) >= EXACT).tolist()]
        exact = not any(map(_loses_digits, [*decimals, *far]))
    if exact:
        return Column(name, Family.NUMBER, floats)
    distinct, places = _encode_objects(values, Family.NUMBER)
    return Column(name, Family.NUMBER, places, distinct=distinct)


def _as_floats(name: str, values: npt.NDArray[np.object_]) -> npt.NDArray[np.float64]:
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


def _inexact_rows(values: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return the rows of an array whose integers no double holds."""
    if values.dtype.kind not in "iu" or values.dtype.itemsize < 8:
        return np.zeros(0, np.int64)
    far = np.flatnonzero((values > EXACT) | (values < -EXACT if values.dtype.kind == "i" else False))
    return far[[not is_double(number) for number in values[far].tolist()]] if far.size else far


def _loses_digits(value: Any) -> bool:
    """Tell whether a double gives a number back as another: a large integer, or a decimal with too many digits."""
    if isinstance(value, Decimal) and value.is_finite():
        return Decimal(repr(float(value))) != value
    return not is_missing(value) and not is_double(value)


def _shortened(value: Any) -> str:
    text = str(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _rounded(value: Any) -> str:
    try:
        nearest = float(value)
    except OverflowError:
        return "infinity" if value > 0 else "-infinity"
    return str(whole_if_it_is(nearest)) if isinstance(value, int) else repr(nearest)


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
    family = family_of(value)  # first, since numpy's durations say that they are numbers
    if family is not None:
        return family
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
        case family if family.is_time:
            raise InvalidTableError(
                f"column {name!r} mixes {value!r} with other kinds of values: correct them, or convert all to strings"
            )
        case _ if abs(value) == float("inf"):
            raise InvalidTableError(f"column {name!r} holds an infinite value: replace it, or mark it as missing")
        case _ if isinstance(value, Decimal) and value != value.to_integral_value() and _loses_digits(value):
            raise InvalidTableError(
                f"column {name!r} holds {value}, which has more digits than its neighbours can be told apart by: "
                "convert the column to strings"
            )
        case _:
            return _number_category(name, value)


def _merge_factor(categories: list[Category], places: npt.NDArray[np.int64]) -> Factor:
    """Give one place to values that are the same category, such as 1 and 1.0."""
    distinct: dict[bytes, int] = {}
    merged = [distinct.setdefault(token(category), len(distinct)) for category in categories]
    first = {place: category for category, place in reversed(list(zip(categories, merged, strict=True)))}
    return Factor([first[place] for place in range(len(first))], np.array([*merged, -1], np.int64)[places])


def _number_category(name: str, value: Any) -> Category:
    if isinstance(value, int | np.integer):
        return int(value)
    number = float(_as_floats(name, as_objects([value]))[0])
    if math.isinf(number):
        raise InvalidTableError(f"column {name!r} holds a number too large: {str(value)[:60]}")
    # Decimals and fractions may be whole numbers that no double holds.
    return int(value) if not isinstance(value, float) and value == int(value) else whole_if_it_is(number)


def _factor_numbers(numbers: npt.NDArray[np.float64]) -> Factor:
    observed = ~np.isnan(numbers)
    distinct = np.unique(numbers[observed])
    places = np.where(observed, np.searchsorted(distinct, numbers), -1)
    return Factor([whole_if_it_is(number) for number in distinct.tolist()], places)


def _factor_integers(integers: npt.NDArray[Any]) -> Factor:
    distinct, places = np.unique(integers, return_inverse=True)
    return Factor(distinct.tolist(), places.astype(np.int64, copy=False))
