"""Whether the largest canonical correlation of two variables' features exceeds a threshold.

A variable takes few values (levels, codes), so its features are a small matrix and two variables are described by the
integer table of their values: no row is looked at here. The verdict is a fixed sequence of IEEE operations on such
tables, codes in the order of their fingerprints, hence the same on every machine and whatever code a category has.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unlearnspn.arrays import put
from unlearnspn.compiling import inlined, inner_kernel, kernel, per_element
from unlearnspn.hashing import Keys
from unlearnspn.independence.pair_counts import Table
from unlearnspn.independence.random_features import Matrix, uniform
from unlearnspn.slices import Counts, Scope

#: Against directions without variance: sines of ranks are nearly collinear, indicators are not.
_RIDGE_SINES = 1e-6
_RIDGE_CODES = 1e-9


class Whitened(NamedTuple):
    """Features of all variables of a scope, uncorrelated and of variance 1 (or less, by the ridge)."""

    #: [variable, code, feature], with mean 0.
    features: npt.NDArray[np.float64]
    #: How many features each variable has.
    widths: Counts
    #: The codes that occur, in an order that does not depend on how codes were given out; [variable, place].
    orders: Counts
    #: How many codes occur.
    occurring: Counts


@inner_kernel(per_element(100, 0))
def whiten(
    counts: Counts,
    scope: Scope,
    is_numeric: npt.NDArray[np.bool_],
    sines: Matrix,
    prints: Keys,
    n_features: int,
) -> Whitened:
    """Derive the whitened features of some variables from how often each code occurs, [variable, code]."""
    n_variables, n_codes = counts.shape
    features = np.zeros((n_variables, n_codes, n_features))
    widths = np.zeros(n_variables, np.int64)
    orders = np.zeros((n_variables, n_codes), np.int64)
    occurring = np.zeros(n_variables, np.int64)
    for i in range(n_variables):
        v = scope[i]
        number = 0
        for code in range(1, n_codes):
            if counts[i, code] > 0:
                orders[i, number] = code
                number += 1
        occurring[i] = number
        order = orders[i, :number]
        if number < 2:
            continue
        if is_numeric[v]:
            widths[i] = n_features
            for code in order:
                put(features[i, code], 0, sines[v, code])
        else:
            _sort_by_print(order, prints[v])
            widths[i] = min(number - 1, n_features)
            _write_features(order, prints[v], features[i], widths[i])
        _whiten(features[i], widths[i], order, counts[i], _RIDGE_SINES if is_numeric[v] else _RIDGE_CODES)
    return Whitened(features, widths, orders, occurring)


@kernel
def _sort_by_print(codes: Counts, prints: Keys) -> None:
    for place in range(1, codes.size):
        code, before = codes[place], place
        while before > 0 and prints[codes[before - 1]] > prints[code]:
            codes[before] = codes[before - 1]
            before -= 1
        codes[before] = code


@kernel
def _write_features(order: Counts, prints: Keys, features: Matrix, width: int) -> None:
    """Write indicators of all codes but one, or random numbers of each if there are too many."""
    for place in range(order.size):
        code = order[place]
        if order.size > width + 1:
            for j in range(width):
                features[code, j] = uniform(prints[code] + np.uint64(j))
        elif place > 0:
            features[code, place - 1] = 1.0


@kernel
def _whiten(features: Matrix, width: int, order: Counts, counts: Counts, ridge: float) -> None:
    """Centre features, and solve by the Cholesky factor of their covariance, in place."""
    total = 0
    for code in order:
        total += counts[code]
    means = np.zeros(width)
    for code in order:
        share = counts[code] / total
        for j in range(width):
            means[j] += share * features[code, j]
    factor = np.zeros((width, width))
    lines = np.empty((width, order.size))
    for place in range(order.size):
        centred = features[order[place]]
        share = counts[order[place]] / total
        for j in range(width):
            centred[j] -= means[j]
            lines[j, place] = centred[j]
        for i in range(width):
            weighted = share * centred[i]
            for j in range(i + 1):
                factor[i, j] += weighted * centred[j]
    _factorize(factor, ridge)
    for i in range(width):
        for j in range(i):
            for place in range(order.size):
                lines[i, place] -= factor[i, j] * lines[j, place]
        for place in range(order.size):
            lines[i, place] /= factor[i, i]
            features[order[place], i] = lines[i, place]


@kernel
def _factorize(matrix: Matrix, ridge: float) -> None:
    """Replace the lower half of a matrix by its Cholesky factor, with a ridge against directions without variance."""
    for i in range(len(matrix)):
        for j in range(i):
            for m in range(j):
                matrix[i, j] -= matrix[i, m] * matrix[j, m]
            matrix[i, j] /= matrix[j, j]
            matrix[i, i] -= matrix[i, j] * matrix[i, j]
        matrix[i, i] = np.sqrt(max(matrix[i, i], 0.0) + ridge)


@kernel
def scratch_for(n_features: int) -> Matrix:
    """Return room for the verdict on any pair, so that none has to be made for each."""
    return np.empty(2 * n_features * (n_features + 2))


@kernel
def correlated(
    cells: Table, steps: tuple[int, int], u: int, v: int, whitened: Whitened, threshold: float, scratch: Matrix
) -> bool:
    """Tell whether a canonical correlation exceeds the threshold, over the rows where both variables are observed.

    `steps` are those from one code to the next among the cells of their table. It takes less if `u` has fewer codes.
    """
    n_left, n_right = whitened.widths[u], whitened.widths[v]
    size, least = n_left * n_right, min(n_left, n_right)
    cross, rest = scratch[:size].reshape((n_left, n_right)), scratch[size:]
    _write_covariance(cells, steps, u, v, whitened, cross, rest)
    squared = threshold * abs(threshold)
    total = 0.0
    for value in scratch[:size]:
        total += value * value
    # The sum of all squared correlations bounds the largest: most independent pairs need no more than this.
    if total <= squared:
        return False
    return least == 1 or not _all_below(cross, squared, rest[: least * least].reshape((least, least)))


@inlined
def binary_correlated(
    cells: Table, start: int, n_right: int, u: int, v: int, whitened: Whitened, squared: float
) -> bool:
    """Tell the same of two variables that have two codes each, hence one feature, without loops.

    Their table starts somewhere; `squared` is the threshold, squared.
    """
    features, _, orders, _ = whitened
    first, second = orders[u, 0], orders[u, 1]
    left, right = orders[v, 0], orders[v, 1]
    a, b = features[u, first, 0], features[u, second, 0]
    c, d = features[v, left, 0], features[v, right, 0]
    n_ac, n_ad = cells[start + first * n_right + left], cells[start + first * n_right + right]
    n_bc, n_bd = cells[start + second * n_right + left], cells[start + second * n_right + right]
    n_a, n_b = n_ac + n_ad, n_bc + n_bd
    if n_a + n_b == 0:
        return squared < 0.0
    total = float(n_a + n_b)
    line_a, line_b = n_ac * c + n_ad * d, n_bc * c + n_bd * d
    product = ((n_a * a + n_b * b) / total) * ((line_a + line_b) / total)
    covariance = (a * line_a + b * line_b) / total - product
    return bool(covariance * covariance > squared)


@kernel
def _clear(line: Matrix) -> None:
    for i in range(line.size):
        line[i] = 0.0


@kernel
def _write_covariance(
    cells: Table, steps: tuple[int, int], u: int, v: int, whitened: Whitened, cross: Matrix, scratch: Matrix
) -> None:
    """Write the covariances of two variables' whitened features; their singular values are the correlations."""
    features, _, orders, occurring = whitened
    lefts, rights = features[u], features[v]
    left_order, right_order = orders[u, : occurring[u]], orders[v, : occurring[v]]
    n_left, n_right = cross.shape
    line, right_sums = scratch[:n_right], scratch[n_right : 2 * n_right]
    left_sums = scratch[2 * n_right : 2 * n_right + n_left]
    _clear(left_sums)
    _clear(right_sums)
    for i in range(n_left):
        _clear(cross[i])
    total = 0
    for a in left_order:
        _clear(line)
        in_line = 0
        for b in right_order:
            count = cells[a * steps[0] + b * steps[1]]
            if count > 0:
                in_line += count
                for j in range(n_right):
                    line[j] += count * rights[b, j]
        if in_line == 0:
            continue
        total += in_line
        for j in range(n_right):
            right_sums[j] += line[j]
        for i in range(n_left):
            feature = lefts[a, i]
            left_sums[i] += in_line * feature
            for j in range(n_right):
                cross[i, j] += feature * line[j]
    for i in range(n_left):
        for j in range(n_right):
            if total > 0:
                cross[i, j] = cross[i, j] / total - (left_sums[i] / total) * (right_sums[j] / total)


@kernel
def _write_products(cross: Matrix, products: Matrix) -> None:
    """Write cross·crossᵀ or crossᵀ·cross, whichever is smaller; of its halves the upper one."""
    n_left, n_right = cross.shape
    for a in range(len(products)):
        _clear(products[a])
    if n_left < n_right:
        for a in range(n_left):
            for b in range(a, n_left):
                for j in range(n_right):
                    products[a, b] += cross[a, j] * cross[b, j]
    else:
        for i in range(n_left):
            for a in range(n_right):
                for b in range(a, n_right):
                    products[a, b] += cross[i, a] * cross[i, b]


@kernel
def _all_below(cross: Matrix, squared: float, rest: Matrix) -> bool:
    """Tell whether squared·I - crossᵀ·cross has a Cholesky factor: so are all squared singular values below."""
    _write_products(cross, rest)
    width = len(rest)
    for a in range(width):
        pivot = squared - rest[a, a]
        if pivot <= 0.0:
            return False
        for i in range(a + 1, width):
            share = rest[a, i] / pivot
            for b in range(i, width):
                rest[i, b] += share * rest[a, b]
    return True
