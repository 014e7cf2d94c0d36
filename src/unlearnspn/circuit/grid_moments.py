"""Moments of values on a grid, given the distributions of the numbers that they are nearest to.

A distribution that reaches over few cells is summed cell by cell. For a wide one the sum is an integral with the terms
of the Euler-Maclaurin formula that rounding calls for: Sheppard's correction, and one at each end of the density. What
is left out is less than 1e-7 of a standard deviation to the power of the moment.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from unlearnspn.circuit.distributions import NUMERIC, Distribution, cut_off, log_mass
from unlearnspn.circuit.expressions import Unit
from unlearnspn.circuit.grids import Grid
from unlearnspn.circuit.inputs import Floats, add_input

#: A distribution over more cells than this is integrated.
_MOST_CELLS = 1024
#: What is outside of these shares is put into the first and the last cell that is looked at.
_LEAST_SHARE, _LARGEST_SHARE = 2.0**-54, 1.0 - 2.0**-53
#: About how many parameters are held at a time.
_HELD = 1 << 22


def grid_moments(unit: Unit, parameters: Floats, grid: Grid, order: int, centre: float) -> Floats:
    """Return the expectation of (x - centre)**order under each input, for the value x on the grid."""
    distribution, n = NUMERIC[unit], len(parameters)
    first = grid.nearest(distribution.quantile(parameters, np.full(n, _LEAST_SHARE)))
    last = grid.nearest(distribution.quantile(parameters, np.full(n, _LARGEST_SHARE)))
    n_cells = (last - first) / grid.step + 1.0 if grid.step > 0.0 else np.full(n, math.inf)
    wide = n_cells > _MOST_CELLS
    result = np.empty(n)
    narrow = np.flatnonzero(~wide)
    for rows in np.array_split(narrow, 1 + int(n_cells[narrow].sum()) * parameters.shape[1] // _HELD):
        if rows.size:
            cells = n_cells[rows].astype(np.int64)
            result[rows] = _sums(distribution, parameters[rows], grid, first[rows], cells, order, centre)
    if wide.any() and distribution.discrete:  # its numbers are whole themselves
        result[wide] = distribution.moment(parameters[wide], order, np.full(int(wide.sum()), centre))
    elif wide.any():
        result[wide] = _integrals(unit, parameters[wide], grid, order, centre)
    return result


def _sums(
    distribution: Distribution,
    parameters: Floats,
    grid: Grid,
    first: Floats,
    n_cells: npt.NDArray[np.int64],
    order: int,
    centre: float,
) -> Floats:
    """Sum over the cells of each input, of which the outermost take all that is beyond them."""
    starts = np.cumsum(n_cells) - n_cells
    owners = np.repeat(np.arange(len(parameters)), n_cells)
    values = first[owners] + grid.step * (np.arange(len(owners)) - starts[owners])
    low, high = values - 0.5 * grid.step, grid.ends(values)
    low[starts], high[starts + n_cells - 1] = -math.inf, math.inf
    mass = np.exp(log_mass(distribution, parameters[owners], low, high))
    # What rounding makes of all masses together is the same in both sums.
    return np.asarray(np.add.reduceat(mass * (values - centre) ** order, starts) / np.add.reduceat(mass, starts))


def _integrals(unit: Unit, parameters: Floats, grid: Grid, order: int, centre: float) -> Floats:
    distribution, n, step = NUMERIC[unit], len(parameters), grid.step
    nothing = np.zeros(n)
    lowest, highest = grid.lowest - 0.5 * step, grid.highest + 0.5 * step
    low = np.maximum(distribution.quantile(parameters, nothing), lowest)
    high = np.minimum(distribution.quantile(parameters, nothing + 1.0), highest)
    result = np.zeros(n)
    for end, beyond in ((grid.lowest, (-math.inf, lowest)), (grid.highest, (highest, math.inf))):
        if math.isfinite(end):
            outside = np.exp(log_mass(distribution, parameters, nothing + beyond[0], nothing + beyond[1]))
            if outside.any():
                result += outside * (end - centre) ** order
    mass = np.exp(log_mass(distribution, parameters, low, high))
    within = np.flatnonzero(mass > 0.0)
    cut, centres = cut_off(distribution, parameters[within], low[within], high[within]), nothing[within] + centre
    moments = distribution.moment(cut, order, centres)
    if order > 1 and step > 0.0:
        sheppard = order * (order - 1) * step**2 / 24.0
        moments = moments + sheppard * distribution.moment(cut, order - 2, centres)
    result[within] += mass[within] * moments
    if order > 0 and step > 0.0:
        result -= _at_ends(unit, parameters, low, step, order, centre)
        result += _at_ends(unit, parameters, high, step, order, centre)
    return result


def _at_ends(unit: Unit, parameters: Floats, ends: Floats, step: float, order: int, centre: float) -> Floats:
    """Return what a density that ends so abruptly contributes, by where in its cell the end is."""
    result, place = np.zeros(len(ends)), np.zeros(1, np.int32)
    for row in np.flatnonzero(np.isfinite(ends)).tolist():
        log_density = np.zeros(1)
        add_input(int(unit), parameters[row], ends[row : row + 1], place, log_density)
        end, density = float(ends[row]), math.exp(log_density[0])
        if density > 0.0:
            share = end / step - round(end / step)
            slope = order * (end - centre) ** (order - 1)
            result[row] = density * slope * step**2 * (1.0 / 24.0 - share**2 / 2.0)
    return result
