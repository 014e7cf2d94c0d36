"""Answers that clients got, and when."""

from __future__ import annotations

import json
from typing import Any, NamedTuple


class Answer(NamedTuple):
    """When something was asked and answered, by the clock of the machine; and what, None if it failed."""

    asked: float
    answered: float
    densities: list[float | None] | None


def read_answers(printed: str) -> list[Answer]:
    """Return what the process has printed."""
    document: list[Any] = json.loads(printed)
    return [Answer(*item) for item in document]
