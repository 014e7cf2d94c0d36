"""Our end of SDV's process: hand over tables, and get SDMetrics' scores."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from benchmarks.peers.client import WorkerFailed
from benchmarks.synthetic.tables import Split
from benchmarks.timing import ONE_THREAD

#: What the process calls the rows that were learned from, and SDV's model.
REAL_ROWS, COPULA = "train", "GaussianCopula"
_PROCESS = Path(__file__).with_name("sdv_process.py")


@dataclass(frozen=True)
class Scores:
    """SDMetrics' scores of a table: how like the real ones its columns are, and its pairs of columns."""

    shapes: float
    trends: float


def quality_of(python: Path, split: Split, samples: dict[str, pd.DataFrame]) -> dict[str, Scores]:
    """Return the scores of samples, of the copula's and of the training rows, all against the rows held out."""
    with TemporaryDirectory(prefix="unlearnspn-") as name:
        folder = Path(name)
        types = {column: _type(split.train[column]) for column in split.train}
        (folder / "columns.json").write_text(json.dumps(types), "utf-8")
        for number, table in enumerate([split.train, split.held_out, *samples.values()]):
            stem = (REAL_ROWS, "held_out")[number] if number < 2 else f"samples{number - 2}"
            table.to_csv(folder / f"{stem}.csv", index=False)
        answer = _ask(python, folder)
    named = {f"samples{number}": model for number, model in enumerate(samples)}
    return {named.get(key, key): Scores(*scores) for key, scores in answer.items()}


def _type(column: pd.Series) -> str:
    return str(column.dtype) if pd.api.types.is_numeric_dtype(column) else "str"


def _ask(python: Path, folder: Path) -> dict[str, list[float]]:
    # It must find the packages of its own environment only.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | ONE_THREAD
    command = [str(python), "-P", "-W", "ignore", str(_PROCESS), str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise WorkerFailed(f"the process of SDV ended with {done.returncode}:\n{done.stderr}")
    answer: dict[str, list[float]] = json.loads(done.stdout)
    return answer
