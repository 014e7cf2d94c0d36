"""Models and circuits in files, without pickle: `models` and `circuits` write and read them."""

from unlearnspn.storage.errors import StorageError

__all__ = ["StorageError"]
