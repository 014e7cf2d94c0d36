"""Exponentials and logarithms of many numbers, as log-densities are made of: mixing takes most of their time.

`exponentials.pxd` has the functions themselves, for compiled code.
"""

from __future__ import annotations

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.unlearnspn.circuit.exponentials import logarithm, raise_all

Floats = npt.NDArray[np.float64]


def exponentials(numbers: Floats) -> Floats:
    """Return exp(x) of each x, which is at most 0; 0 where that has fewer bits than others, or x is NaN."""
    result = np.array(numbers)
    values: cython.double[::1] = result
    if values.shape[0]:
        raise_all(cython.address(values[0]), values.shape[0])
    return result


def logarithms(numbers: Floats) -> Floats:
    """Return log(x) of each x, a positive normal double; what comes of others is some finite number."""
    result = np.array(numbers)
    values: cython.double[::1] = result
    i: cython.Py_ssize_t
    with cython.nogil:
        for i in range(values.shape[0]):
            values[i] = logarithm(values[i])
    return result
