"""The log-density of many rows under one input.

Rows come as two arrays, [slot, row]: `numbers` (NaN: missing) and `places` of categories (0, 1, …, then one for what
was never seen; -1: missing). `slots` says for each unit which line of which array is its variable's.
"""

from __future__ import annotations

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.libc.math import INFINITY
from cython.cimports.unlearnspn.circuit.inputs import PlaceNumbers
from cython.cimports.unlearnspn.circuit.log_densities import Numbers, add_numeric
from cython.cimports.unlearnspn.const_types import const_float64, const_int32

from unlearnspn.circuit.expressions import HIGH, LOG_MASS, LOW, Unit

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.int32]

_CATEGORICAL = cython.declare(cython.int, int(Unit.CATEGORICAL))
_LOW = cython.declare(cython.Py_ssize_t, LOW)
_HIGH = cython.declare(cython.Py_ssize_t, HIGH)
_LOG_MASS = cython.declare(cython.Py_ssize_t, LOG_MASS)


def add_input(unit: int, parameters: Floats, numbers: Floats, places: Places, total: Floats) -> None:
    """Add the log-density of each row; of `numbers` and `places`, one line each, only the fitting one is read."""
    own: const_float64[::1] = parameters
    number_line: const_float64[::1] = numbers
    place_line: const_int32[::1] = places
    sums: cython.double[::1] = total
    if sums.shape[0]:
        add_to_rows(
            unit,
            cython.address(own[0]),
            own.shape[0],
            cython.address(number_line[0]),
            cython.address(place_line[0]),
            cython.address(sums[0]),
            sums.shape[0],
        )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_to_rows(
    unit: cython.int,
    parameters: Numbers,
    n_parameters: cython.Py_ssize_t,
    numbers: Numbers,
    places: PlaceNumbers,
    total: cython.p_double,
    n_rows: cython.Py_ssize_t,
) -> cython.void:
    """Do what `add_input` does."""
    if unit == _CATEGORICAL:
        _add_categorical(parameters, n_parameters, places, total, n_rows)
        return
    add_numeric(unit, parameters, n_parameters, numbers, total, n_rows)
    if parameters[_LOW] > -INFINITY or parameters[_HIGH] < INFINITY:
        _cut_off(parameters, numbers, total, n_rows)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add_categorical(
    log_probabilities: Numbers,
    n_categories: cython.Py_ssize_t,
    places: PlaceNumbers,
    total: cython.p_double,
    n_rows: cython.Py_ssize_t,
) -> cython.void:
    """Add the log-probability of each row's category."""
    r: cython.Py_ssize_t
    # Up to so many categories, a copy of their table pays, if there are as many rows.
    table = cython.declare(cython.double[65])
    if n_categories > 64 or n_categories > n_rows:
        for r in range(n_rows):
            if places[r] >= 0:
                total[r] += log_probabilities[places[r]]
        return
    # A table with a place for what is missing needs no question in the loop.
    table[0] = 0.0
    for r in range(n_categories):
        table[r + 1] = log_probabilities[r]
    for r in range(n_rows):
        total[r] += table[places[r] + 1]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _cut_off(parameters: Numbers, numbers: Numbers, total: cython.p_double, n_rows: cython.Py_ssize_t) -> cython.void:
    """Leave nothing outside of the bounds, and make what is between them a distribution again."""
    r: cython.Py_ssize_t
    low = parameters[_LOW]
    high = parameters[_HIGH]
    log_mass = parameters[_LOG_MASS]
    for r in range(n_rows):
        value = numbers[r]
        if value < low or value > high:
            total[r] = -INFINITY
        elif value == value:
            total[r] -= log_mass
