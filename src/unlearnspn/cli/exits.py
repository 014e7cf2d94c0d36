"""Exit codes, and which error gives which."""

from __future__ import annotations

import json
import os
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import Any, NoReturn

import typer

from unlearnspn.certificates.errors import CertificateError, KeyFileError
from unlearnspn.errors import (
    IdentifyingColumnWarning,
    ImpossibleEvidenceError,
    InvalidEvidenceError,
    InvalidTableError,
    LastRecordError,
    RecordIdError,
    UnknownRecordError,
    UnseenCategoryWarning,
)

#: What the library's own warnings are called on the command line.
_CALLED: dict[type[Warning], str] = {UnseenCategoryWarning: "hint", IdentifyingColumnWarning: "warning"}
#: Set to anything, it shows where an error comes from.
DEBUG = "UNLEARNSPN_DEBUG"


class ExitCode(IntEnum):
    """What the exit code of a command says."""

    OK = 0
    #: A check failed, or the question whether to go on was answered with no.
    FAILED = 1
    #: The command line itself is wrong, or something that it needs is not installed.
    USAGE = 2
    #: A file, a record, a subject or an entry is not there.
    NOT_FOUND = 3
    #: A table, an id or a condition cannot be used; nothing was changed.
    BAD_INPUT = 4
    #: A vault, its key or another file cannot be used; nothing was changed.
    VAULT = 5
    #: Somebody else is changing the vault; try again.
    BUSY = 6
    #: The records were removed, but the receipts could not be handed out as was asked.
    RECEIPT = 7
    #: What should not have happened; nothing was changed that was not completed.
    UNEXPECTED = 70
    #: Ctrl-C.
    INTERRUPTED = 130


class CommandError(Exception):
    """A command cannot be carried out, and says so with a code of its own."""

    def __init__(self, code: ExitCode, message: str) -> None:
        super().__init__(message)
        self.code = code


def fail(error: BaseException, as_json: bool) -> NoReturn:
    """Print one message for an error, and end with its code."""
    if os.environ.get(DEBUG):
        traceback.print_exception(error)
    code, message = explain(error)
    if as_json:
        fail_as_json(int(code), message)
    typer.echo(f"unlearnspn: {printable(message)}", err=True)
    raise typer.Exit(int(code)) from None


@contextmanager
def hints() -> Iterator[None]:
    """Print warnings as sentences once a command is done; an error is the only message there is."""
    found: dict[str, str] = {}
    with warnings.catch_warnings():
        show = warnings.showwarning

        def gather(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if category in _CALLED:
                found[str(message)] = _CALLED[category]
            else:
                show(message, category, *where, **more)

        warnings.showwarning = gather
        for category in _CALLED:
            warnings.simplefilter("always", category)
        yield
    for sentence, called in found.items():
        typer.echo(f"unlearnspn: {called}: {printable(sentence)}", err=True)


def fail_as_json(code: int, message: str) -> NoReturn:
    """Print an error for machines, one line of JSON on stderr, and end with its code."""
    typer.echo(json.dumps({"error": message, "exit_code": code}, allow_nan=False), err=True)
    raise typer.Exit(code) from None


def explain(error: BaseException) -> tuple[ExitCode, str]:
    """Return the code and the message of an error."""
    if isinstance(error, CommandError):
        return error.code, str(error)
    if isinstance(error, KeyboardInterrupt):
        return ExitCode.INTERRUPTED, "interrupted: what was not completed was not done; run it again"
    if isinstance(error, FileNotFoundError):
        return ExitCode.NOT_FOUND, f"there is no {error.filename}"
    if isinstance(error, UnknownRecordError):
        return ExitCode.NOT_FOUND, str(error)
    if isinstance(error, ImportError):
        return ExitCode.USAGE, str(error)
    input_errors = (InvalidTableError, RecordIdError, LastRecordError, InvalidEvidenceError, ImpossibleEvidenceError)
    if isinstance(error, input_errors):
        return ExitCode.BAD_INPUT, str(error)
    if isinstance(error, CertificateError | KeyFileError):
        return ExitCode.VAULT, str(error)
    return _explain_rest(error)


def _explain_rest(error: BaseException) -> tuple[ExitCode, str]:
    # Only now, since these bring more along than most commands need.
    from unlearnspn.storage.errors import StorageError  # noqa: PLC0415
    from unlearnspn.vault.errors import ReturningRecordError, VaultBusyError  # noqa: PLC0415

    if isinstance(error, VaultBusyError):
        return ExitCode.BUSY, str(error)
    if isinstance(error, ReturningRecordError):
        return ExitCode.BAD_INPUT, str(error)
    if isinstance(error, StorageError):
        return ExitCode.VAULT, str(error)
    if isinstance(error, OSError):
        place = "" if error.filename is None else f" ({error.filename})"
        return ExitCode.VAULT, f"{error.strerror or error}{place}"
    if isinstance(error, ValueError):
        return (ExitCode.VAULT if _is_not_fitted(error) else ExitCode.BAD_INPUT), str(error)
    message = f"this should not have happened ({type(error).__name__}: {error}); please report it with {DEBUG}=1"
    return ExitCode.UNEXPECTED, message


def _is_not_fitted(error: ValueError) -> bool:
    """Tell whether there is no model yet; scikit-learn, whose error that is, is not imported to find out."""
    known = sys.modules.get("sklearn.exceptions")
    return known is not None and isinstance(error, known.NotFittedError)


def printable(text: str) -> str:
    r"""Return a text that a terminal can show without being controlled by it; line ends stay.

    >>> printable("a\x1b[2Jb\n")
    'a\\x1b[2Jb\n'
    """
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode("ascii") for c in text)
