"""Keyed randomness for Python: what `mixing.pxd` gives to inner loops, of whole arrays and of single keys.

Whatever is summed here is summed modulo 2**64: the same in any order, and what was added can be subtracted again.
"""

from __future__ import annotations

import struct

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.unlearnspn.mixing import FIRST, THIRD, mix64

Keys = npt.NDArray[np.uint64]
Rows = npt.NDArray[np.int64]

_pack_two = struct.Struct("<QQ").pack


def mix_integer(x: cython.longlong) -> cython.ulonglong:
    """Scatter a number of 64 bits, which may be negative."""
    return mix64(cython.cast(cython.ulonglong, x))


def mix_keys(keys: Keys, salt: cython.ulonglong) -> Keys:
    """Hash every key under a salt; equal hashes mean equal keys."""
    hashes = np.empty(len(keys), np.uint64)
    source: cython.ulonglong[:] = keys
    target: cython.ulonglong[::1] = hashes
    i: cython.Py_ssize_t
    with cython.nogil:
        for i in range(target.shape[0]):
            target[i] = mix64(source[i] ^ salt)
    return hashes


def hash_counts(counts: cython.longlong[::1], prints: cython.ulonglong[::1]) -> bytes:
    """Fingerprint how often each thing occurs, in any order and whatever does not occur."""
    low: cython.ulonglong = 0
    high: cython.ulonglong = 0
    count: cython.ulonglong
    name: cython.ulonglong
    i: cython.Py_ssize_t
    with cython.nogil:
        for i in range(counts.shape[0]):
            count = cython.cast(cython.ulonglong, counts[i])
            name = mix64(prints[i])
            low += count * name
            high += count * mix64(name)
    hashed: bytes = _pack_two(low, high)
    return hashed


def key_of_cluster(parent: cython.ulonglong, number: cython.longlong) -> cython.ulonglong:
    """Derive the key of a node that is a cluster of another."""
    return mix64(mix64(parent ^ FIRST) + cython.cast(cython.ulonglong, number))


def key_of_scope(parent: cython.ulonglong, scope: Rows) -> cython.ulonglong:
    """Derive the key of a node that has some of the variables of another."""
    key: cython.ulonglong = mix64(parent ^ THIRD)
    variables: cython.longlong[:] = scope
    i: cython.Py_ssize_t
    for i in range(variables.shape[0]):
        key = mix64(key + cython.cast(cython.ulonglong, variables[i]))
    return key
