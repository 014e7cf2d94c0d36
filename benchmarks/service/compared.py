"""Our own clients: they note when each answer was asked for and given, so that each can be compared with its state."""

from __future__ import annotations

import json
import sys
from bisect import bisect_left, bisect_right
from typing import Any, NamedTuple

import numpy as np

from benchmarks.service.loads import Answered, Removal, States, Target


class Answer(NamedTuple):
    """When something was asked and answered, by the clock of the machine; and the answer, None if it failed."""

    asked: float
    answered: float
    densities: list[float | None] | None


class EachAnswer:
    """All answers of a phase, one by one."""

    def __init__(self, answers: list[Answer]) -> None:
        seconds = [answer.answered - answer.asked for answer in answers]
        self.answers = answers
        self.number = len(answers)
        self.span = max(answer.answered for answer in answers) - min(answer.asked for answer in answers)
        self.median_ms, self.p99_ms = (1e3 * np.quantile(seconds, [0.5, 0.99])).tolist()
        self.failed = sum(answer.densities is None for answer in answers)

    def count_wrong(self, removals: list[Removal], states: States) -> int:
        """Return how many answers are those of no state that there was between question and answer."""
        done, begun = [each.answered for each in removals], [each.asked for each in removals]
        wrong = 0
        for answer in self.answers:
            if answer.densities is not None:
                first, last = bisect_left(done, answer.asked), bisect_right(begun, answer.answered)
                wrong += answer.densities not in states[first : last + 1]
        return wrong


class Compared:
    """The load of our own clients."""

    key = "compared"
    title = "answers compared"
    note = "every answer is compared, to the last bit, with the states between its question and its end"

    def command(self, target: Target, seconds: float) -> list[str]:
        """Return the command that asks, with a process of its own for all clients."""
        return [sys.executable, "-m", "benchmarks.service.clients", *map(str, target), str(seconds)]

    def read(self, printed: str) -> Answered:
        """Return what the process has printed."""
        document: list[Any] = json.loads(printed)
        return EachAnswer([Answer(*item) for item in document])
