"""Many byte strings in two arrays: all bytes, and where each string ends."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from unlearnspn.storage.container import Array
from unlearnspn.storage.entries import Entries, narrow
from unlearnspn.storage.errors import StorageError


def pack_texts(name: str, texts: Sequence[bytes]) -> dict[str, Array]:
    """Return the arrays that hold some byte strings."""
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    return {name: np.frombuffer(b"".join(texts), np.uint8), f"{name}.ends": narrow(ends)}


def take_texts(entries: Entries, name: str, number: int) -> list[bytes]:
    """Take so many byte strings."""
    data = entries.take(name, np.uint8, None).tobytes()
    ends = entries.take_integers(f"{name}.ends", len(data) + 1, number)
    if (np.diff(ends, prepend=0) < 0).any() or (ends[-1] if number else 0) != len(data):
        raise StorageError(f"entry '{name}.ends' does not divide {name!r} into strings")
    bounds = [0, *ends.tolist()]
    return [data[start:end] for start, end in pairwise(bounds)]
