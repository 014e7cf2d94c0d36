"""Kernels on inputs: the log-density of many rows under one input.

Rows come as two arrays, [slot, row]: `numbers` (NaN: missing) and `places` of categories (0, 1, …, then one for what
was never seen; -1: missing). `slots` says for each unit which line of which array is its variable's.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from unlearnspn.arrays import put
from unlearnspn.circuit.distributions import exponential, gaussian, histogram, log_normal, point, poisson
from unlearnspn.circuit.expressions import HIGH, LOG_MASS, LOW, Unit
from unlearnspn.compiling import kernel

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.int32]

_CATEGORICAL, _GAUSSIAN, _EXPONENTIAL = int(Unit.CATEGORICAL), int(Unit.GAUSSIAN), int(Unit.EXPONENTIAL)
_LOG_NORMAL, _POISSON, _HISTOGRAM = int(Unit.LOG_NORMAL), int(Unit.POISSON), int(Unit.HISTOGRAM)

#: Up to so many categories a copy of their table pays, if there are as many rows.
_FEW = 64

_add_gaussian, _add_exponential = gaussian.add_log_density, exponential.add_log_density
_add_log_normal, _add_poisson = log_normal.add_log_density, poisson.add_log_density
_add_histogram, _add_point = histogram.add_log_density, point.add_log_density


@kernel
def add_input(unit: int, parameters: Floats, numbers: Floats, places: Places, total: Floats) -> None:
    """Add the log-density of each row; of `numbers` and `places`, one line each, only the fitting one is read."""
    if unit == _CATEGORICAL:
        add_categorical(parameters, places, total)
        return
    if unit == _GAUSSIAN:
        _add_gaussian(parameters, numbers, total)
    elif unit == _EXPONENTIAL:
        _add_exponential(parameters, numbers, total)
    elif unit == _LOG_NORMAL:
        _add_log_normal(parameters, numbers, total)
    elif unit == _POISSON:
        _add_poisson(parameters, numbers, total)
    elif unit == _HISTOGRAM:
        _add_histogram(parameters, numbers, total)
    else:
        _add_point(parameters, numbers, total)
    if parameters[LOW] > -math.inf or parameters[HIGH] < math.inf:
        _cut_off(parameters, numbers, total)


@kernel
def add_categorical(log_probabilities: Floats, places: Places, total: Floats) -> None:
    """Add the log-probability of each row's category."""
    if log_probabilities.size > min(_FEW, total.size):
        for r in range(total.size):
            if places[r] >= 0:
                total[r] += log_probabilities[places[r]]
        return
    # A table with a place for what is missing needs no question in the loop.
    table = np.empty(log_probabilities.size + 1)
    table[0] = 0.0
    put(table, 1, log_probabilities)
    for r in range(total.size):
        total[r] += table[np.uint32(places[r] + 1)]


@kernel
def _cut_off(parameters: Floats, numbers: Floats, total: Floats) -> None:
    low, high, log_mass = parameters[LOW], parameters[HIGH], parameters[LOG_MASS]
    for r in range(total.size):
        value = numbers[r]
        if value < low or value > high:
            total[r] = -math.inf
        elif value == value:
            total[r] -= log_mass
