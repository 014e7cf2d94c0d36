"""CSV files as people send them: in UTF-8, with commas, semicolons or tabs."""

from __future__ import annotations

from unlearnspn.service.errors import InvalidInputError


def decode(content: bytes) -> str:
    """Return the text of a file."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidInputError("the file is no text in UTF-8: save it as CSV in UTF-8") from None


def delimiter_of(text: str) -> str:
    """Return what separates the columns of a table, by its first line."""
    return max((";", "\t", ","), key=text.split("\n", 1)[0].count)
