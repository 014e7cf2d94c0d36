"""What can go wrong with a file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


class StorageError(ValueError):
    """A file cannot be written or read: it is missing, foreign, damaged, too new, or says what cannot be.

    Nothing of the file has been run, and a file that was there before a failed write is as it was.
    """


@contextmanager
def explained(what: str, path: str | os.PathLike[str]) -> Iterator[None]:
    """Say in every error what was to be done with which file; what exhausts the machine is such an error, too."""
    place = f"cannot {what} {os.fspath(path)!r}"
    try:
        yield
    except StorageError as error:
        raise StorageError(f"{place}: {error}") from error.__cause__
    except OSError as error:
        raise StorageError(f"{place}: {error.strerror or error}") from error
    except (RecursionError, MemoryError) as error:
        raise StorageError(f"{place}: what it describes is too large") from error
