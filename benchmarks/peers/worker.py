"""A process that holds one library's model: it learns, converts and scores on request, and takes the time itself.

PYTHON worker.py MODULE

MODULE is a module of this folder that offers what `Library` says. Requests come as lines of JSON, {"call": name,
"with": arguments}, and so go the answers, {"result": …} or {"error": …}. Arrays are passed as files.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TextIO, cast

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.float64]
Size = dict[str, int]


class Library(Protocol):
    """What the worker needs of a library; a model is whatever the library makes of one."""

    def learn(self, rows: Rows, n_categories: list[int], options: dict[str, Any]) -> Any:
        """Learn from rows; columns with 0 categories are numeric, the others hold codes 0, 1, …"""

    def size(self, model: Any) -> Size:
        """Count the sums, products and leaves."""

    def score(self, model: Any, rows: Rows) -> npt.NDArray[np.floating]:
        """Return the log-density of each row."""


@dataclass
class Session:
    """One model, and the rows that it scores."""

    library: Library
    model: Any = None
    rows: Rows = field(default_factory=lambda: np.zeros((0, 0)))

    def learn(self, rows: str, n_categories: list[int], options: dict[str, Any]) -> dict[str, Any]:
        """Learn a model, and return its size and the seconds of learning."""
        table = np.load(rows)
        started = time.perf_counter()
        self.model = self.library.learn(table, n_categories, options)
        seconds = time.perf_counter() - started
        return {"size": self.library.size(self.model), "seconds": seconds}

    def widen(self, least: list[float]) -> None:
        """Give Gaussian leaves at least these standard deviations, by column, if the library's module can."""
        cast(Any, self.library).widen(self.model, least)

    def convert(self, circuit: str) -> Size:
        """Take over a model from the JSON of a circuit, if the library's module can."""
        self.model = cast(Any, self.library).convert(json.loads(Path(circuit).read_text("utf-8")))
        return self.library.size(self.model)

    def read(self, rows: str) -> None:
        """Read the rows to score."""
        self.rows = np.load(rows)

    def score(self, into: str | None = None) -> float:
        """Score the rows that were read, save the log-densities if asked to, and return the seconds of scoring."""
        started = time.perf_counter()
        densities = self.library.score(self.model, self.rows)
        seconds = time.perf_counter() - started
        if into is not None:
            np.save(into, densities)
        return seconds


def serve(session: Session, requests: TextIO, answers: TextIO) -> None:
    """Answer requests until there are no more."""
    for line in requests:
        request = json.loads(line)
        try:
            answer = {"result": getattr(session, request["call"])(**request["with"])}
        except Exception:  # whatever it is, it goes to the one who asked
            answer = {"error": traceback.format_exc()}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def main() -> int:
    """Answer the requests on stdin for the library whose module is named."""
    # What a library prints must not end up among the answers.
    answers, sys.stdout = sys.stdout, sys.stderr
    serve(Session(cast(Library, importlib.import_module(sys.argv[1]))), sys.stdin, answers)
    return 0


if __name__ == "__main__":
    sys.exit(main())
