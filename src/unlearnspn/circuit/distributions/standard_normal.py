"""The standard normal distribution between two scores, however far out and however close to each other.

Away from the mean everything is relative to the density at the nearer score: there Φ(high) - Φ(low) has no digits left,
or is 0, but the integral of exp(-near·t - t²/2) over the steps t away from `near` is an ordinary number. `width` is
high - low, which the caller knows more precisely than the scores tell.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from unlearnspn.circuit.distributions.quadrature import unit_interval_rule

Floats = npt.NDArray[np.float64]

LOG_SQRT_TWO_PI = 0.5 * math.log(2.0 * math.pi)
_SQRT_HALF = math.sqrt(0.5)
#: Scores beyond are taken for this, which is as impossible and does not give infinity minus infinity.
_FARTHEST = 1e300
_N_POINTS = 10


def log_mass(low: Floats, high: Floats, width: Floats) -> Floats:
    """Return the log of Φ(high) - Φ(low), to all digits that a logarithm can hold.

    >>> log_mass(np.array([-1.0, 40.0]), np.array([1.0, np.inf]), np.array([2.0, np.inf])).round(6)
    array([-3.81715000e-01, -8.04608442e+02])
    """
    low, high, width = _limited(low), _limited(high), _limited(width)
    result = np.empty(len(low))
    around = _is_around(low, high)
    result[around] = _log_mass_around(low[around], high[around])
    low, high, width = low[~around], high[~around], width[~around]
    with np.errstate(over="ignore"):
        result[~around] = log_mass_ratio(low, high, width) - 0.5 * nearest_to_mean(low, high) ** 2 - LOG_SQRT_TWO_PI
    return result


def log_mass_ratio(low: Floats, high: Floats, width: Floats) -> Floats:
    """Return the log of (Φ(high) - Φ(low)) / φ(nearest), where φ is the density and `nearest` the score next to 0."""
    low, high, width = _limited(low), _limited(high), _limited(width)
    result = np.empty(len(low))
    around = _is_around(low, high)
    result[around] = _log_mass_around(low[around], high[around]) + LOG_SQRT_TWO_PI
    away = ~around
    near = np.abs(nearest_to_mean(low[away], high[away]))
    with np.errstate(divide="ignore"):
        result[away] = np.log(_tail(near, width[away]))
    return result


Scores = tuple[Floats, Floats, Floats]


def log_share(own: Scores, inner: Scores, from_low: Floats, from_high: Floats) -> Floats:
    """Return the log of the share of the mass between the own scores that is between the inner ones.

    `from_low` and `from_high` are how far the inner scores are from the own ones: the caller knows more precisely.

    >>> own, everything = (np.array([1e9]), np.array([np.inf]), np.array([np.inf])), np.array([np.inf])
    >>> log_share(own, (np.array([1e9 + 1e-9]), everything, everything), np.array([1e-9]), np.array([0.0]))
    array([-1.])
    """
    near, inner_near = nearest_to_mean(_limited(own[0]), _limited(own[1])), nearest_to_mean(*map(_limited, inner[:2]))
    steps = np.select([near > 0.0, near < 0.0], [from_low, from_high], inner_near)
    with np.errstate(over="ignore"):
        fall = steps * (near + 0.5 * steps)
    result: Floats = log_mass_ratio(*inner) - log_mass_ratio(*own) - fall
    return result


def quantile(low: Floats, high: Floats, width: Floats, shares: Floats) -> tuple[Floats, Floats]:
    """Return the inverse of the CDF between two scores, as steps away from the score that is nearest to the mean.

    The second result says where the steps start: -1 for `low`, 1 for `high`, 0 for the mean.
    """
    low, high, width = _limited(low), _limited(high), _limited(width)
    steps = np.empty(len(low))
    above, below = low >= 0.0, high <= 0.0
    below &= ~above
    around = ~(above | below)
    steps[around] = _quantile_around(low[around], high[around], shares[around])
    steps[above] = _tail_quantile(low[above], width[above], shares[above], 1.0 - shares[above])
    steps[below] = -_tail_quantile(-high[below], width[below], 1.0 - shares[below], shares[below])
    return steps, below.astype(np.float64) - above


def nearest_to_mean(low: Floats, high: Floats) -> Floats:
    """Return the score between the bounds where the density is largest."""
    return np.minimum(np.maximum(0.0, low), high)


def reach(score: Floats, negligible: float | Floats) -> Floats:
    """Return how far from a score (of either sign), outwards, the density falls by a factor exp(-negligible)."""
    score = np.abs(_limited(score))
    with np.errstate(over="ignore"):
        return 2.0 * negligible / (score + np.sqrt(score * score + 2.0 * negligible))


def _limited(scores: Floats) -> Floats:
    return np.minimum(np.maximum(scores, -_FARTHEST), _FARTHEST)  # np.clip takes twice as long for a few


def _is_around(low: Floats, high: Floats) -> npt.NDArray[np.bool_]:
    return (low < 0.0) & (high > 0.0)


@cache
def special_functions() -> Any:
    """Return `scipy.special`, which is imported once a question needs it."""
    from scipy import special  # noqa: PLC0415

    return special


def _log_mass_around(low: Floats, high: Floats) -> Floats:
    special = special_functions()
    within = 0.5 * (special.erf(high * _SQRT_HALF) - special.erf(low * _SQRT_HALF))
    outside = special.ndtr(low) + special.ndtr(-high)
    with np.errstate(divide="ignore"):
        result: Floats = np.where(outside < 0.5, np.log1p(-np.minimum(outside, 0.5)), np.log(within))
    return result


def _mills(score: Floats) -> Floats:
    """Return (1 - Φ(score)) / φ(score)."""
    return math.sqrt(0.5 * math.pi) * np.asarray(special_functions().erfcx(score * _SQRT_HALF))


def _density_ratio(near: Floats, steps: Floats) -> Floats:
    """Return φ(near + steps) / φ(near)."""
    with np.errstate(over="ignore", under="ignore"):
        return np.exp(-steps * (near + 0.5 * steps))


def _is_short(near: Floats, width: Floats) -> npt.NDArray[np.bool_]:
    """Tell where the density changes by little, so that differences would cancel."""
    with np.errstate(over="ignore"):
        return width * np.maximum(near, 1.0) < 1.0


def _tail(near: Floats, width: Floats) -> Floats:
    """Return the mass between near ≥ 0 and near + width, relative to the density at `near`."""
    result = np.empty(len(near))
    short = _is_short(near, width)
    result[short] = _short_tail(near[short], width[short])
    long = ~short
    result[long] = _mills(near[long]) - _mills(near[long] + width[long]) * _density_ratio(near[long], width[long])
    return result


def _short_tail(near: Floats, width: Floats) -> Floats:
    # Not a matrix product: its last bits would depend on how many lines there are.
    points, weights = unit_interval_rule(_N_POINTS)
    means: Floats = (_density_ratio(near[:, None], width[:, None] * points) * weights).sum(axis=1)
    return width * means


def _quantile_around(low: Floats, high: Floats, shares: Floats) -> Floats:
    """Go by the mean or by a tail, whichever is nearer."""
    special = special_functions()
    start, end = special.erf(low * _SQRT_HALF), special.erf(high * _SQRT_HALF)
    reached = start + shares * (end - start)
    mass = 0.5 * (end - start)
    below, above = special.ndtr(low) + shares * mass, special.ndtr(-high) + (1.0 - shares) * mass
    tail = np.where(below < above, special.ndtri(below), -special.ndtri(above))
    result: Floats = np.where(np.abs(reached) < 0.5, special.erfinv(np.clip(reached, -0.5, 0.5)) / _SQRT_HALF, tail)
    return result


def _tail_quantile(near: Floats, width: Floats, shares: Floats, rests: Floats) -> Floats:
    """Return the steps from near ≥ 0 that hold these shares of the mass up to near + width, and leave the rests."""
    all_beyond, tail = _mills(near), _tail(near, width)
    mass, beyond = shares * tail, rests * tail + _mills(near + width) * _density_ratio(near, width)
    with np.errstate(divide="ignore"):
        log_beyond = np.where(mass < beyond, np.log1p(-mass / all_beyond), np.log(beyond / all_beyond))
    # The density only falls: steps are at least `mass` and at most as many as at the first hazard rate.
    at_most = np.minimum(-log_beyond * all_beyond, width)
    result = at_most.copy()
    short = _is_short(near, at_most)
    result[short] = _short_tail_quantile(near[short], mass[short])
    long = ~short & (log_beyond > -np.inf)
    result[long] = _long_tail_quantile(near[long], log_beyond[long])
    return np.clip(result, 0.0, np.where(width < _FARTHEST, width, np.inf))


def _short_tail_quantile(near: Floats, mass: Floats) -> Floats:
    """Newton's method for the mass, which is concave: from too few steps it only goes up."""
    steps = mass
    for _ in range(7):
        steps = steps - (_short_tail(near, steps) - mass) / _density_ratio(near, steps)
    return steps


def _long_tail_quantile(near: Floats, log_beyond: Floats) -> Floats:
    """Newton's method for the log of the mass beyond, which is concave: from too many steps it only goes down."""
    log_all_beyond = np.log(_mills(near))
    steps = reach(near, -log_beyond)
    for _ in range(7):
        beyond = _mills(near + steps)
        steps = steps + (np.log(beyond) - log_all_beyond - steps * (near + 0.5 * steps) - log_beyond) * beyond
    return steps
