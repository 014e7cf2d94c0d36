"""Whether the largest canonical correlation of two variables' features exceeds a threshold.

A variable takes few values (levels, codes), so its features are a small matrix and two variables are described by the
integer table of their values: no row is looked at here. The verdict is a fixed sequence of IEEE operations on such
tables, codes in the order of their fingerprints, hence the same on every machine and whatever code a category has.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import fabs, sqrt
from cython.cimports.unlearnspn.independence.random_features import uniform
from cython.cimports.unlearnspn.independence.variables import Variables

#: Against directions without variance: sines of ranks are nearly collinear, indicators are not.
_RIDGE_SINES = cython.declare(cython.double, 1e-6)
_RIDGE_CODES = cython.declare(cython.double, 1e-9)


@cython.cclass
class Whitened:
    """Features of all variables of a scope, uncorrelated and of variance 1 (or less, by the ridge)."""

    def __init__(self, n_variables: int, n_codes: int, n_features: int) -> None:
        numbers: cython.longlong[:, ::1] = np.zeros((2, n_variables), np.int64)
        room = (n_features + 3) // 4 * 4  # sums over features are made four at a time
        #: [variable, code, feature], with mean 0.
        self.features = np.zeros((n_variables, n_codes, room))
        #: How many features each variable has.
        self.widths = numbers[0]
        #: How many codes occur.
        self.occurring = numbers[1]
        #: The codes that occur, in an order that does not depend on how codes were given out; [variable, place].
        self.orders = np.zeros((n_variables, n_codes), np.int64)
        n_scratch = n_features * (n_features + max(n_features, n_codes) + 2) + room
        free: cython.double[::1] = np.empty(n_scratch + n_codes + 1)
        #: Room for one variable or one pair at a time.
        self.scratch = free[:n_scratch]
        #: Room for one line of a table: how many rows are in the cells that are not empty, and their codes.
        self.counts = free[n_scratch:]
        self.codes = np.empty(n_codes + 1, np.int64)


@cython.ccall
def whiten(variables: Variables, counts: cython.longlong[:, ::1]) -> Whitened:
    """Derive the whitened features of variables from how often each code occurs, [variable, code]."""
    i: cython.Py_ssize_t
    n_features: cython.Py_ssize_t = variables.sines.shape[2]
    whitened: Whitened = Whitened(counts.shape[0], counts.shape[1], n_features)
    with cython.nogil:
        for i in range(counts.shape[0]):
            _whiten_variable(whitened, variables, i, counts[i])
    return whitened


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _whiten_variable(
    whitened: Whitened, variables: Variables, i: cython.Py_ssize_t, counts: cython.longlong[::1]
) -> cython.void:
    code: cython.Py_ssize_t
    place: cython.Py_ssize_t
    j: cython.Py_ssize_t
    number: cython.Py_ssize_t = 0
    v: cython.Py_ssize_t = variables.scope[i]
    n_features: cython.Py_ssize_t = variables.sines.shape[2]
    order: cython.longlong[::1] = whitened.orders[i]
    features: cython.double[:, ::1] = whitened.features[i]
    for code in range(1, counts.shape[0]):
        if counts[code] > 0:
            order[number] = code
            number += 1
    order = order[:number]
    whitened.occurring[i] = number
    if number < 2:
        return
    if variables.columns[i] >= 0:
        whitened.widths[i] = n_features
        for place in range(number):
            for j in range(n_features):
                features[order[place], j] = variables.sines[v, order[place], j]
        _whiten(features, n_features, order, counts, _RIDGE_SINES, whitened.scratch)
    else:
        whitened.widths[i] = min(number - 1, n_features)
        _sort_by_print(order, variables.prints[v])
        _write_features(order, variables.prints[v], features, whitened.widths[i])
        _whiten(features, whitened.widths[i], order, counts, _RIDGE_CODES, whitened.scratch)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _sort_by_print(codes: cython.longlong[::1], prints: cython.ulonglong[::1]) -> cython.void:
    place: cython.Py_ssize_t
    before: cython.Py_ssize_t
    code: cython.longlong
    for place in range(1, codes.shape[0]):
        code, before = codes[place], place
        while before > 0 and prints[codes[before - 1]] > prints[code]:
            codes[before] = codes[before - 1]
            before -= 1
        codes[before] = code


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _write_features(
    order: cython.longlong[::1],
    prints: cython.ulonglong[::1],
    features: cython.double[:, ::1],
    width: cython.Py_ssize_t,
) -> cython.void:
    """Write indicators of all codes but one, or random numbers of each if there are too many."""
    place: cython.Py_ssize_t
    j: cython.Py_ssize_t
    for place in range(order.shape[0]):
        if order.shape[0] > width + 1:
            for j in range(width):
                features[order[place], j] = uniform(prints[order[place]] + j)
        elif place > 0:
            features[order[place], place - 1] = 1.0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
@cython.cdivision(True)
def _whiten(
    features: cython.double[:, ::1],
    width: cython.Py_ssize_t,
    order: cython.longlong[::1],
    counts: cython.longlong[::1],
    ridge: cython.double,
    scratch: cython.double[::1],
) -> cython.void:
    """Centre features, and solve by the Cholesky factor of their covariance, in place."""
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    place: cython.Py_ssize_t
    code: cython.Py_ssize_t
    share: cython.double
    weighted: cython.double
    number: cython.Py_ssize_t = order.shape[0]
    total: cython.longlong = 0
    means: cython.double[::1] = scratch[:width]
    factor: cython.double[::1] = scratch[width : width + width * width]
    lines: cython.double[::1] = scratch[width + width * width :]  # [feature, place]
    for i in range(width + width * width):
        scratch[i] = 0.0
    for place in range(number):
        total += counts[order[place]]
    for place in range(number):
        code = order[place]
        share = cython.cast(cython.double, counts[code]) / cython.cast(cython.double, total)
        for j in range(width):
            means[j] += share * features[code, j]
    for place in range(number):
        code = order[place]
        share = cython.cast(cython.double, counts[code]) / cython.cast(cython.double, total)
        for j in range(width):
            features[code, j] -= means[j]
            lines[j * number + place] = features[code, j]
        for i in range(width):
            weighted = share * features[code, i]
            for j in range(i + 1):
                factor[i * width + j] += weighted * features[code, j]
    _factorize(factor, width, ridge)
    for i in range(width):
        for j in range(i):
            weighted = factor[i * width + j]
            for place in range(number):
                lines[i * number + place] -= weighted * lines[j * number + place]
        for place in range(number):
            lines[i * number + place] /= factor[i * width + i]
            features[order[place], i] = lines[i * number + place]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
@cython.cdivision(True)
def _factorize(matrix: cython.double[::1], width: cython.Py_ssize_t, ridge: cython.double) -> cython.void:
    """Replace the lower half of a matrix by its Cholesky factor, with a ridge against directions without variance."""
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    m: cython.Py_ssize_t
    value: cython.double
    pivot: cython.double
    for i in range(width):
        pivot = matrix[i * width + i]
        for j in range(i):
            value = matrix[i * width + j]
            for m in range(j):
                value -= matrix[i * width + m] * matrix[j * width + m]
            value /= matrix[j * width + j]
            pivot -= value * value
            matrix[i * width + j] = value
        matrix[i * width + i] = sqrt((0.0 if pivot < 0.0 else pivot) + ridge)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def are_correlated(
    whitened: Whitened,
    cells: cython.int[::1],
    start: cython.Py_ssize_t,
    n_right: cython.Py_ssize_t,
    u: cython.Py_ssize_t,
    v: cython.Py_ssize_t,
    threshold: cython.double,
) -> cython.bint:
    """Tell whether a canonical correlation exceeds the threshold, over the rows where both variables are observed.

    Their table starts somewhere among the cells; `n_right` is how many codes `v` can have.
    """
    squared: cython.double = threshold * fabs(threshold)
    if (
        whitened.occurring[u] == 2
        and whitened.occurring[v] == 2
        and whitened.widths[u] == 1
        and whitened.widths[v] == 1
    ):
        return _binary_correlated(whitened, cells, start, n_right, u, v, squared)
    # It takes less if the left variable has fewer codes.
    if whitened.occurring[u] > whitened.occurring[v]:
        return _any_correlated(whitened, cells[start:], 1, n_right, v, u, squared)
    return _any_correlated(whitened, cells[start:], n_right, 1, u, v, squared)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
@cython.cdivision(True)
def _binary_correlated(
    whitened: Whitened,
    cells: cython.int[::1],
    start: cython.Py_ssize_t,
    n_right: cython.Py_ssize_t,
    u: cython.Py_ssize_t,
    v: cython.Py_ssize_t,
    squared: cython.double,
) -> cython.bint:
    """Tell it of two variables that have two codes each, hence one feature, without loops."""
    first: cython.Py_ssize_t = whitened.orders[u, 0]
    second: cython.Py_ssize_t = whitened.orders[u, 1]
    left: cython.Py_ssize_t = whitened.orders[v, 0]
    right: cython.Py_ssize_t = whitened.orders[v, 1]
    a: cython.double = whitened.features[u, first, 0]
    b: cython.double = whitened.features[u, second, 0]
    c: cython.double = whitened.features[v, left, 0]
    d: cython.double = whitened.features[v, right, 0]
    n_ac: cython.longlong = cells[start + first * n_right + left]
    n_ad: cython.longlong = cells[start + first * n_right + right]
    n_bc: cython.longlong = cells[start + second * n_right + left]
    n_bd: cython.longlong = cells[start + second * n_right + right]
    n_a: cython.longlong = n_ac + n_ad
    n_b: cython.longlong = n_bc + n_bd
    if n_a + n_b == 0:
        return squared < 0.0
    total: cython.double = n_a + n_b
    line_a: cython.double = n_ac * c + n_ad * d
    line_b: cython.double = n_bc * c + n_bd * d
    product: cython.double = ((n_a * a + n_b * b) / total) * ((line_a + line_b) / total)
    covariance: cython.double = (a * line_a + b * line_b) / total - product
    return covariance * covariance > squared


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _any_correlated(
    whitened: Whitened,
    cells: cython.int[::1],
    left_step: cython.Py_ssize_t,
    right_step: cython.Py_ssize_t,
    u: cython.Py_ssize_t,
    v: cython.Py_ssize_t,
    squared: cython.double,
) -> cython.bint:
    """Tell it of any two variables, given the steps from one code to the next among the cells of their table."""
    i: cython.Py_ssize_t
    n_left: cython.Py_ssize_t = whitened.widths[u]
    n_right: cython.Py_ssize_t = whitened.widths[v]
    size: cython.Py_ssize_t = n_left * n_right
    cross: cython.double[::1] = whitened.scratch[:size]  # [left feature, right feature]
    rest: cython.double[::1] = whitened.scratch[size:]
    total: cython.double = 0.0
    _write_covariance(whitened, cells, left_step, right_step, u, v, cross, rest)
    for i in range(size):
        total += cross[i] * cross[i]
    # The sum of all squared correlations bounds the largest: most independent pairs need no more than this.
    if total <= squared:
        return False
    return min(n_left, n_right) == 1 or not _all_below(cross, n_left, n_right, squared, rest)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _write_covariance(
    whitened: Whitened,
    cells: cython.int[::1],
    left_step: cython.Py_ssize_t,
    right_step: cython.Py_ssize_t,
    u: cython.Py_ssize_t,
    v: cython.Py_ssize_t,
    cross: cython.double[::1],
    scratch: cython.double[::1],
) -> cython.void:
    """Write the covariances of two variables' whitened features; their singular values are the correlations."""
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    feature: cython.double
    in_line: cython.longlong
    total: cython.longlong = 0
    n_left: cython.Py_ssize_t = whitened.widths[u]
    n_right: cython.Py_ssize_t = whitened.widths[v]
    lefts: cython.double[:, ::1] = whitened.features[u]
    order: cython.longlong[::1] = whitened.orders[u]
    left_sums: cython.double[::1] = scratch[:n_left]
    right_sums: cython.double[::1] = scratch[n_left : n_left + n_right]
    line: cython.double[::1] = scratch[n_left + n_right :]
    for i in range(n_left * n_right):
        cross[i] = 0.0
    for i in range(n_left + n_right):
        scratch[i] = 0.0
    for k in range(whitened.occurring[u]):
        in_line = _write_line(whitened, cells[order[k] * left_step :], right_step, v, line)
        if in_line == 0:
            continue
        total += in_line
        for j in range(n_right):
            right_sums[j] += line[j]
        for i in range(n_left):
            feature = lefts[order[k], i]
            left_sums[i] += in_line * feature
            for j in range(n_right):
                cross[i * n_right + j] += feature * line[j]
    if total > 0:
        _centre(cross, left_sums, right_sums, total)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _write_line(
    whitened: Whitened,
    cells: cython.int[::1],
    step: cython.Py_ssize_t,
    v: cython.Py_ssize_t,
    line: cython.double[::1],
) -> cython.longlong:
    """Write the sums of a variable's features over a line of the table; return how many rows this counts."""
    m: cython.Py_ssize_t
    j: cython.Py_ssize_t
    count: cython.double
    one: cython.double
    two: cython.double
    three: cython.double
    four: cython.double
    total: cython.longlong = 0
    number: cython.Py_ssize_t = 0
    order: cython.longlong[::1] = whitened.orders[v]
    features: cython.double[:, ::1] = whitened.features[v]
    counts: cython.double[::1] = whitened.counts
    codes: cython.longlong[::1] = whitened.codes
    for m in range(whitened.occurring[v]):
        counts[number] = cells[order[m] * step]
        codes[number] = order[m]
        number += cells[order[m] * step] > 0  # no branch: either is as likely as the other
        total += cells[order[m] * step]
    for j in range(0, whitened.widths[v], 4):
        one = two = three = four = 0.0
        for m in range(number):
            count = counts[m]
            one += count * features[codes[m], j]
            two += count * features[codes[m], j + 1]
            three += count * features[codes[m], j + 2]
            four += count * features[codes[m], j + 3]
        line[j], line[j + 1], line[j + 2], line[j + 3] = one, two, three, four
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
@cython.cdivision(True)
def _centre(
    cross: cython.double[::1], left_sums: cython.double[::1], right_sums: cython.double[::1], total: cython.double
) -> cython.void:
    """Turn sums of products of features into covariances."""
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    left: cython.double
    n_right: cython.Py_ssize_t = right_sums.shape[0]
    for j in range(n_right):
        right_sums[j] /= total
    for i in range(left_sums.shape[0]):
        left = left_sums[i] / total
        for j in range(n_right):
            cross[i * n_right + j] = cross[i * n_right + j] / total - left * right_sums[j]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _write_products(
    cross: cython.double[::1],
    n_left: cython.Py_ssize_t,
    n_right: cython.Py_ssize_t,
    products: cython.double[::1],
) -> cython.void:
    """Write cross·crossᵀ or crossᵀ·cross, whichever is smaller; of its halves the upper one."""
    a: cython.Py_ssize_t
    b: cython.Py_ssize_t
    i: cython.Py_ssize_t
    width: cython.Py_ssize_t = min(n_left, n_right)
    value: cython.double
    if n_left < n_right:
        for a in range(width):
            for b in range(a, width):
                value = 0.0
                for i in range(n_right):
                    value += cross[a * n_right + i] * cross[b * n_right + i]
                products[a * width + b] = value
    else:
        for i in range(width * width):
            products[i] = 0.0
        for i in range(n_left):
            for a in range(width):
                value = cross[i * n_right + a]
                for b in range(a, width):
                    products[a * width + b] += value * cross[i * n_right + b]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
@cython.cdivision(True)
def _all_below(
    cross: cython.double[::1],
    n_left: cython.Py_ssize_t,
    n_right: cython.Py_ssize_t,
    squared: cython.double,
    rest: cython.double[::1],
) -> cython.bint:
    """Tell whether squared·I - crossᵀ·cross has a Cholesky factor: so are all squared singular values below."""
    a: cython.Py_ssize_t
    b: cython.Py_ssize_t
    i: cython.Py_ssize_t
    pivot: cython.double
    share: cython.double
    width: cython.Py_ssize_t = min(n_left, n_right)
    _write_products(cross, n_left, n_right, rest)
    for a in range(width):
        pivot = squared - rest[a * width + a]
        if pivot <= 0.0:
            return False
        for i in range(a + 1, width):
            share = rest[a * width + i] / pivot
            for b in range(i, width):
                rest[i * width + b] += share * rest[a * width + b]
    return True
