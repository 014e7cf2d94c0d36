"""Files as wholes: written completely or not at all, and read only if they are files."""

from __future__ import annotations

import errno
import glob
import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from unlearnspn.storage.errors import StorageError

PathLike = str | os.PathLike[str]

#: Of the name of a file so much is in that of a temporary one: no name may have more than 255 characters.
_LONGEST_NAME = 200
_TOKEN_BYTES = 8


def write_file(path: PathLike, parts: Iterable[bytes | memoryview]) -> None:
    """Write a file, all or nothing: whoever looks sees the old file or the new one, even after a power cut.

    The parts go to a temporary file in the same folder, which takes the place of the old one once it is on the disk.
    """
    with replacing(path, parts):
        pass


@contextmanager
def replacing(path: PathLike, parts: Iterable[bytes | memoryview]) -> Iterator[None]:
    """Write a file as `write_file` does, but let it take the place of the old one only once the block has ended.

    If the block fails, the old file stays, and nothing beside it.
    """
    # A link stays a link: it is what it points to that is replaced.
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        raise StorageError("something is there that is no file; choose another path")
    temporary = temporary_beside(target)
    try:
        _write(temporary, parts)
        _keep_mode(target, temporary)
        yield
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(target.parent)


def write_new_file(path: PathLike, parts: Iterable[bytes | memoryview], *, private: bool = False) -> None:
    """Write a file that must not be there yet, all or nothing; a failure leaves nothing that is in the way later.

    A private one may be read by its owner only, from the beginning. A link is something that is there, wherever it
    leads. Raises `FileExistsError`.
    """
    target = Path(path)
    if os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
    temporary = temporary_beside(target)
    try:
        _write(temporary, parts, 0o600 if private else 0o666)
        put(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
    sync_folder(target.parent)


def temporary_beside(path: Path) -> Path:
    """Return a name beside a file, for what is to become it; after a crash `leftovers_of` finds it."""
    return path.with_name(f".{path.name[:_LONGEST_NAME]}.{secrets.token_hex(_TOKEN_BYTES)}.tmp")


def leftovers_of(path: Path) -> list[Path]:
    """Return what a crash has left of attempts to write a file."""
    token = "[0-9a-f]" * (2 * _TOKEN_BYTES)
    return sorted(path.parent.glob(f".{glob.escape(path.name[:_LONGEST_NAME])}.{token}.tmp"))


def put(temporary: Path, path: Path) -> None:
    """Give a file its name, which must not be taken; its old name may stay."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise
    except OSError:  # not all file systems let a file have two names
        os.rename(temporary, path)


def read_file(path: PathLike) -> bytes:
    """Read a whole file; what is no file, such as a folder or a device, is refused before it is read."""
    with open(path, "rb", opener=_open_without_waiting) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise StorageError("it is no file")
        return file.read()


def _open_without_waiting(path: str, flags: int) -> int:
    """Open a file; a pipe that nobody writes to must not make the reader wait."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _write(path: Path, parts: Iterable[bytes | memoryview], mode: int = 0o666) -> None:
    # Created by `open`, not by `tempfile`, so that the user's umask decides who may read it.
    with open(path, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
        for part in parts:
            file.write(part)
        file.flush()
        os.fsync(file.fileno())


def _keep_mode(target: Path, temporary: Path) -> None:
    with suppress(FileNotFoundError):
        temporary.chmod(stat.S_IMODE(target.stat().st_mode))


def sync_folder(folder: Path) -> None:
    """Make the new name last; only POSIX systems let folders be opened for that."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
