"""A private synthesiser that people use: MST of smartnoise-synth, in an environment of its own.

It gives samples alone. For likelihoods the default network is learned from as many samples as there were records. Its
columns have the codes that the public sample gives them. Its guarantee is its own: (ε, δ) for its counts and choices,
with the number of records taken as known.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from benchmarks.alternatives.accounting import DELTA, require_epsilon
from benchmarks.alternatives.coding import Codes
from benchmarks.alternatives.methods import Trained
from benchmarks.alternatives.private_network import PrivateTrained
from benchmarks.alternatives.structure import Structure
from benchmarks.alternatives.tables import Records, Split
from benchmarks.peers.client import WorkerFailed
from benchmarks.peers.environment import Peer
from benchmarks.timing import ONE_THREAD

_PROCESS = Path(__file__).with_name("synthesiser_process.py")
#: Its bins of numbers.
_N_BINS = 12
#: Without torch, opacus and pac-synth, which other synthesizers of the library need.
SMARTNOISE = Peer(
    "smartnoise-synth",
    "1.0.8",
    (
        "smartnoise-sql==1.0.10",
        "mbi==1.1.0",
        "opendp==0.14.2",
        "jax==0.10.2",
        "jaxlib==0.10.2",
        "ml_dtypes==0.6.0",
        "opt_einsum==3.4.0",
        "optax==0.2.8",
        "chex==0.1.92",
        "absl-py==2.5.1",
        "toolz==1.2.0",
        "attrs==26.1.0",
        "disjoint-set==0.9.0",
        "networkx==3.6.1",
        "numpy==2.4.6",
        "scipy==1.17.1",
        "pandas==2.3.3",
        "python-dateutil==2.9.0.post0",
        "six==1.17.0",
        "pytz==2024.2",
        "tzdata==2024.2",
        "Faker==40.54.0",
        "SQLAlchemy==2.1.8",
        "antlr4-python3-runtime==4.9.3",
        "graphviz==0.21",
        "PyYAML==6.0.3",
        "Deprecated==1.3.1",
        "wrapt==2.5.2",
        "typing_extensions==4.16.0",
    ),
)


@dataclass(frozen=True, eq=False)
class Synthesising:
    """Trains MST, and learns the default network from its samples."""

    structure: Structure
    public_ids: frozenset[int]
    epsilon: float
    python: Path
    acts: bool = False

    @classmethod
    def of(cls, split: Split, epsilon: float, python: Path, seed: int) -> Synthesising:
        """Code the columns by the public sample of a table."""
        structure = Structure.learn(split.public, 1, _N_BINS, seed)
        return cls(structure, frozenset(split.public.ids), require_epsilon(epsilon), python)

    @property
    def name(self) -> str:
        """The name, as tables have it."""
        return f"MST, ε = {self.epsilon:g}"

    def train(self, records: Records, seed: int) -> Trained:
        """Train it once."""
        return self.train_all([records], seed)[0]

    def train_all(self, several: Sequence[Records], seed: int) -> list[Trained]:
        """Train it on several tables, in one process."""
        private = [records.without(self.public_ids.intersection(records.ids)) for records in several]
        samples = self._samples([self._coded(records) for records in private], seed)
        rng = np.random.default_rng(seed)
        return [
            PrivateTrained(self._decoded(codes, records, rng).learn(seed).circuit_)
            for codes, records in zip(samples, private, strict=True)
        ]

    def _coded(self, records: Records) -> Codes:
        """Return codes, of which the last one of each column stands for a missing value."""
        codes = self.structure.code(records.frame).codes
        return np.where(codes < 0, np.array(self.structure.n_codes), codes)

    def _decoded(self, codes: Codes, like: Records, rng: np.random.Generator) -> Records:
        """Return records that have these codes, in a table like another one."""
        columns = {}
        for place, (name, values) in enumerate(like.frame.items()):
            coding, own = self.structure.codings[place], codes[:, place].copy()
            own[own == coding.n_codes] = -1
            is_whole = pd.api.types.is_integer_dtype(values.dtype)
            if is_whole:  # it has no word for a missing value, nor for a category that nobody knows
                own[(own < 0) | (own == coding.n_codes - 1)] = 0
            column = coding.values(own, rng)
            columns[name] = column.astype(values.dtype) if is_whole else column
        return Records(pd.DataFrame(columns), like.categorical_features)

    def _samples(self, tables: list[Codes], seed: int) -> list[Codes]:
        request = {
            "epsilon": self.epsilon,
            "delta": DELTA,
            "seed": seed,
            "n_codes": [number + 1 for number in self.structure.n_codes],
            "n_samples": len(tables[0]),
            "n_tables": len(tables),
        }
        with TemporaryDirectory(prefix="unlearnspn-") as name:
            folder = Path(name)
            (folder / "request.json").write_text(json.dumps(request), "utf-8")
            for number, table in enumerate(tables):
                np.save(folder / f"{number}.npy", table)
            _ask(self.python, folder)
            return [np.load(folder / f"{number}.samples.npy") for number in range(len(tables))]


def _ask(python: Path, folder: Path) -> None:
    # It must find the packages of its own environment only.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | ONE_THREAD
    command = [str(python), "-P", "-W", "ignore", str(_PROCESS), str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise WorkerFailed(f"the process of smartnoise-synth ended with {done.returncode}:\n{done.stderr}")
