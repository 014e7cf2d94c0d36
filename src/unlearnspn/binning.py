"""Bins of a numeric column: a lattice around a coarse centre, as wide as a coarse scale, so that few records move it.

Centre and scale are those of the whole column, from its exact mean and deviation. A few values far away, or a long
tail, make that scale so large that all others share a bin: then the lattice is laid where three quarters of the values
lie close together, the crowd. A value that more than half of the records have has a bin of its own, as zero where most
have nothing.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from unlearnspn.rows.number_codes import count_cells

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]
T = TypeVar("T")

#: How far bins reach from the centre, in scales; what lies beyond is in the first of them, or in the last.
REACH = 3.0
#: A crowd is in so many neighbouring cells, whose width is a power of two; the widest, in scales, are so wide that
#: neither a bell nor an exponential tail has a crowd.
_WINDOW, _WIDEST = 4, 0.25
#: How many cells are counted. A crowd are three sixteenths of all values at least, so that one of them comes closer to
#: the mean than 2.31 deviations, or five scales; one more is for the rounding of the centre, and one for the window.
N_CELLS = 2 * int((5 + 1 + 1) / _WIDEST)
#: Beyond these there is no crowd, so that no quotient is too large.
_LEAST, _LARGEST = 2.0**-300, 2.0**300
_ALWAYS = 1 << 62


class Crowd(NamedTuple):
    """Where most values of a column lie: in a part of it, or all over."""

    centre: float
    scale: float
    #: The value that more than half of the values are, if one is.
    usual: float | None = None


def lay_edges(centre: float, scale: float, n_bins: int, usual: float | None = None) -> Floats:
    """Return the edges of so many bins, and those between which there is just a usual value.

    >>> lay_edges(10.0, 2.0, 4).tolist()
    [6.0, 10.0, 14.0]
    >>> lay_edges(10.0, 2.0, 4, 9.0).tolist()
    [6.0, 8.999999999999998, 9.0, 10.0, 14.0]
    """
    steps = np.arange(2 - n_bins, n_bins, 2) * (REACH / (n_bins - 1))
    with np.errstate(over="ignore"):
        edges = centre + steps * scale
        if usual is not None:
            edges = np.sort(np.append(edges, [np.nextafter(usual, -np.inf), usual]))
    edges = edges[np.isfinite(edges)]
    differs: npt.NDArray[np.bool_] = np.ones(len(edges), np.bool_)
    differs[1:] = edges[1:] != edges[:-1]
    return np.asarray(edges[differs])


class Cells(NamedTuple):
    """Asks how many values lie in each of `N_CELLS` cells, the first of which starts at so many widths."""

    width: float
    start: float
    #: A value that does not count.
    without: float | None = None


class Heaviest(NamedTuple):
    """Asks which value most have, if a third do, and how many have it; and how many have any value at most."""

    without: float | None = None


class Between(NamedTuple):
    """Asks whether a value is no multiple of a unit."""

    unit: float


#: A decision about a column: it asks of the values what it must know, and reads none of them.
Search = Generator[Cells | Heaviest | Between, Any, T]


def answered(search: Search[T], values: Floats) -> T:
    """Return what a search finds if all values are here.

    >>> answered(search_crowd(5, 0.0, 1.0), np.array([0.0, 0.0, 0.0, 1.0, 2.0]))[0]
    Crowd(centre=0.0, scale=1.0, usual=0.0)
    """
    values, answer = values[~np.isnan(values)], None
    while True:
        try:
            answer = answer_from(values, search.send(answer))
        except StopIteration as stop:
            found: T = stop.value
            return found


def answer_from(values: Floats, ask: Cells | Heaviest | Between) -> Any:
    """Answer from all values, none of which is missing."""
    if isinstance(ask, Between):
        return bool(are_between(values, ask.unit).any())
    if ask.without is not None:
        values = values[values != ask.without]
    if isinstance(ask, Cells):
        return count_cells(values, ask.width, ask.start, N_CELLS)
    candidates = third_values(values)
    numbers = [int(np.count_nonzero(values == candidate)) for candidate in candidates]
    return heaviest_of(candidates, numbers, values.size)


def third_values(values: Floats) -> list[float]:
    """Return the values at one third and two thirds of all: one that more than a third have is among them."""
    if values.size == 0:
        return []
    places = [values.size // 3, 2 * values.size // 3]
    thirds: list[float] = np.partition(values, places)[places].tolist()
    return thirds


def heaviest_of(candidates: Sequence[float], numbers: Sequence[int], n_values: int) -> tuple[float, int, int]:
    """Return the answer to `Heaviest`, given how many have each of some values, in increasing order of these."""
    if n_values == 0:
        return 0.0, 0, 0
    number = max(numbers)
    return candidates[list(numbers).index(number)], number, max(number, n_values // 3 + 1)


def are_between(values: Floats, unit: float | Floats) -> npt.NDArray[np.bool_]:
    """Tell which values are no multiples of a unit; what is missing is nothing in between."""
    between: npt.NDArray[np.bool_] = np.mod(values, unit) > 0.0
    return between


def search_crowd(n_values: int, centre: float, scale: float) -> Search[tuple[Crowd, int]]:
    """Find where most of so many values of a column lie, given centre and scale of all of them.

    The second is how many values may leave or come before that is to be asked again.

    A crowd are three quarters of the values in a window of four cells, in the narrowest there is, the first of several.
    A value that more than half of the records have does not count, as zero where most have nothing; and one value alone
    is no crowd. Without a crowd centre and scale stay what they are.
    """
    if not _LEAST < scale < _LARGEST or abs(centre) >= _LARGEST:
        return Crowd(centre, scale), _ALWAYS
    width = scale * _WIDEST
    start = float(np.floor(centre / width)) - N_CELLS // 2
    cells = yield Cells(width, start)
    slack, heaviest, usual = n_values - 2 * int(cells.max()), None, None
    if slack < 0:
        heaviest = value, number, most = yield Heaviest()
        if 2 * number > n_values:
            usual = value + 0.0  # one of both zeros
        if 4 * number >= 3 * n_values:
            return Crowd(centre, scale, usual), _changes_to_lose(4 * number - 3 * n_values)
        slack = min(abs(2 * most - n_values) - 1, _changes_to_reach(4 * most - 3 * n_values))
        if usual is not None:
            n_values, heaviest = n_values - number, None
            cells = yield Cells(width, start, usual)
    margins = _margins(cells, n_values)
    slack = min(slack, _changes_until_another_reaches(margins))
    if margins.max() < 0:
        return Crowd(centre, scale, usual), slack
    _, number, most = heaviest or (yield Heaviest(usual))
    if 4 * number >= 3 * n_values:
        return Crowd(centre, scale, usual), min(slack, _changes_to_lose(4 * number - 3 * n_values))
    slack = min(slack, _changes_to_reach(4 * most - 3 * n_values))
    crowd, slack = yield from _narrow_down(n_values, usual, width, start, margins, slack)
    return crowd._replace(usual=usual), slack


def _narrow_down(
    n_values: int, usual: float | None, width: float, start: float, margins: Counts, slack: int
) -> Search[tuple[Crowd, int]]:
    """Find the crowd, and the slack, given the margins of windows some of which have one, from so many widths on.

    A window that has a crowd lies in one with cells twice as wide, which has it, too.
    """
    while True:
        first = int(np.argmax(margins >= 0))
        kept = _changes_to_lose(int(margins[first]))
        start, narrower = start + first, width / 2.0
        margins = _margins((yield Cells(narrower, 2.0 * start, usual)), n_values)
        slack = min(slack, _changes_until_another_reaches(margins))
        if margins.max() < 0 or narrower <= _LEAST:
            return Crowd((start + _WINDOW / 2) * width, width), min(slack, kept)
        start, width = 2.0 * start, narrower


def _margins(cells: Counts, n_values: int) -> Counts:
    """Return of each window by how much it has three quarters of the values, in quarters of a value; or has not."""
    sums = np.concatenate([[0], np.cumsum(cells)])
    return np.asarray(4 * (sums[_WINDOW:] - sums[:-_WINDOW]) - 3 * n_values)


def _changes_to_reach(margin: int) -> int:
    """Return after how many changes, each of which adds three quarters at most, a margin is still below zero."""
    return (-margin - 1) // 3


def _changes_to_lose(margin: int) -> int:
    """Return after how many changes a margin is not yet below zero."""
    return margin // 3


def _changes_until_another_reaches(margins: Counts) -> int:
    """Return after how many changes no window has three quarters that has not."""
    short = margins[margins < 0]
    return _changes_to_reach(int(short.max())) if short.size else _ALWAYS
