"""What a joint normal says of its numbers: parts of it, what follows from evidence, and moments.

Positions are places among the normal's own variables. `normal_boxes` has the probabilities of boxes.

Covariances are never taken apart: what is left of a normal gets its factor by turning lines of the old one into a
triangle, which keeps small conditional deviations that differences of covariances would lose.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import numpy as np
import numpy.typing as npt

from unlearnspn.circuit.distributions.base import LARGEST
from unlearnspn.circuit.distributions.gaussian import Gaussian
from unlearnspn.circuit.distributions.standard_normal import LOG_SQRT_TWO_PI
from unlearnspn.circuit.expressions import HIGH, LOG_MASS, LOW, OWN, Normal
from unlearnspn.portable_math import add_up

Floats = npt.NDArray[np.float64]
Positions = npt.NDArray[np.intp]
#: Which of several matrices each column has; a slice if there is one matrix, which all of them have.
Owners = Positions | slice

_EVERY = slice(None)
_GAUSSIAN = Gaussian()
#: Pieces of an interval are as probable as each other if the deviation is so many times as large.
_WIDER = math.sqrt(3.0)


def covariances(normal: Normal) -> Floats:
    """Return the covariances of all pairs.

    >>> covariances(Normal(np.array([0, 1], np.int32), np.zeros(2), np.array([[2.0, 0.0], [1.0, 1.0]])))
    array([[4., 2.],
           [2., 2.]])
    """
    return np.asarray(normal.factor @ normal.factor.T)


def marginal(normal: Normal, positions: Sequence[int]) -> Normal:
    """Return the normal of some positions, in the order in which they are given.

    >>> pair = Normal(np.array([3, 7], np.int32), np.array([1.0, 2.0]), np.array([[2.0, 0.0], [3.0, 4.0]]))
    >>> marginal(pair, [1])
    Normal(variables=array([7], dtype=int32), mean=array([2.]), factor=array([[5.]]))
    """
    chosen = np.asarray(positions, np.intp)
    return Normal(normal.variables[chosen], normal.mean[chosen], triangle(normal.factor[chosen]))


def triangle(lines: Floats) -> Floats:
    """Return the lower triangle with a positive diagonal that has the same products of lines.

    >>> triangle(np.array([[3.0, 4.0]]))
    array([[5.]])
    """
    return np.asarray(triangles(lines[None])[0])


def triangles(several: Floats) -> Floats:
    """Return what `triangle` does of several matrices of lines; those that are one already are left as they are."""
    factors = several[:, :, : several.shape[1]].copy()
    is_other = (np.triu(several, 1).any(axis=(1, 2))) | (np.diagonal(several, axis1=1, axis2=2) <= 0.0).any(axis=1)
    if is_other.any():
        factors[is_other] = _turned(several[is_other])
    return factors


def _turned(several: Floats) -> Floats:
    # LAPACK squares what is in a line: the lines are first brought to the same size.
    sizes = np.abs(several).max(axis=2, initial=np.finfo(np.float64).tiny)
    upper = np.asarray(np.linalg.qr((several / sizes[:, :, None]).swapaxes(1, 2), mode="r"))
    signs = np.where(np.diagonal(upper, axis1=1, axis2=2) < 0.0, -1.0, 1.0)
    factors = np.tril(upper.swapaxes(1, 2) * signs[:, None, :]) * sizes[:, :, None]
    smallest = np.maximum(np.finfo(np.float64).eps * sizes, np.finfo(np.float64).tiny)
    matrices, lines = np.nonzero(np.diagonal(factors, axis1=1, axis2=2) <= 0.0)
    factors[matrices, lines, lines] = smallest[matrices, lines]
    return np.asarray(factors)


def given_values(normal: Normal, positions: Sequence[int], values: Floats) -> tuple[float, Normal | None]:
    """Return the log-density of known values, and the normal that they leave of the other positions, if any.

    >>> pair = Normal(np.array([3, 7], np.int32), np.zeros(2), np.array([[2.0, 0.0], [3.0, 4.0]]))
    >>> log_density, rest = given_values(pair, [0], np.array([4.0]))
    >>> round(log_density, 6), rest
    (-3.612086, Normal(variables=array([7], dtype=int32), mean=array([6.]), factor=array([[4.]])))
    """
    if not len(positions):
        return 0.0, normal
    known = np.asarray(positions, np.intp)
    rest, count = _others(normal, known), len(known)
    factor = triangle(normal.factor[np.append(known, rest)])
    column = np.asarray(values, np.float64)[:, None]
    scores, scale = solved(factor[None, :count, :count], normal.mean[known, None], column)
    with np.errstate(over="ignore", invalid="ignore"):
        squares = float(((scores * scale) ** 2).sum())
    # Distances so large that nothing can be said of their differences are impossible.
    squares = math.inf if math.isnan(squares) else squares
    log_density = -0.5 * squares - float(np.log(factor.diagonal()[:count]).sum()) - count * LOG_SQRT_TWO_PI
    if not rest.size:
        return log_density, None
    mean = shifted(normal.mean[rest, None], factor[None, count:, :count], scores, scale)[:, 0]
    return log_density, Normal(normal.variables[rest], mean, factor[count:, count:].copy())


def slices(
    normal: Normal, position: int, low: float, high: float, n: int
) -> tuple[Floats, Floats, Floats, list[Normal]]:
    """Cut an interval of one position into pieces, and return what follows from each of them.

    That is: the log of each piece's share of the interval, its closed ends, and the normal of the other positions
    that has the means and covariances which they have if the number is in the piece. There are fewer than `n` pieces
    where the interval has too few numbers.

    What pieces lose is the sliced number's covariances with the others within each. The least is lost in all if they
    are as probable as each other under a normal √3 times as wide (Panter and Dite): with 64 pieces less than a
    thousandth, wherever the interval ends.

    >>> pair = Normal(np.array([3, 7], np.int32), np.zeros(2), np.array([[1.0, 0.0], [1.0, 1.0]]))
    >>> log_shares, lows, highs, rests = slices(pair, 0, -np.inf, np.inf, 2)
    >>> np.exp(log_shares), lows.round(9), highs, rests[1].mean.round(4)
    (array([0.5, 0.5]), array([-inf,   0.]), array([ 0., inf]), array([0.7979]))
    """
    rest = _others(normal, np.array([position]))
    factor = triangle(normal.factor[np.append(position, rest)])
    own = np.array([[low, high, 0.0, normal.mean[position], factor[0, 0]]])
    own[:, LOG_MASS] = _GAUSSIAN.raw_log_mass(own, own[:, LOW], own[:, HIGH])
    lows, highs = _pieces(own, n)
    log_shares = _log_shares(own, lows, highs)
    shifts, stds = _within_pieces(own, lows, highs)
    if not rest.size:
        return log_shares, lows, highs, []
    covariant, inner = factor[1:, 0], factor[1:, 1:]
    means = shifted(normal.mean[rest, None], covariant[None, :, None], shifts[None], np.ones(len(shifts)))
    within = stds[:, None, None] * covariant[:, None]
    lines = np.concatenate([np.broadcast_to(inner, (len(stds), *inner.shape)), within], axis=2)
    variables = normal.variables[rest]
    normals = [Normal(variables, mean, own) for mean, own in zip(means.T.copy(), triangles(lines), strict=True)]
    return log_shares, lows, highs, normals


def mixed_moment(normal: Normal, powers: Sequence[int], centres: Sequence[float]) -> float:
    """Return the expectation of the product of (number - centre)**power, ±inf if it is too large for a number.

    >>> pair = Normal(np.array([3, 7], np.int32), np.zeros(2), np.array([[1.0, 0.0], [1.0, 1.0]]))
    >>> mixed_moment(pair, [2, 2], [0.0, 0.0])  # 1·2 + 2·1²
    4.0
    """
    used = [position for position, power in enumerate(powers) if power]
    if not used:
        return 1.0
    distances = normal.mean[used] - np.asarray(centres, np.float64)[used]
    factor = normal.factor[used]
    units = np.maximum(np.abs(distances), np.abs(factor).max(axis=1))
    factor = factor / units[:, None]
    orders = [powers[position] for position in used]
    moment = _moment_of_units((distances / units).tolist(), (factor @ factor.T).tolist(), orders)
    return _times_powers(moment, units.tolist(), orders)


def solved(factors: Floats, mean: Floats, values: Floats, owners: Owners = _EVERY) -> tuple[Floats, Floats]:
    """Solve triangles for what standard normal numbers give these columns of values.

    `owners` says which of the factors each column has; without it there is one, which all of them have.

    The second result is a number per column, at least 1, that the scores are yet to be multiplied by. Columns are
    worked on number by number: the last bits of matrix products would depend on how many columns there are.
    """
    diagonals = factors.diagonal(axis1=1, axis2=2)
    with np.errstate(over="ignore"):
        distances = np.clip(0.5 * values - 0.5 * mean, -LARGEST, LARGEST) / diagonals[owners].T
    distances = np.clip(distances, -LARGEST, LARGEST)
    scale = np.maximum(np.abs(distances).max(axis=0, initial=0.0) / 1e100, 1.0)
    scores = distances / scale
    with np.errstate(over="ignore", invalid="ignore"):
        slopes = factors / diagonals[:, :, None]
        for earlier in range(len(values)):
            scores[earlier + 1 :] -= slopes[owners, earlier + 1 :, earlier].T * scores[earlier]
        return 2.0 * scores, scale


def shifted(mean: Floats, slopes: Floats, scores: Floats, scale: Floats, owners: Owners = _EVERY) -> Floats:
    """Return mean + slopes · scores · scale for each column, as the nearest finite numbers; means are columns, too.

    `owners` says which of the matrices of slopes each column has; without it there is one, which all of them have.
    """
    shifts = np.zeros_like(mean, shape=(len(mean), scores.shape[1]))
    # Shifts beyond all numbers, to both sides, say nothing.
    with np.errstate(over="ignore", invalid="ignore"):
        for earlier in range(len(scores)):
            shifts += slopes[owners, :, earlier].T * scores[earlier]
        shifts = np.where(np.isnan(shifts), 0.0, shifts)
        return np.clip(mean + np.clip(shifts * scale, -LARGEST, LARGEST), -LARGEST, LARGEST)


def _others(normal: Normal, positions: Positions) -> Positions:
    return np.setdiff1d(np.arange(len(normal.mean)), positions)


def _pieces(own: Floats, n: int) -> tuple[Floats, Floats]:
    """Return the closed ends of pieces, each of more than one number unless there is only one."""
    low, high = own[0, LOW], own[0, HIGH]
    wide = own.copy()
    wide[:, OWN + 1] = min(own[0, OWN + 1] * _WIDER, LARGEST)
    shares = np.arange(1, n) / n
    lows, highs = [low], []
    for edge in _GAUSSIAN.quantile(np.repeat(wide, n - 1, axis=0), shares).tolist():
        following = math.nextafter(edge, math.inf)
        if lows[-1] < edge and following < high:
            highs.append(edge)
            lows.append(following)
    return np.array(lows), np.array([*highs, high])


def _within_pieces(own: Floats, lows: Floats, highs: Floats) -> tuple[Floats, Floats]:
    """Return how far each piece's mean is from the whole's, and its deviation, both in units of the whole's deviation.

    Squares must neither be too large nor too small for numbers, so that moments are those in units of a power of 2.
    """
    mean, std = own[0, OWN], own[0, OWN + 1]
    unit = math.ldexp(1.0, math.frexp(std)[1] - 1)
    cut = np.tile([0.0, 0.0, 0.0, 0.0, std / unit], (len(lows), 1))
    with np.errstate(over="ignore"):
        cut[:, LOW], cut[:, HIGH] = (2.0 * ((0.5 * ends - 0.5 * mean) / unit) for ends in (lows, highs))
    cut[:, LOG_MASS] = _GAUSSIAN.raw_log_mass(cut, cut[:, LOW], cut[:, HIGH])
    means = _GAUSSIAN.moment(cut, 1, np.zeros(len(lows)))
    return means * (unit / std), np.sqrt(_GAUSSIAN.moment(cut, 2, means)) * (unit / std)


def _log_shares(own: Floats, lows: Floats, highs: Floats) -> Floats:
    """Return the logs of the pieces' shares, which sum to 1: the gaps between the pieces hold no number."""
    if len(lows) == 1:
        return np.zeros(1)
    log_shares = _GAUSSIAN.log_share(np.repeat(own, len(lows), axis=0), lows, highs)
    largest = log_shares.max()
    return np.asarray(log_shares - largest - math.log(np.exp(log_shares - largest).sum()))


def _moment_of_units(distances: list[float], products: list[list[float]], orders: list[int]) -> float:
    """Return the moment from the means' distances and the covariances.

    One factor x is taken out: E[x·f] = distance·E[f] + Σ covariance·E[derivative of f]. All lower moments come first.
    """
    moments: dict[tuple[int, ...], float] = {(0,) * len(orders): 1.0}
    for powers in product(*(range(order + 1) for order in orders)):
        first = next((position for position, power in enumerate(powers) if power), None)
        if first is None:
            continue
        left = _lowered(powers, first)
        moments[powers] = distances[first] * moments[left] + add_up(
            products[first][other] * power * moments[_lowered(left, other)] for other, power in enumerate(left) if power
        )
    return moments[tuple(orders)]


def _lowered(powers: tuple[int, ...], position: int) -> tuple[int, ...]:
    return (*powers[:position], powers[position] - 1, *powers[position + 1 :])


def _times_powers(value: float, units: list[float], orders: list[int]) -> float:
    """Return value · Π unit**order, ±inf only if that itself is too large."""
    if not math.isfinite(value):
        return math.copysign(math.inf, value) if math.isinf(value) else math.inf
    if not all(map(math.isfinite, units)):
        return math.inf
    mantissa, exponent = math.frexp(value)
    for unit, order in zip(units, orders, strict=True):
        digits, binary = math.frexp(unit)
        for _ in range(order):
            mantissa, carried = math.frexp(mantissa * digits)
            exponent += binary + carried
    try:
        return math.ldexp(mantissa, exponent)
    except OverflowError:
        return math.copysign(math.inf, mantissa)
