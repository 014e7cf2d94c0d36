"""Models of many kinds of tables, under a fixed sequence of requests each: what any engine must reproduce, bit for bit.

`python tests/golden/corpus.py` records the hashes anew; do so only where what `learn(S)` gives is meant to change.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn import datasets

from unlearnspn import SPN, SPNClassifier, SPNEnsemble, SPNImputer

HASHES = Path(__file__).with_name("hashes.json")
_PROBES = 200

Model = SPN | SPNEnsemble | SPNClassifier


# -- tables --------------------------------------------------------------------------------------------------------


def mixed(n: int, seed: int, missing: bool = False) -> pd.DataFrame:
    """Return numbers near and far, whole and skewed, categories, booleans and codes; the same on every machine."""
    r = np.random.default_rng(seed)
    a, b, z = r.integers(-5000, 5000, n), r.integers(0, 1000, n), r.integers(0, 4, n)
    table = pd.DataFrame(
        {
            "number": a / 8 + 700 * z,
            "related": (a + b) / 16,
            "skewed": b * b / 1024,
            "far": 1e9 + a / 4 + 500 * z,
            "tiny": (b - 500) * 2.0**-20,
            "whole": r.integers(0, 7, n),
            "town": np.array(["Bonn", "Kiel", "Trier", "Ulm"])[(z + (b > 800)) % 4],
            "late": b + 100 * z > 500,
            "code": pd.Categorical(r.integers(0, 30, n)),
            "same": np.full(n, 2.5),
        }
    )
    if missing:
        for i, name in enumerate(("number", "skewed", "town")):
            table.loc[r.integers(0, 10, n) == i, name] = None
    return table


def counted(n: int, seed: int) -> pd.DataFrame:
    """Return columns that suit the leaves for counts, durations, amounts and shares."""
    r = np.random.default_rng(seed)
    z, b = r.integers(0, 3, n), r.integers(1, 1000, n)
    return pd.DataFrame(
        {
            "visits": r.integers(0, 5, n) + 4 * z,
            "wait": b * (1 + z) / 64,
            "amount": (1 + b * b) / 128,
            "share": b / 16 + 100 * z,
            "night": r.integers(0, 4, n) < z,
            "town": np.array(["Bonn", "Kiel", "Ulm"])[(z + (b > 700)) % 3],
        }
    )


def binary(n: int, columns: int, seed: int) -> pd.DataFrame:
    """Return binary columns with clusters in them."""
    r = np.random.default_rng(seed)
    z, p = r.integers(0, 6, n), r.integers(0, 100, (6, columns))
    return pd.DataFrame(
        np.where(r.integers(0, 100, (n, columns)) < p[z], "1", "0"), columns=[f"v{j}" for j in range(columns)]
    )


def indicators(n: int, seed: int) -> pd.DataFrame:
    """Return letters, three indicators of each, and what two of them tell together; a tenth of the cells is missing."""
    r = np.random.default_rng(seed)
    letters = r.integers(0, 4, (n, 3))
    letters[:, 2] = np.where(r.integers(0, 10, n) < 8, letters[:, 0] ^ letters[:, 1], letters[:, 2])
    table = pd.DataFrame({f"is {k}{'abc'[j]}": letters[:, k] == j for k in range(3) for j in range(3)}).astype(object)
    table["first"] = np.array(list("abcd"))[letters[:, 0]]
    return table.mask(r.integers(0, 10, table.shape) == 0, None)


def real(load: Callable[..., object], n: int | None = None) -> pd.DataFrame:
    """Return a table of scikit-learn's, with its classes as texts."""
    table = load(as_frame=True).frame.iloc[:n].copy()  # type: ignore[attr-defined]
    table["target"] = [f"t{value:g}" for value in table["target"]]
    return table


TABLES: dict[str, Callable[[], pd.DataFrame]] = {
    "iris": lambda: real(datasets.load_iris),
    "wine": lambda: real(datasets.load_wine),
    "cancer": lambda: real(datasets.load_breast_cancer, 300),
    "digits": lambda: real(datasets.load_digits, 200),
    "diabetes": lambda: datasets.load_diabetes(as_frame=True).frame.iloc[:250],
    "mixed 1": lambda: mixed(1, 1),
    "mixed 2": lambda: mixed(2, 2),
    "mixed 7": lambda: mixed(7, 3, True),
    "mixed 60": lambda: mixed(60, 4),
    "mixed 400": lambda: mixed(400, 5, True),
    "mixed 3,000": lambda: mixed(3000, 6),
    "mixed 9,000": lambda: mixed(9000, 7, True),
    "mixed 20,000": lambda: mixed(20_000, 8),
    "counted 40": lambda: counted(40, 9),
    "counted 600": lambda: counted(600, 10),
    "binary 30 x 6": lambda: binary(30, 6, 11),
    "binary 1,500 x 25": lambda: binary(1500, 25, 12),
    "binary 9,000 x 12": lambda: binary(9000, 12, 13),
    "binary 120 x 150": lambda: binary(120, 150, 14),
    "indicators 700": lambda: indicators(700, 15),
}

# -- models --------------------------------------------------------------------------------------------------------

_LEAVES = {
    "visits": "poisson",
    "wait": "exponential",
    "amount": "log-normal",
    "share": "histogram",
    "night": "bernoulli",
}
MODELS: dict[str, Callable[[], Model]] = {
    "default": SPN,
    "small nodes": lambda: SPN(min_rows=10),
    "naive": lambda: SPN(min_rows=20, factorization="naive"),
    "two clusters, rounds": lambda: SPN(min_rows=20, factorization="naive", n_clusters=2, max_rounds=8, random_state=7),
    "three clusters, rounds, coarse": lambda: SPN(min_rows=15, n_clusters=3, max_rounds=3, epsilon=0.5, random_state=3),
    "RDC": lambda: SPN(min_rows=25, independence="rdc", random_state=1),
    "paper": SPN.from_paper,
    "paper, small nodes": lambda: SPN.from_paper(min_rows=15),
    "few bins": lambda: SPN(min_rows=20, n_bins=3, threshold=0.5, alpha=1.0, min_std=0.2),
    "all categories": lambda: SPN(min_rows=20, categorical_features="all"),
    "no rare categories": lambda: SPN(min_rows=20, min_category_count=3),
    "64 clusters": lambda: SPN(min_rows=20, n_clusters=64),
    "members": lambda: SPNEnsemble(n_members=3, subsample=0.8, min_rows=30),
    "every leaf": lambda: SPN(min_rows=15, factorization="naive", leaves=_LEAVES),
    "every leaf, trees": lambda: SPN(min_rows=15, leaves=_LEAVES),
    "classifier": lambda: SPNClassifier(min_rows=30),
    "imputer": lambda: SPNImputer(min_rows=30),
}
_SMALL = ("default", "small nodes", "naive", "two clusters, rounds", "paper", "paper, small nodes")
_MIDDLE = (*_SMALL, "three clusters, rounds, coarse", "RDC", "few bins", "no rare categories", "64 clusters", "members")
CASES: list[tuple[str, str]] = [
    *((table, model) for table in ("iris", "wine", "cancer") for model in (*_MIDDLE, "classifier", "imputer")),
    *((table, model) for table in ("mixed 60", "mixed 400") for model in (*_MIDDLE, "all categories", "imputer")),
    *((table, model) for table in ("mixed 1", "mixed 2", "mixed 7", "binary 30 x 6", "diabetes") for model in _SMALL),
    *((table, model) for table in ("counted 40", "counted 600") for model in ("every leaf", "every leaf, trees")),
    *(("mixed 3,000", model) for model in ("default", "naive", "two clusters, rounds", "paper", "members")),
    *(("binary 1,500 x 25", model) for model in ("default", "naive", "64 clusters", "members")),
    *(
        (table, "default")
        for table in ("digits", "mixed 9,000", "mixed 20,000", "binary 9,000 x 12", "binary 120 x 150")
    ),
    ("digits", "classifier"),
    *(("indicators 700", model) for model in ("default", "small nodes", "members", "imputer")),
]

# -- hashes --------------------------------------------------------------------------------------------------------


def steps(table: pd.DataFrame, model: Model) -> Iterator[dict[str, str]]:
    """Learn from most of a table, send requests, and yield hashes after each: of the circuit, densities and answers."""
    y = table["target"] if isinstance(model, SPNClassifier) else None
    X = table if y is None else table.drop(columns="target")
    n = len(X)
    n_first = max(n - n // 20, 1)

    def some(rows: list[int]) -> tuple[object, ...]:
        return (X.iloc[rows],) if y is None else (X.iloc[rows], y.iloc[rows])

    model.fit(*some(list(range(n_first))), ids=np.arange(n_first))
    yield _hashes(model, X)
    middle = n_first // 2
    if n_first > 1:
        model.unlearn([middle])
        yield _hashes(model, X)
    if n_first > 4:
        model.unlearn([i for i in range(0, n_first, 17) if i != middle])
        yield _hashes(model, X)
        model.rectify(*some([0, n - 1, n // 3]), ids=[i for i in range(1, n_first) if i != middle][:3])
        yield _hashes(model, X)
    if n_first < n:
        model.learn(*some(list(range(n_first, n))), ids=np.arange(n_first, n))
        yield _hashes(model, X)


def _hashes(model: Model, X: pd.DataFrame) -> dict[str, str]:
    probes = X.iloc[:_PROBES]
    arrays = model.circuit_.layout.arrays().items()
    found = {"circuit": _hash(b"".join(name.encode() + array.tobytes() for name, array in arrays))}
    if isinstance(model, SPNClassifier):
        return found | {"classes": _hash_answers(model.predict_proba(probes).ravel().tolist())}
    found["densities"] = _hash_numbers(model.score_samples(probes))
    if isinstance(model, SPNImputer):
        blank = np.add.outer(np.arange(len(probes)), 3 * np.arange(probes.shape[1])) % 7 == 0
        filled = model.transform(probes.astype(object).mask(blank, None)).to_numpy(object).tolist()
        found["filled in"] = _hash_answers([value for row in filled for value in row])
    return found


def _hash_answers(answers: list[object]) -> str:
    """Hash answers but for the last digits of numbers: these hang on the exponential function of the machine."""
    return _hash(
        "\n".join(f"{answer:.9g}" if isinstance(answer, float) else str(answer) for answer in answers).encode()
    )


def _hash_numbers(numbers: object) -> str:
    # With 0 added the two zeros are alike.
    return _hash(np.ascontiguousarray(np.asarray(numbers) + 0.0, "<f8").tobytes())


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:20]


def record() -> dict[str, list[dict[str, str]]]:
    """Return the hashes of all cases."""
    return {f"{table}; {model}": list(steps(TABLES[table](), MODELS[model]())) for table, model in CASES}


if __name__ == "__main__":
    HASHES.write_text(json.dumps(record(), indent=1) + "\n")
    print(len(CASES), "cases recorded", file=sys.stderr)
