"""Dates, times of day and durations: numbers to the engine, and to people what they were.

This is the one place that turns them into numbers and back. The number is always one of seconds: since 1970 began, in
UTC for dates with a time zone; since midnight; or the duration. So the same instants are the same numbers, whichever
library and resolution they came in. A double holds microseconds of all dates from 1698 to 2242; what it cannot hold is
refused.

What a column comes back as is told by its `CellType`, whose names for these are the same in all libraries: "date",
"datetime" with a unit and a time zone, "time" and "duration" with a unit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import numpy.typing as npt

from unlearnspn.errors import InvalidTableError
from unlearnspn.tables.cells import Family, is_missing
from unlearnspn.tables.origins import CellType

Floats = npt.NDArray[np.float64]
Ticks = npt.NDArray[np.int64]

DAY = 86_400
_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
#: Units of numpy that are longer than a second.
_SECONDS = {"m": 60, "h": 3_600, "D": DAY, "W": 7 * DAY}
#: Up to so many seconds a double tells nanoseconds apart.
_NANOSECONDS_UP_TO = 2.0**22
_EPOCH, _EPOCH_UTC = datetime(1970, 1, 1), datetime(1970, 1, 1, tzinfo=UTC)

_DATE = r"\d{4}-\d{2}-\d{2}"
_TIME = r"\d{2}:\d{2}(:\d{2}([.,]\d{1,9})?)?"
_DURATION = re.compile(
    r"([+-])?P(?=\d|T\d)(?:(\d+(?:[.,]\d+)?)W)?(?:(\d+(?:[.,]\d+)?)D)?"
    r"(?:T(?=\d)(?:(\d+(?:[.,]\d+)?)H)?(?:(\d+(?:[.,]\d+)?)M)?(?:(\d+(?:[.,]\d+)?)S)?)?",
    re.ASCII,
)
_WRITTEN = {
    Family.DATE: re.compile(rf"{_DATE}([T ]{_TIME})?", re.ASCII),
    Family.INSTANT: re.compile(rf"{_DATE}[T ]{_TIME} ?(Z|[+-]\d{{2}}(:?\d{{2}})?)", re.ASCII),
    Family.TIME: re.compile(_TIME, re.ASCII),
    Family.DURATION: _DURATION,
}
#: Dates as they are written in many places, where day and month may be either way round.
_WRITTEN_OTHERWISE = re.compile(rf"\d{{1,4}}([./-])\d{{1,2}}\1\d{{1,4}}([T ,]+{_TIME}.*)?", re.ASCII)
_DAY_WRITTEN = re.compile(_DATE, re.ASCII)

#: What a column of each family comes back as if nothing else is known.
USUAL_TYPES = {
    Family.DATE: CellType("datetime", ("us", "")),
    Family.INSTANT: CellType("datetime", ("us", "UTC")),
    Family.TIME: CellType("time", ("us",)),
    Family.DURATION: CellType("duration", ("us",)),
}
DATES = CellType("date")


# -- into numbers ----------------------------------------------------------------------------------------------------


def family_of(value: Any) -> Family | None:
    """Return the family of a date, a time or a duration; None of anything else.

    >>> [str(family_of(value)) for value in (date(2024, 2, 29), datetime(2024, 1, 1, tzinfo=UTC), timedelta(1), 7)]
    ['date', 'instant', 'duration', 'None']
    """
    if isinstance(value, datetime):
        return Family.DATE if value.tzinfo is None else Family.INSTANT
    if isinstance(value, date | np.datetime64):
        return Family.DATE
    if isinstance(value, time):
        return Family.TIME
    return Family.DURATION if isinstance(value, timedelta | np.timedelta64) else None


def seconds_of(value: Any) -> float:
    """Return the number that stands for a date, a time or a duration; NaN for one that is missing.

    >>> seconds_of(date(1970, 1, 2)), seconds_of(time(1, 0, 0, 500_000)), seconds_of(np.timedelta64(1500, "ms"))
    (86400.0, 3600.5, 1.5)
    """
    if is_missing(value):
        return np.nan
    if isinstance(value, np.datetime64 | np.timedelta64):
        return float(seconds_of_array("", np.array([value]))[0])
    whole, nanoseconds = _parts(value)
    return whole + nanoseconds / 1_000_000_000


def _parts(value: Any) -> tuple[int, int]:
    """Return the seconds that Python's dates, times and durations stand for, and the nanoseconds beside these."""
    if isinstance(value, datetime):
        length = value - (_EPOCH if value.tzinfo is None else _EPOCH_UTC)
    elif isinstance(value, date):
        length = value - _EPOCH.date()
    elif isinstance(value, time):
        length = timedelta(hours=value.hour, minutes=value.minute, seconds=value.second, microseconds=value.microsecond)
    else:
        length = value
    # pandas' own dates and durations have nanoseconds besides.
    nanoseconds = length.microseconds * 1_000 + getattr(length, "nanoseconds", 0)
    return length.days * DAY + length.seconds, nanoseconds


def seconds_of_objects(name: str, values: Sequence[Any]) -> Floats:
    """Return the numbers that stand for dates, times or durations, or raise if they are finer than can be told.

    >>> seconds_of_objects("a", [timedelta(1), None]).tolist()
    [86400.0, nan]
    """
    seconds = np.empty(len(values))
    for row, value in enumerate(values):
        if isinstance(value, np.datetime64 | np.timedelta64):
            seconds[row] = _seconds_of_scalar(name, value, row)
            continue
        seconds[row] = seconds_of(value)
        if seconds[row] == seconds[row]:
            whole, nanoseconds = _parts(value)
            # Where a double is coarse, it is so for microseconds, too.
            per_second = 1_000_000 if nanoseconds % 1_000 == 0 else 1_000_000_000
            parts = nanoseconds * per_second // 1_000_000_000
            if round((seconds[row] - whole) * per_second) != parts:
                raise _too_fine(name, value, row)
    return seconds


def _seconds_of_scalar(name: str, value: np.datetime64 | np.timedelta64, row: int) -> float:
    try:
        return float(seconds_of_array(name, np.array([value]))[0])
    except InvalidTableError as error:
        if np.datetime_data(value.dtype)[0] in _PER_SECOND:
            raise _too_fine(name, value, row) from error  # which of the rows it is, an array of one cannot tell
        raise


def seconds_of_array(name: str, array: npt.NDArray[Any]) -> Floats:
    """Return the numbers that stand for numpy's dates or durations, or raise if they are finer than can be told."""
    unit, count = np.datetime_data(array.dtype)
    ticks, missing = array.view(np.int64), np.isnat(array)
    if unit in _SECONDS:
        seconds = ticks.astype(np.float64) * (count * _SECONDS[unit])
    elif unit in _PER_SECOND:
        whole, rest = np.divmod(np.where(missing, 0, ticks) * count, _PER_SECOND[unit])
        seconds = whole + rest / _PER_SECOND[unit]
        _require_told_apart(name, array, np.where(missing, 0, ticks) * count, seconds, unit)
    elif unit == "generic":  # nothing but NaT has no unit
        seconds = np.full(len(array), np.nan)
    else:
        raise InvalidTableError(f"column {name!r} has type {array.dtype}: convert it to one of days, seconds or finer")
    return np.where(missing, np.nan, seconds)


def _require_told_apart(name: str, array: npt.NDArray[Any], ticks: Ticks, seconds: Floats, unit: str) -> None:
    lost = np.flatnonzero(ticks_of(seconds, unit) != ticks)
    if lost.size:
        raise _too_fine(name, array[lost[0]], int(lost[0]))


def _too_fine(name: str, value: Any, row: int) -> InvalidTableError:
    return InvalidTableError(
        f"column {name!r} holds {value} in row {row + 1}, which is finer than numbers of its size can tell: round it "
        "to microseconds, or to seconds before 1698 and after 2242"
    )


# -- and back --------------------------------------------------------------------------------------------------------


def ticks_of(seconds: Floats, unit: str) -> Ticks:
    """Return the nearest whole numbers of a unit; 0 for what is missing.

    >>> ticks_of(np.array([1.5, np.nan]), "ms").tolist(), ticks_of(np.array([1_700_000_000.1]), "ns").tolist()
    ([1500, 0], [1700000000100000000])
    """
    known = np.nan_to_num(seconds)
    if unit == "D":
        return np.rint(known / DAY).astype(np.int64)
    per_second = _PER_SECOND[unit]
    whole = np.floor(known)
    rest = known - whole
    parts = np.rint(rest * per_second)
    if unit == "ns":
        coarse = np.abs(known) >= _NANOSECONDS_UP_TO
        parts[coarse] = 1_000.0 * np.rint(rest[coarse] * 1_000_000)
    return np.asarray(whole.astype(np.int64) * per_second + parts.astype(np.int64))


def within_limits(cell_type: CellType, seconds: Floats) -> Floats:
    """Return the numbers, those beyond what the type holds exchanged for the nearest that it does."""
    least, largest = cell_type.limits
    return np.clip(seconds, least, largest)


def array_of(cell_type: CellType, seconds: Floats) -> npt.NDArray[Any]:
    """Return dates or durations in numpy's type; NaT is missing."""
    unit = unit_of(cell_type)
    kind = "m8" if cell_type.name == "duration" else "M8"
    array = ticks_of(within_limits(cell_type, seconds), unit).view(f"{kind}[{unit}]")
    array[np.isnan(seconds)] = "NaT"
    return array


def objects_of(cell_type: CellType, seconds: Floats) -> list[Any]:
    """Return Python's dates, times or durations; None is missing.

    >>> objects_of(DATES, np.array([86400.0, np.nan]))
    [datetime.date(1970, 1, 2), None]
    """
    microseconds = ticks_of(within_limits(_in_python(cell_type), seconds), "us")
    zone = zone_of(cell_type)
    there = ~np.isnan(seconds)
    pairs = zip(microseconds.tolist(), there.tolist(), strict=True)
    return [_object(cell_type.name, each, zone) if known else None for each, known in pairs]


def _object(name: str, microseconds: int, zone: tzinfo | None) -> Any:
    length = timedelta(microseconds=microseconds)
    if name == "duration":
        return length
    if name == "time":
        return (_EPOCH + length).time()
    if zone is not None:
        try:
            return (_EPOCH_UTC + length).astimezone(zone)
        except OverflowError:  # within a day of the first or the last year
            return _EPOCH_UTC + length
    return (_EPOCH + length).date() if name == "date" else _EPOCH + length


def _in_python(cell_type: CellType) -> CellType:
    return CellType(cell_type.name, ("us", *cell_type.details[1:]))


def unit_of(cell_type: CellType) -> str:
    """Return the unit that a type counts in: days for dates."""
    return "D" if cell_type.name == "date" else str(cell_type.details[0])


def zone_of(cell_type: CellType) -> tzinfo | None:
    """Return the time zone of a type, if it has one; UTC if it is not known here."""
    name = str(cell_type.details[1]) if cell_type.name == "datetime" and len(cell_type.details) > 1 else ""
    if not name:
        return None
    offset = re.fullmatch(r"(?:UTC)?([+-])(\d{2}):(\d{2})", name)
    if offset is not None:
        minutes = 60 * int(offset[2]) + int(offset[3])
        return timezone(timedelta(minutes=-minutes if offset[1] == "-" else minutes))
    try:
        return UTC if name == "UTC" else ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        return UTC


def type_of_objects(values: Iterable[Any]) -> CellType | None:
    """Return the type of Python's dates, times or durations by the first that is there; None of anything else."""
    value = next((value for value in values if not is_missing(value)), None)
    family = family_of(value)
    if family is None:
        return None
    if family is Family.DATE and not isinstance(value, datetime | np.datetime64):
        return DATES
    if family is Family.INSTANT:
        assert isinstance(value, datetime)
        return CellType("datetime", ("us", str(value.tzinfo)))
    return USUAL_TYPES[family]


def family_of_type(cell_type: CellType) -> Family:
    """Return the family of values of a type.

    >>> str(family_of_type(CellType("datetime", ("us", "Europe/Berlin"))))
    'instant'
    """
    if cell_type.name == "datetime" and len(cell_type.details) > 1 and cell_type.details[1]:
        return Family.INSTANT
    return {"time": Family.TIME, "duration": Family.DURATION}.get(cell_type.name, Family.DATE)


# -- as text, by ISO 8601 --------------------------------------------------------------------------------------------


def written_family(texts: Iterable[str]) -> Family | None:
    """Return what all of some texts are by ISO 8601; None if they are not all of one family, or if there are none.

    >>> [str(written_family(texts)) for texts in (["2024-02-29"], ["2024-01-01T12:00Z"], ["12:30"], ["P1DT2H"], ["a"])]
    ['date', 'instant', 'time of day', 'duration', 'None']
    """
    left = dict(_WRITTEN)
    texts = iter(texts)
    for text in texts:
        left = {family: form for family, form in left.items() if form.fullmatch(text)}
        if not left:
            return None
        break
    else:
        return None
    ((family, form),) = left.items()
    return family if all(map(form.fullmatch, texts)) else None


def are_dates(texts: Iterable[str]) -> bool:
    """Tell whether all of some texts are dates or times, by ISO 8601 or as people write them.

    >>> are_dates(["31.12.2024", "1.2.2024"]), are_dates(["12/31/2024 10:30"]), are_dates(["1.2", "a"]), are_dates([])
    (True, True, False, False)
    """
    texts = list(texts)
    return written_family(texts) is not None or (bool(texts) and all(map(_WRITTEN_OTHERWISE.fullmatch, texts)))


def read_text(text: str, family: Family) -> float:
    """Return the number that stands for what a text says by ISO 8601, or raise a `ValueError`.

    >>> read_text("1970-01-02", Family.DATE), read_text("PT1M30S", Family.DURATION), read_text("12:30", Family.TIME)
    (86400.0, 90.0, 45000.0)
    """
    text = text.strip()
    form = _WRITTEN[family].fullmatch(text)
    if form is None:
        raise ValueError(f"{text!r} is no {family} by ISO 8601, such as {EXAMPLES[family]}")
    if family is Family.DURATION:
        sign, *parts = form.groups()
        lengths = [float((part or "0").replace(",", ".")) for part in parts]
        seconds = sum(length * each for length, each in zip(lengths, (7 * DAY, DAY, 3600, 60, 1), strict=True))
        return -seconds if sign == "-" else seconds
    finer = re.search(r"(?<=[.,]\d{6})\d+", text)
    if finer is not None and finer[0].strip("0"):  # of which Python would say nothing, but cut it off
        if family is not Family.TIME:
            raise ValueError(f"{text!r} is finer than numbers of its size can tell: round it to microseconds")
        return seconds_of(time.fromisoformat(text)) + float(f"0.000000{finer[0]}")
    if family is Family.TIME:
        return seconds_of(time.fromisoformat(text))
    return seconds_of(datetime.fromisoformat(text.replace(" Z", "Z").replace(" +", "+").replace(" -", "-")))


EXAMPLES = {
    Family.DATE: "2024-02-29 or 2024-02-29T12:30:00",
    Family.INSTANT: "2024-02-29T12:30:00Z or 2024-02-29T12:30:00+01:00",
    Family.TIME: "12:30 or 12:30:15.5",
    Family.DURATION: "P1DT2H or PT90S",
}


def is_day(value: Any) -> bool:
    """Tell whether this is a date without a time, as an object or as a text."""
    if isinstance(value, str):
        return _DAY_WRITTEN.fullmatch(value.strip()) is not None
    return isinstance(value, date) and not isinstance(value, datetime)


def written(value: Any) -> Any:
    """Return dates, times and durations as ISO 8601 writes them, and anything else as it is.

    >>> written(timedelta(days=1, hours=2, seconds=0.5)), written(datetime(2024, 1, 1, 12)), written("a")
    ('P1DT2H0.5S', '2024-01-01T12:00:00', 'a')
    """
    if isinstance(value, timedelta):
        return _written_duration(value)
    return value.isoformat() if isinstance(value, date | time) else value


def _written_duration(value: timedelta) -> str:
    if value < timedelta(0):
        return "-" + _written_duration(-value)
    hours, rest = divmod(value.seconds, 3600)
    minutes, whole = divmod(rest, 60)
    seconds = f"{whole}.{value.microseconds:06d}".rstrip("0") if value.microseconds else str(whole)
    parts: Sequence[tuple[str, str]] = ((str(hours), "H"), (str(minutes), "M"), (seconds, "S"))
    clock = "".join(number + letter for number, letter in parts if number != "0")
    days = f"{value.days}D" if value.days else ""
    return f"P{days}{'T' + clock if clock else ''}" if days or clock else "PT0S"
