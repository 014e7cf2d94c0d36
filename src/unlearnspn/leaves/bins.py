"""Numbers by bin: the exact moments of a variable's values in each bin, and the Gaussians that follow from them.

Moments of all numeric variables of a scope lie one after another, those of each bin as words, see `exact_sum`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unlearnspn.circuit.expressions import HIGH, LOG_MASS, LOW, OWN, numeric_parameters
from unlearnspn.coding import Codes
from unlearnspn.compiling import inlined, kernel, late_kernel, per_element
from unlearnspn.exact_rounding import mean_and_std
from unlearnspn.exact_sum import Bits, Window, Words, add_by_code
from unlearnspn.slices import Counts, Flags, Rows, Scope, Slice

Floats = npt.NDArray[np.float64]

_MEAN, _STD = OWN, OWN + 1
#: How many parameters a Gaussian has.
_WIDTH = len(numeric_parameters(0.0, 1.0))
_NO_LINES = np.zeros((0, _WIDTH))


class BinColumns(NamedTuple):
    """What kernels need to know of all variables of a table."""

    is_numeric: Flags
    #: How many codes each has; there is a bin for each code but 0, which is that of what is missing.
    sizes: Counts
    #: Which limbs the sums of each have, see `Window`.
    windows: Counts
    #: The column of its values.
    places: Counts


def columns_of(data: Slice) -> BinColumns:
    """Return what kernels need to know of the variables of a table."""
    records = data.records
    return BinColumns(records.is_numeric, data.encoding.sizes, records.totals.windows, records.place)


@inlined
def _window(columns: BinColumns, v: int) -> tuple[int, int, int]:
    """Return a variable's window as kernels take it."""
    return columns.windows[v, 0], columns.windows[v, 1], columns.windows[v, 2]


@kernel
def _bin_words(columns: BinColumns, v: int) -> int:
    """Return how many words the moments of a bin take."""
    return int(1 + columns.windows[v, 1] + columns.windows[v, 2])


@kernel
def n_bin_words(columns: BinColumns, scope: Scope) -> int:
    """Return how many words the moments of all bins of some variables take."""
    total = 0
    for v in scope:
        if columns.is_numeric[v]:
            total += (columns.sizes[v] - 1) * _bin_words(columns, v)
    return total


@kernel
def shift_bins(
    words: Words, codes: Codes, bits: Bits, rows: Rows, scope: Scope, columns: BinColumns, sign: int
) -> None:
    """Put the values of some rows into the sums of their bins, or take them out."""
    at = 0
    for v in scope:
        if columns.is_numeric[v]:
            end = at + (columns.sizes[v] - 1) * _bin_words(columns, v)
            add_by_code(words[at:end], bits, rows, columns.places[v], codes, v, _window(columns, v), sign)
            at = end


def lines_of_bins(words: Words, scope: Scope, columns: BinColumns) -> Iterator[tuple[int, Window, Words]]:
    """Yield each numeric variable of a scope, the window of its sums, and a line of words for each of its bins."""
    at = 0
    for v in scope.tolist():
        if columns.is_numeric[v]:
            window, n_bins = Window(*columns.windows[v].tolist()), int(columns.sizes[v]) - 1
            end = at + n_bins * window.n_words
            yield v, window, words[at:end].reshape(n_bins, window.n_words)
            at = end


class BinDefaults(NamedTuple):
    """What holds of each variable of a table beside its sums; zeros of those that are no numbers."""

    least_stds: Floats
    #: Mean and deviation in bins that no record has.
    elsewhere: Floats


def bin_parameters(words: Words, scope: Scope, columns: BinColumns, defaults: BinDefaults) -> tuple[Floats, Counts]:
    """Return the parameters of numbers in each bin that some record has, then elsewhere; and where each one's start."""
    if words.size == 0:
        return _NO_LINES, np.zeros(scope.size, np.int64)
    parameters, starts = _bin_parameters(words, scope, columns, defaults)
    if np.isnan(parameters[:, _MEAN:]).any():
        parameters = _exact_parameters(words, scope, columns, defaults)
    return parameters, starts


@late_kernel(per_element(10, 0))
def _bin_parameters(words: Words, scope: Scope, columns: BinColumns, defaults: BinDefaults) -> tuple[Floats, Counts]:
    """Return what `bin_parameters` does, with NaN for what `mean_and_std` cannot tell to the last bit."""
    starts, n_lines = np.empty(scope.size, np.int64), 0
    for v in scope:
        n_lines += columns.sizes[v] if columns.is_numeric[v] else 0
    lines, at, line = np.empty((n_lines, _WIDTH)), 0, 0
    lines[:, LOW], lines[:, HIGH], lines[:, LOG_MASS] = -np.inf, np.inf, 0.0
    for i in range(scope.size):
        v = scope[i]
        starts[i] = line
        if not columns.is_numeric[v]:
            continue
        least = defaults.least_stds[v]
        for _ in range(columns.sizes[v] - 1):
            if words[at] > 0:
                mean, std = mean_and_std(words, at, _window(columns, v))
                lines[line, _MEAN], lines[line, _STD] = mean, least if std < least else std  # and not if it is NaN
                line += 1
            at += _bin_words(columns, v)
        lines[line, _MEAN], lines[line, _STD] = defaults.elsewhere[v, 0], defaults.elsewhere[v, 1]
        line += 1
    return lines[:line].copy(), starts


def _exact_parameters(words: Words, scope: Scope, columns: BinColumns, defaults: BinDefaults) -> Floats:
    """Return the same parameters, all of them known, by integers of arbitrary size."""
    parameters = []
    for v, window, lines in lines_of_bins(words, scope, columns):
        least = float(defaults.least_stds[v])
        gaussians = [(mean, max(std, least)) for mean, std in window.means_and_stds(lines)]
        parameters += [numeric_parameters(*own) for own in (*gaussians, defaults.elsewhere[v].tolist())]
    return np.array(parameters)
