"""Keyed randomness and fingerprints: every random choice is a hash of what it is about, never a stream.

Two layers: BLAKE2b derives the few keys that name columns and categories; a bijective 64-bit mixer, cheap enough for
inner loops, spreads such a key over nodes and records.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from unlearnspn.compiling import elements, inlined, inner_kernel, kernel, late_kernel, per_row

Keys = npt.NDArray[np.uint64]

_FIRST = np.uint64(0x9E3779B97F4A7C15)
_SECOND = np.uint64(0xBF58476D1CE4E5B9)
_THIRD = np.uint64(0x94D049BB133111EB)
_MASK = (1 << 64) - 1
_S30, _S27, _S31 = np.uint64(30), np.uint64(27), np.uint64(31)


# Without a signature, which would be compiled or loaded on import.
@kernel
def mix64(x: np.uint64) -> np.uint64:
    """Scatter 64 bits: a bijection (the SplitMix64 finaliser), so distinct inputs never collide."""
    x = np.uint64(x) + _FIRST
    x = (x ^ (x >> _S30)) * _SECOND
    x = (x ^ (x >> _S27)) * _THIRD
    return x ^ (x >> _S31)


def mix_integer(x: int) -> int:
    """Scatter the last 64 bits of one of Python's integers as `mix64` does: to hand it to a kernel takes longer."""
    x = (x + int(_FIRST)) & _MASK
    x = (x ^ (x >> 30)) * int(_SECOND) & _MASK
    x = (x ^ (x >> 27)) * int(_THIRD) & _MASK
    return x ^ (x >> 31)


@inlined
def unsigned(number: int) -> np.uint64:
    """Return a whole number modulo 2**64, as hashes are added up."""
    return np.uint64(np.int64(number))


@late_kernel(elements)
def mix_keys(keys: Keys, salt: np.uint64) -> Keys:
    """Hash every key under a salt; equal hashes mean equal keys."""
    hashes = np.empty_like(keys)
    for i in range(keys.size):
        hashes[i] = mix64(keys[i] ^ salt)
    return hashes


def sum_keys(keys: Keys, rows: npt.NDArray[np.int64]) -> tuple[int, int]:
    """Fingerprint a set of rows: two 64-bit sums of mixed keys, the same in any order, and invertible."""
    if rows.size == 0:
        return 0, 0
    low, high = mix_members(keys, rows)
    return int(low), int(high)


@kernel
def mix_member(key: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return what a record adds to the fingerprint of a set of rows."""
    return mix64(key), mix64(key ^ _SECOND)


@inner_kernel(per_row(5))
def mix_members(keys: Keys, rows: npt.NDArray[np.int64]) -> Keys:
    """Return the two sums of `sum_keys`."""
    low, high = np.uint64(0), np.uint64(0)
    for row in rows:
        one, other = mix_member(keys[row])
        low += one
        high += other
    sums = np.empty(2, np.uint64)
    sums[0], sums[1] = low, high
    return sums


@late_kernel(elements)
def _sum_counts(counts: npt.NDArray[np.int64], prints: Keys) -> tuple[np.uint64, np.uint64]:
    low, high = np.uint64(0), np.uint64(0)
    for i in range(counts.size):
        count = np.uint64(counts[i])
        if count:
            name = mix64(prints[i])
            low += count * name
            high += count * mix64(name)
    return low, high


def hash_counts(counts: npt.NDArray[np.int64], prints: Keys) -> bytes:
    """Fingerprint how often each thing occurs, in any order and whatever does not occur."""
    low, high = _sum_counts(counts, prints)
    return struct.pack("<QQ", int(low), int(high))


@kernel
def key_of_cluster(parent: np.uint64, number: int) -> np.uint64:
    """Derive the key of a node that is a cluster of another."""
    return mix64(mix64(parent ^ _FIRST) + np.uint64(number))


@kernel
def key_of_scope(parent: np.uint64, scope: npt.NDArray[np.int64]) -> np.uint64:
    """Derive the key of a node that has some of the variables of another."""
    key = mix64(parent ^ _THIRD)
    for variable in scope:
        key = mix64(key + np.uint64(variable))
    return key


def derive_key(parent: int, purpose: str, detail: bytes = b"") -> int:
    """Derive the 64-bit key of something that belongs to `parent`.

    >>> derive_key(0, "cluster", b"1") == derive_key(0, "cluster", b"1")
    True
    >>> derive_key(0, "cluster", b"1") == derive_key(0, "cluster", b"2")
    False
    """
    name = purpose.encode()
    message = struct.pack("<QI", parent, len(name)) + name + detail
    return int.from_bytes(hashlib.blake2b(message, digest_size=8).digest(), "little")


def fingerprint(parts: Iterable[bytes]) -> bytes:
    """Digest a sequence of byte strings, with their lengths so that no two sequences read alike.

    >>> fingerprint([b"ab", b"c"]) == fingerprint([b"a", b"bc"])
    False
    """
    parts = list(parts)
    lengths = _words(1 + len(parts)).pack(len(parts), *map(len, parts))
    return hashlib.blake2b(lengths + b"".join(parts), digest_size=32).digest()


@lru_cache(64)
def _words(number: int) -> struct.Struct:
    """Return how so many words are written; to read the format takes longer than to write by it."""
    return struct.Struct(f"<{number}Q")


def integer_bytes(value: int) -> bytes:
    """Write an integer of any size and sign in its one canonical form."""
    return value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
