"""Our end of a worker: start it, ask it, stop it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from benchmarks.peers import environment
from benchmarks.peers.environment import Peer, python_of
from benchmarks.peers.libraries import DEEPROB_KIT, OURS, SPFLOW
from benchmarks.timing import ONE_THREAD

_WORKER = Path(__file__).with_name("worker.py")
#: The module that speaks for each library, and the peer whose environment it needs; None for our own.
LIBRARIES: dict[str, tuple[str, Peer | None]] = {
    OURS: ("unlearnspn_model", None),
    SPFLOW: ("spflow_model", environment.SPFLOW),
    DEEPROB_KIT: ("deeprob_model", environment.DEEPROB_KIT),
}


class WorkerFailed(RuntimeError):
    """A worker ended, or could not do what it was asked to."""


@dataclass(frozen=True)
class Learned:
    """How many sums, products and leaves a worker's model has, and the seconds of learning it in the worker."""

    size: dict[str, int]
    seconds: float

    @property
    def units(self) -> int:
        """All sums, products and leaves."""
        return sum(self.size.values())


class Worker:
    """A library in a process of its own, with one thread for BLAS and OpenMP."""

    def __init__(self, library: str, environments: Path | None = None) -> None:
        module, peer = LIBRARIES[library]
        python = sys.executable if peer is None else str(python_of(peer, environments))
        self.library = library
        self._files = tempfile.TemporaryDirectory(prefix="unlearnspn-")
        # A peer must find the packages of its own environment only.
        inherited = {name: value for name, value in os.environ.items() if peer is None or name != "PYTHONPATH"}
        self._process = subprocess.Popen(
            [python, "-W", "ignore", str(_WORKER), module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env={**inherited, **ONE_THREAD},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        # It ends by itself when there is nothing more to read; communicate() waits for that.
        self._process.communicate()
        self._files.cleanup()

    def learn(self, rows: npt.NDArray[np.float64], n_categories: list[int], /, **options: Any) -> Learned:
        """Learn a model."""
        path = self._array("learn", rows)
        return Learned(**self._ask("learn", rows=path, n_categories=n_categories, options=options))

    def widen(self, least: list[float]) -> None:
        """Give Gaussian leaves at least these standard deviations, by column."""
        self._ask("widen", least=least)

    def convert(self, circuit: str) -> dict[str, int]:
        """Take over a model from the JSON of a circuit, and return how many sums, products and leaves it has."""
        path = Path(self._files.name) / "circuit.json"
        path.write_text(circuit, "utf-8")
        size: dict[str, int] = self._ask("convert", circuit=str(path))
        return size

    def read(self, rows: npt.NDArray[np.float64]) -> None:
        """Hand over the rows to score."""
        self._ask("read", rows=self._array("score", rows))

    def time_scores(self) -> float:
        """Score the rows that were handed over, and return the seconds it took in the worker."""
        return float(self._ask("score"))

    def score(self, rows: npt.NDArray[np.float64]) -> npt.NDArray[np.floating]:
        """Return the log-density of each row."""
        self.read(rows)
        into = Path(self._files.name) / "densities.npy"
        self._ask("score", into=str(into))
        densities: npt.NDArray[np.floating] = np.load(into)
        return densities

    def _array(self, name: str, array: npt.NDArray[np.float64]) -> str:
        path = Path(self._files.name) / f"{name}.npy"
        np.save(path, array)
        return str(path)

    def _ask(self, call: str, **arguments: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps({"call": call, "with": arguments}) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise WorkerFailed(f"the worker of {self.library} ended with {self._process.wait()} when asked to {call}")
        answer = json.loads(line)
        if "error" in answer:
            raise WorkerFailed(f"{self.library} could not {call}:\n{answer['error']}")
        return answer["result"]
