"""Files of text: decoded as they say they are, or else as UTF-8; what does not fit is named by its line."""

from __future__ import annotations

import codecs
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from unlearnspn.errors import InvalidTableError

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CHUNK = 1 << 20
#: In characters; a file of something else may well have no line ends.
LONGEST_LINE = 1 << 25


@contextmanager
def open_source(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for reading, if it is one."""
    with open(path, "rb", opener=_open_without_waiting) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise InvalidTableError(f"{Path(path)} is no file")
        yield file


def decode_lines(file: BinaryIO, encoding: str | None) -> Iterator[str]:
    r"""Return the lines of a file with their ends, whatever these are.

    >>> import io
    >>> list(decode_lines(io.BytesIO("a,ü\r\nb\n".encode("utf-16")), None))
    ['a,ü\r\n', 'b\n']
    """
    chosen = encoding or _marked(file) or "utf-8"
    decoder = _decoder(chosen)
    number, rest = 0, ""
    while True:
        chunk = file.read(_CHUNK)
        try:
            text = rest + decoder.decode(chunk, final=not chunk)
        except UnicodeError as error:
            raise _undecodable(error, number, chosen) from error
        *lines, rest = text.split("\n")
        if len(rest) > LONGEST_LINE:
            raise InvalidTableError(f"line {number + len(lines) + 1} has no end: is this a file of text?")
        ended = [line + "\n" for line in lines]
        if not chunk and rest:
            ended.append(rest)
        for line in ended:
            number += 1
            if "\0" in line:
                raise InvalidTableError(
                    f"line {number} holds a NUL character: this is no text, or text in another encoding; "
                    "pass the encoding, such as utf-16"
                )
            yield line
        if not chunk:
            return


def _decoder(encoding: str) -> codecs.IncrementalDecoder:
    try:
        # Python knows codecs that are no encodings of text, such as rot13 and base64; these are refused here.
        "x".encode(encoding)
        return codecs.getincrementaldecoder(encoding)()
    except (LookupError, UnicodeError) as error:
        raise InvalidTableError(f"there is no encoding {encoding!r}: try utf-8, latin-1 or cp1252") from error


def _marked(file: BinaryIO) -> str | None:
    beginning = file.read(4)
    file.seek(0)
    return next((encoding for mark, encoding in _MARKS if beginning.startswith(mark)), None)


def _undecodable(error: UnicodeError, number: int, encoding: str) -> InvalidTableError:
    if isinstance(error, UnicodeDecodeError):
        line = number + 1 + error.object.count(b"\n", 0, error.start)
        byte = error.object[error.start]
        return InvalidTableError(
            f"line {line} is not {encoding}: it holds the byte 0x{byte:02x}; "
            "pass the encoding of the file, such as latin-1 or cp1252"
        )
    return InvalidTableError(f"the file is not {encoding}: {error}; pass its encoding, such as latin-1")


def _open_without_waiting(path: str, flags: int) -> int:
    """Open a file; a pipe that nobody writes to must not make the reader wait."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
