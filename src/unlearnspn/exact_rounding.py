"""Mean and deviation of exact sums in compiled code, to the last bit those of `Moments`.

A mean is a quotient of integers: it is divided out limb by limb, and rounded once. A deviation is the root of such a
quotient. It is found to twice the precision of doubles, as the sum of two of them. That says how to round it, unless it
lies all but in the middle of two doubles: then the square of that is compared with what the root is of.
"""

from __future__ import annotations

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.unlearnspn.const_types import const_int64
from cython.cimports.unlearnspn.exact_sums import Limbs
from cython.cimports.unlearnspn.rounded_sums import MeanAndStd, divided, root_divided, rounded_moments

Words = npt.NDArray[np.int64]


def mean_and_std(words: Words, at: int, window: tuple[int, int, int]) -> tuple[float, float]:
    """Return mean and standard deviation of the moments at a word, which are of at least one value.

    One that is subnormal is left open, and NaN.
    """
    view: const_int64[::1] = words
    start: cython.Py_ssize_t = at
    limbs: Limbs = Limbs(low=window[0], n_first=window[1], n_second=window[2])
    found: MeanAndStd = rounded_moments(cython.address(view[start]), limbs)
    return found.mean, found.std


def divide(limbs: Words, n: cython.longlong, exponent: cython.longlong) -> float:
    """Return limbs·2**exponent / n as the nearest double, for n < 2**31; NaN if that is subnormal."""
    view: const_int64[::1] = limbs
    quotient: float = divided(cython.address(view[0]), view.shape[0], n, exponent)
    return quotient


def divide_root(limbs: Words, n: cython.longlong, exponent: cython.longlong) -> float:
    """Return the root of limbs·2**(2·exponent), divided by n, as the nearest double; NaN if that is subnormal."""
    view: const_int64[::1] = limbs
    root: float = root_divided(cython.address(view[0]), view.shape[0], n, exponent)
    return root
