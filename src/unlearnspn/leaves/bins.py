"""Numbers by bin: the exact moments of a variable's values in each bin, and the Gaussians that follow from them.

Moments of all numeric variables of a scope lie one after another, those of each bin as words, see `exact_sum`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, cast

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.unlearnspn.const_types import const_float64, const_int64, const_uint8
from cython.cimports.unlearnspn.exact_sums import Limbs, add_value, carry
from cython.cimports.unlearnspn.rounded_sums import MeanAndStd, rounded_moments

from unlearnspn.circuit.expressions import HIGH, LOG_MASS, LOW, OWN, numeric_parameters
from unlearnspn.coding import Codes
from unlearnspn.slices import Counts, Flags, Rows, Scope, Slice
from unlearnspn.statistics.moments import Moments, Window, Words

Floats = npt.NDArray[np.float64]

_MEAN = OWN
#: How many parameters a Gaussian has.
_WIDTH = len(numeric_parameters(0.0, 1.0))
_NO_LINES = np.zeros((0, _WIDTH))


class BinColumns(NamedTuple):
    """What sums by bin need to know of all variables of a table."""

    is_numeric: Flags
    #: How many codes each has; there is a bin for each code but 0, which is that of what is missing.
    sizes: Counts
    #: Which limbs the sums of each have, see `Window`.
    windows: Counts
    #: The column of its values.
    places: Counts


def columns_of(data: Slice) -> BinColumns:
    """Return what sums by bin need to know of the variables of a table."""
    records = data.records
    return BinColumns(records.is_numeric, data.encoding.sizes, records.totals.windows, records.place)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _limbs(windows: const_int64[:, ::1], v: cython.Py_ssize_t) -> Limbs:
    """Return a variable's window."""
    return Limbs(low=windows[v, 0], n_first=windows[v, 1], n_second=windows[v, 2])


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _n_words(window: Limbs) -> cython.Py_ssize_t:
    """Return how many words the moments of a bin take."""
    return 1 + window.n_first + window.n_second


def n_bin_words(columns: BinColumns, scope: Scope) -> int:
    """Return how many words the moments of all bins of some variables take."""
    variables: const_int64[::1] = scope
    is_numeric: const_uint8[::1] = columns.is_numeric.view(np.uint8)
    sizes: const_int64[::1] = columns.sizes
    windows: const_int64[:, ::1] = columns.windows
    i: cython.Py_ssize_t
    v: cython.Py_ssize_t
    total: cython.longlong = 0
    for i in range(variables.shape[0]):
        v = variables[i]
        if is_numeric[v]:
            total += (sizes[v] - 1) * _n_words(_limbs(windows, v))
    return cast(int, total)


def shift_bins(
    words: Words, codes: Codes, bits: Counts, rows: Rows, scope: Scope, columns: BinColumns, sign: int
) -> None:
    """Put the values of some rows into the sums of their bins, or take them out."""
    variables: const_int64[::1] = scope
    is_numeric: const_uint8[::1] = columns.is_numeric.view(np.uint8)
    sizes: const_int64[::1] = columns.sizes
    windows: const_int64[:, ::1] = columns.windows
    places: const_int64[::1] = columns.places
    sums: cython.longlong[::1] = words
    all_codes: const_uint8[:, ::1] = codes
    all_bits: const_int64[:, ::1] = bits
    members: const_int64[:] = rows
    factor: cython.longlong = sign
    at: cython.Py_ssize_t = 0
    i: cython.Py_ssize_t
    v: cython.Py_ssize_t
    window: Limbs
    if sums.shape[0] == 0:
        return
    with cython.nogil:
        for i in range(variables.shape[0]):
            v = variables[i]
            if is_numeric[v]:
                window = _limbs(windows, v)
                _shift_variable(
                    cython.address(sums[at]), all_codes, v, sizes[v] - 1, all_bits, places[v], members, window, factor
                )
                at += (sizes[v] - 1) * _n_words(window)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _shift_variable(
    sums: cython.p_longlong,
    codes: const_uint8[:, ::1],
    variable: cython.Py_ssize_t,
    n_bins: cython.Py_ssize_t,
    bits: const_int64[:, ::1],
    column: cython.Py_ssize_t,
    rows: const_int64[:],
    window: Limbs,
    sign: cython.longlong,
) -> cython.void:
    """Put the values of a variable into the sums of its bins, which lie one after another, or take them out."""
    n_words: cython.Py_ssize_t = _n_words(window)
    i: cython.Py_ssize_t
    code: cython.Py_ssize_t
    for i in range(rows.shape[0]):
        code = codes[rows[i], variable]
        if code:
            add_value(sums + (code - 1) * n_words, bits[rows[i], column], window, sign)
    for i in range(n_bins):
        carry(sums + i * n_words, window)


def lines_of_bins(words: Words, scope: Scope, columns: BinColumns) -> Iterator[tuple[int, Window, Words]]:
    """Yield each numeric variable of a scope, the window of its sums, and a line of words for each of its bins."""
    at = 0
    for v in scope.tolist():
        if columns.is_numeric[v]:
            window, n_bins = Window(*columns.windows[v].tolist()), int(columns.sizes[v]) - 1
            end = at + n_bins * window.n_words
            yield v, window, words[at:end].reshape(n_bins, window.n_words)
            at = end


def merge_bins(one: Words, other: Words, scope: Scope, columns: BinColumns) -> Words:
    """Return the moments of the values of both, bin by bin."""
    merged = [np.zeros(0, np.int64)]
    both = zip(lines_of_bins(one, scope, columns), lines_of_bins(other, scope, columns), strict=True)
    for (_, window, own), (_, _, others) in both:
        for line, more in zip(own, others, strict=True):
            merged.append(Moments.from_words(line, window).merge(Moments.from_words(more, window)).to_words(window))
    return np.concatenate(merged)


class BinDefaults(NamedTuple):
    """What holds of each variable of a table beside its sums; zeros of those that are no numbers."""

    least_stds: Floats
    #: Mean and deviation in bins that no record has.
    elsewhere: Floats
    #: The value that more than half of the records have, or NaN, and its least deviation.
    usual: Floats
    usual_stds: Floats


def bin_parameters(words: Words, scope: Scope, columns: BinColumns, defaults: BinDefaults) -> tuple[Floats, Counts]:
    """Return the parameters of numbers in each bin that some record has, then elsewhere; and where each one's start."""
    if words.size == 0:
        return _NO_LINES, np.zeros(scope.size, np.int64)
    parameters, starts = _bin_parameters(words, scope, columns, defaults)
    if np.isnan(parameters[:, _MEAN:]).any():
        parameters = _exact_parameters(words, scope, columns, defaults)
    return parameters, starts


def _bin_parameters(words: Words, scope: Scope, columns: BinColumns, defaults: BinDefaults) -> tuple[Floats, Counts]:
    """Return what `bin_parameters` does, with NaN for what cannot be told to the last bit."""
    lines = np.empty((int((columns.sizes * columns.is_numeric)[scope].sum()), _WIDTH))
    starts = np.empty(scope.size, np.int64)
    lines[:, LOW], lines[:, HIGH], lines[:, LOG_MASS] = -np.inf, np.inf, 0.0
    n_lines = _write_gaussians(
        words,
        scope,
        columns.is_numeric.view(np.uint8),
        columns.sizes,
        columns.windows,
        defaults.least_stds,
        defaults.elsewhere,
        defaults.usual,
        defaults.usual_stds,
        lines[:, OWN:],
        starts,
    )
    return lines[:n_lines].copy(), starts


@cython.cfunc
def _write_gaussians(
    words: const_int64[::1],
    scope: const_int64[::1],
    is_numeric: const_uint8[::1],
    sizes: const_int64[::1],
    windows: const_int64[:, ::1],
    least_stds: const_float64[::1],
    elsewhere: const_float64[:, ::1],
    usual: const_float64[::1],
    usual_stds: const_float64[::1],
    gaussians: cython.double[:, :],
    starts: cython.longlong[::1],
) -> cython.Py_ssize_t:
    """Write mean and deviation of each line, and where the lines of each variable start; return how many there are."""
    at: cython.Py_ssize_t = 0
    line: cython.Py_ssize_t = 0
    i: cython.Py_ssize_t
    v: cython.Py_ssize_t
    window: Limbs
    found: MeanAndStd
    is_usual: cython.bint
    least: cython.double
    with cython.nogil:
        for i in range(scope.shape[0]):
            v = scope[i]
            starts[i] = line
            if not is_numeric[v]:
                continue
            window = _limbs(windows, v)
            for _ in range(1, sizes[v]):
                if words[at] > 0:
                    found = rounded_moments(cython.address(words[at]), window)
                    gaussians[line, 0] = found.mean
                    is_usual = found.std == 0.0 and found.mean == usual[v]
                    least = usual_stds[v] if is_usual else least_stds[v]
                    # A deviation that is NaN stays so.
                    gaussians[line, 1] = least if found.std < least else found.std
                    line += 1
                at += _n_words(window)
            gaussians[line, 0], gaussians[line, 1] = elsewhere[v, 0], elsewhere[v, 1]
            line += 1
    return line


def _exact_parameters(words: Words, scope: Scope, columns: BinColumns, defaults: BinDefaults) -> Floats:
    """Return the same parameters, all of them known, by integers of arbitrary size."""
    parameters = []
    for v, window, lines in lines_of_bins(words, scope, columns):
        least, usual, usual_std = (float(own[v]) for own in (defaults.least_stds, defaults.usual, defaults.usual_stds))
        gaussians = [
            (mean, usual_std if std == 0.0 and mean == usual else max(std, least))
            for mean, std in window.means_and_stds(lines)
        ]
        parameters += [numeric_parameters(*own) for own in (*gaussians, defaults.elsewhere[v].tolist())]
    return np.array(parameters)
