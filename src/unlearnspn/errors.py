"""What can go wrong with a request, told before anything is changed."""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

_SHOWN = 10


class InvalidTableError(ValueError):
    """The table, its columns or its values cannot be used; the message names the culprit."""


class RecordIdError(ValueError):
    """The ids of a request do not fit the records: unknown, repeated, already there, or not ids at all."""


class UnknownRecordError(RecordIdError):
    """There are no records with these ids, or none of this subject."""


class LastRecordError(ValueError):
    """The request would leave no record at all; a model of nothing does not exist."""


class ParameterTypeError(TypeError):
    """A parameter is of a type that it cannot have; the message names it."""


class NotOnAClusterError(ValueError):
    """What is asked for cannot be done where the records lie on several machines; the message says what can."""


class WorkerLostError(RuntimeError):
    """A worker of the cluster is gone, with the records that it held; the message says how to go on."""


class InvalidEvidenceError(ValueError):
    """Evidence or an event cannot be read, or does not fit the columns it speaks of."""


class ImpossibleEvidenceError(ValueError):
    """The evidence has probability 0 under the model, so nothing can be said given it."""


class IdentifyingColumnWarning(UserWarning):
    """Nearly every record has a value of its own in some column, which the model shows in clear."""


class SameMembersWarning(UserWarning):
    """All members of an ensemble are the same network, so that it is no better than one."""


class TextDatesWarning(UserWarning):
    """A column of texts holds dates or times, each of which would be a category of its own."""


class UnseenCategoryWarning(UserWarning):
    """A question speaks of a category that no record has, perhaps because it is misspelt; the answer is right."""


def warn_outside(message: str, category: type[Warning]) -> None:
    """Warn at the line that called the package, however deep in the package this is."""
    depth, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "unlearnspn":
        depth, frame = depth + 1, frame.f_back
    warnings.warn(message, category, stacklevel=depth)


def repeated(items: Iterable[str]) -> list[str]:
    """Return what occurs more than once, in order.

    >>> repeated(["b", "a", "c", "b", "a", "b"])
    ['a', 'b']
    """
    return sorted(item for item, times in Counter(items).items() if times > 1)


def not_fitted(message: str) -> Exception:
    """Return scikit-learn's error for a model that is not there yet."""
    # Only now: its import takes longer than all else of a vault or of an estimator of densities.
    from sklearn.exceptions import NotFittedError  # noqa: PLC0415

    error: Exception = NotFittedError(message)
    return error


def listing(items: Iterable[Any], shown: int = _SHOWN) -> str:
    """Write out up to ten items, and how many more there are.

    >>> listing([3, "a"])
    "3, 'a'"
    >>> listing(range(12))
    '0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more'
    """
    everything: Sequence[Any] = list(items)
    text = ", ".join(repr(item) for item in everything[:shown])
    rest = len(everything) - shown
    return f"{text} and {rest} more" if rest > 0 else text
