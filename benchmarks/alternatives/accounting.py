"""The guarantee: which noise makes a release differentially private, by OpenDP.

A release is a vector of whole numbers with discrete Gaussian noise on each. Two tables are neighbours if one has one
record more than the other. OpenDP's measurement says which zero-concentrated guarantee a scale gives, and converts it
to (ε, δ); the scale is the smallest that keeps ε. OpenDP draws noise from the operating system: it has no seed.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.extras import require_extra

Vector = npt.NDArray[np.int64]

#: The δ of every release; far below one over the number of records of any table here.
DELTA = 1e-6
#: The extra that brings OpenDP.
EXTRA = "benchmarks"


#: A guarantee with a larger ε is none, and OpenDP cannot compute some.
MOST_EPSILON = 100.0


class InvalidEpsilonError(ValueError):
    """An ε with which nothing can be released."""


def require_epsilon(epsilon: float) -> float:
    """Return an ε that is positive, and not so large that it would be no guarantee, or raise.

    >>> require_epsilon(0.0)
    Traceback (most recent call last):
        ...
    benchmarks.alternatives.accounting.InvalidEpsilonError: epsilon is 0.0: it must be above 0, and 100 at most
    """
    if not 0.0 < epsilon <= MOST_EPSILON:
        raise InvalidEpsilonError(f"epsilon is {epsilon}: it must be above 0, and {MOST_EPSILON:g} at most")
    return epsilon


def require_opendp() -> None:
    """Raise unless OpenDP is installed."""
    require_extra(EXTRA, "opendp")


@lru_cache(maxsize=256)
def noise_scale(sensitivity: float, epsilon: float, delta: float = DELTA) -> float:
    """Return the smallest scale of noise that keeps (ε, δ), where one record moves the vector by `sensitivity`."""
    require_epsilon(epsilon)
    dp = _opendp()
    scale: float = dp.binary_search_param(
        lambda scale: dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(_gaussian(scale)), delta),
        d_in=sensitivity,
        d_out=(epsilon, delta),
        bounds=(sensitivity / math.sqrt(2.0 * epsilon), 20.0 * sensitivity * (1.0 + 1.0 / epsilon)),
    )
    return scale


def epsilon_of(scale: float, sensitivity: float, delta: float = DELTA) -> float:
    """Return the ε that OpenDP says a scale has."""
    dp = _opendp()
    private = dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(_gaussian(scale)), delta)
    return float(private.map(sensitivity)[0])


def release(vector: Vector, scale: float) -> Vector:
    """Return the vector with noise."""
    return np.array(_gaussian(scale)(vector.tolist()), np.int64)


@lru_cache(maxsize=256)
def _gaussian(scale: float) -> Any:
    dp = _opendp()
    return (dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T=float)) >> dp.m.then_gaussian(scale)


@lru_cache(maxsize=1)
def _opendp() -> Any:
    require_opendp()
    import opendp.prelude as dp  # noqa: PLC0415 - only those who release need it

    dp.enable_features("contrib")
    return dp
