"""Reading the arrays of a container: each one checked for type, shape and range as it is taken."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from unlearnspn.errors import listing
from unlearnspn.storage.container import Array
from unlearnspn.storage.errors import StorageError

Integers = npt.NDArray[np.int64]

_UNSIGNED = (np.uint8, np.uint16, np.uint32, np.uint64)


def narrow(numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return numbers of at least 0 in the smallest type that holds them: a function of the numbers alone.

    >>> narrow(np.array([3, 700])).dtype.name
    'uint16'
    """
    return numbers.astype(_smallest_type(int(numbers.max(initial=0))))


def _smallest_type(largest: int) -> type[np.unsignedinteger[Any]]:
    return next(kind for kind in _UNSIGNED if largest <= np.iinfo(kind).max)


class Entries:
    """The arrays of a container, to be taken one after another."""

    def __init__(self, arrays: Mapping[str, Array]) -> None:
        self._left = dict(arrays)

    def take(self, name: str, dtype: type[np.generic], *shape: int | None) -> Array:
        """Return an array that must have this type and this shape (None: any length)."""
        array = self._take(name)
        if array.dtype != np.dtype(dtype):
            raise StorageError(f"entry {name!r} is of type {array.dtype}, not {np.dtype(dtype)}")
        _require_shape(name, array, shape)
        return array

    def take_integers(self, name: str, below: int, *shape: int | None) -> Integers:
        """Return an array of integers from 0 to `below` - 1, stored as `narrow` does."""
        array = self._take(name)
        _require_shape(name, array, shape)
        largest = int(array.max(initial=0)) if array.dtype in _UNSIGNED else 0
        if array.dtype != _smallest_type(largest):
            raise StorageError(f"entry {name!r} is of type {array.dtype}, which does not fit its numbers")
        if array.size and largest >= below:
            raise StorageError(f"entry {name!r} holds {largest}, where numbers must be below {below}")
        return array.astype(np.int64)

    def part(self, prefix: str) -> Entries:
        """Take all arrays whose names start with a prefix, by the rest of their names."""
        names = [name for name in self._left if name.startswith(prefix)]
        return Entries({name.removeprefix(prefix): self._left.pop(name) for name in names})

    def finish(self) -> None:
        """Raise if there is an array that nobody took."""
        if self._left:
            raise StorageError(f"there are unknown entries: {listing(self._left)}")

    def _take(self, name: str) -> Array:
        if name not in self._left:
            raise StorageError(f"entry {name!r} is missing")
        return self._left.pop(name)


def _require_shape(name: str, array: Array, shape: tuple[int | None, ...]) -> None:
    fits = array.ndim == len(shape) and all(want in (None, n) for want, n in zip(shape, array.shape, strict=True))
    if not fits:
        wanted = ", ".join("any" if length is None else str(length) for length in shape)
        raise StorageError(f"entry {name!r} has shape {array.shape}, not ({wanted})")
