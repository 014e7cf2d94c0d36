"""Keyed randomness and fingerprints: every random choice is a hash of what it is about, never a stream.

Two layers: BLAKE2b derives the few keys that name columns and categories; a bijective 64-bit mixer (`mixing`), cheap
enough for inner loops, spreads such a key over nodes and records.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Keys = npt.NDArray[np.uint64]


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
