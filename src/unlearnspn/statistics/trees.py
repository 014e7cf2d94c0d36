"""What a node keeps of a Chow-Liu tree: hashes of what its records have of the tree's variables.

The tables and sums that the tree follows from are counted when it is needed: they follow from the codes of records and
the features of numbers, which are hashed together, and from the numbers in each bin, which have a hash of their own.
"""

from __future__ import annotations

import struct

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.unlearnspn.const_types import const_int64
from cython.cimports.unlearnspn.mixing import mix64
from cython.cimports.unlearnspn.rows.coded import CodedRows

Rows = npt.NDArray[np.int64]
Scope = npt.NDArray[np.int64]

_FORMAT = "<4Q"


@cython.cclass
class TreeHashes:
    """Two hashes, of 128 bits each, of some records: of codes and features that each has, and of their numbers by code.

    They are sums modulo 2**64, so a record is taken out as it was put in, and those of disjoint records add up.
    """

    def __init__(self) -> None:
        self.codes_low = self.codes_high = self.values_low = self.values_high = 0

    @staticmethod
    def learn(coded: CodedRows, scope: Scope, rows: Rows) -> TreeHashes:
        """Return the hashes of some rows."""
        hashes: TreeHashes = TreeHashes()
        hashes.shift(coded, scope, rows, 1)
        return hashes

    def shift(
        self,
        coded: CodedRows,
        scope: const_int64[::1],
        rows: const_int64[::1],
        sign: cython.longlong,
    ) -> cython.void:
        """Put rows in (`sign` 1), or take them out (-1)."""
        factor: cython.ulonglong = cython.cast(cython.ulonglong, sign)
        with cython.nogil:
            self.shift_codes(coded, scope, rows, factor)
            self.shift_values(coded, scope, rows, factor)

    def merge(self, other: TreeHashes) -> TreeHashes:
        """Return the hashes of the records of both, which have none in common."""
        hashes: TreeHashes = TreeHashes()
        hashes.codes_low = self.codes_low + other.codes_low
        hashes.codes_high = self.codes_high + other.codes_high
        hashes.values_low = self.values_low + other.values_low
        hashes.values_high = self.values_high + other.values_high
        return hashes

    def copy(self) -> TreeHashes:
        """Return the same hashes, independent of these."""
        return self.merge(TreeHashes())

    def fingerprint(self) -> bytes:
        """Return what depends on the set of records alone."""
        return struct.pack(_FORMAT, self.codes_low, self.codes_high, self.values_low, self.values_high)

    def dump(self) -> bytes:
        """Return the hashes as bytes."""
        return self.fingerprint()

    @staticmethod
    def load(dumped: bytes) -> TreeHashes:
        """Return the hashes that `dump` wrote."""
        hashes: TreeHashes = TreeHashes()
        hashes.codes_low, hashes.codes_high, hashes.values_low, hashes.values_high = struct.unpack(_FORMAT, dumped)
        return hashes

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def shift_codes(
        self,
        coded: CodedRows,
        scope: const_int64[::1],
        rows: const_int64[::1],
        factor: cython.ulonglong,
    ) -> cython.void:
        """Shift the hash of codes and features: the sum over all records of the mixed sum of a record's hashes."""
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        row: cython.Py_ssize_t
        v: cython.Py_ssize_t
        name: cython.ulonglong
        low: cython.ulonglong
        high: cython.ulonglong
        for i in range(rows.shape[0]):
            row = rows[i]
            low = high = 0
            for j in range(scope.shape[0]):
                v = scope[j]
                name = coded.prints[v, coded.codes[row, v]]
                if coded.is_numeric[v]:
                    name ^= mix64(cython.cast(cython.ulonglong, coded.features[row, v]))
                name = mix64(name)
                low += name
                high += mix64(name)
            self.codes_low += factor * mix64(low)
            self.codes_high += factor * mix64(high)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def shift_values(
        self,
        coded: CodedRows,
        scope: const_int64[::1],
        rows: const_int64[::1],
        factor: cython.ulonglong,
    ) -> cython.void:
        """Shift the hash of the numbers that variables have with each code."""
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        row: cython.Py_ssize_t
        v: cython.Py_ssize_t
        column: cython.Py_ssize_t
        code: cython.uchar
        value: cython.ulonglong
        name: cython.ulonglong
        for j in range(scope.shape[0]):
            v = scope[j]
            if not coded.is_numeric[v]:
                continue
            column = coded.place[v]
            for i in range(rows.shape[0]):
                row = rows[i]
                code = coded.codes[row, v]
                if code:
                    value = cython.cast(cython.ulonglong, coded.bits[row, column])
                    if value << 1 == 0:  # zeros of either sign are equal
                        value = 0
                    name = mix64(coded.prints[v, code] ^ mix64(value))
                    self.values_low += factor * name
                    self.values_high += factor * mix64(name)
