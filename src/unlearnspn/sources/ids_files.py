"""Files of ids: one on each line."""

from __future__ import annotations

import os

from unlearnspn.errors import RecordIdError
from unlearnspn.sources.decoding import decode_lines, open_source


def read_ids_file(path: str | os.PathLike[str]) -> list[str]:
    r"""Read ids, one a line. Blanks around them and blank lines mean nothing, nor does the kind of line end.

    An id that begins or ends with a blank has to be given by itself, not in a file.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "ids.txt"
    ...     _ = path.write_bytes(b"\xef\xbb\xbfc-1\r\n\r\n  c-2 \nc 3")
    ...     read_ids_file(path)
    ['c-1', 'c-2', 'c 3']
    """
    with open_source(path) as file:
        ids = [line.strip() for line in decode_lines(file, None) if line.strip()]
    if not ids:
        raise RecordIdError(f"{os.fspath(path)} holds no ids: write one on each line")
    return ids
