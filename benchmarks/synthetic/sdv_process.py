"""SDV's GaussianCopula and SDMetrics' quality report, in their own environment.

PYTHON sdv_process.py FOLDER

The folder holds `columns.json` (the type of each column) and tables as CSV: `train.csv`, `held_out.csv`, and one for
each model that has been sampled. The answer is a line of JSON, by model [Column Shapes, Column Pair Trends] of its
rows against those held out; the model `GaussianCopula` is learned and sampled here.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import pandas as pd
from sdmetrics.reports.single_table import QualityReport  # type: ignore[import-not-found]
from sdv.metadata import Metadata  # type: ignore[import-not-found]
from sdv.single_table import GaussianCopulaSynthesizer  # type: ignore[import-not-found]

_TABLE = "table"


def read(path: Path, types: dict[str, str]) -> pd.DataFrame:
    """Read a table, bit by bit what was written; no word stands for a missing value, but a number may be missing."""
    missing = {name: [""] for name, type in types.items() if type != "str"}
    return pd.read_csv(path, dtype=types, keep_default_na=False, na_values=missing, float_precision="round_trip")


def describe(types: dict[str, str]) -> dict[str, Any]:
    """Return the columns as SDMetrics and SDV want them described."""
    kinds = {name: "categorical" if type == "str" else "numerical" for name, type in types.items()}
    return {"columns": {name: {"sdtype": kind} for name, kind in kinds.items()}}


def sample_copula(train: pd.DataFrame, metadata: dict[str, Any], n_rows: int) -> pd.DataFrame:
    """Learn SDV's GaussianCopula with default settings, and sample it."""
    synthesizer = GaussianCopulaSynthesizer(Metadata.load_from_dict({"tables": {_TABLE: metadata}}))
    synthesizer.fit({_TABLE: train})
    sampled = synthesizer.sample(n_rows)
    rows: pd.DataFrame = sampled[_TABLE] if isinstance(sampled, dict) else sampled
    return rows


def report(real: pd.DataFrame, synthetic: pd.DataFrame, metadata: dict[str, Any]) -> list[float]:
    """Return the scores of SDMetrics' two properties."""
    quality = QualityReport()
    quality.generate(real, synthetic[real.columns], metadata, verbose=False)
    scores = quality.get_properties().set_index("Property")["Score"]
    return [float(scores[name]) for name in ("Column Shapes", "Column Pair Trends")]


def main(folder: Path) -> dict[str, list[float]]:
    """Report on all tables of the folder, and on the copula's samples."""
    types = json.loads((folder / "columns.json").read_text("utf-8"))
    metadata = describe(types)
    tables = {path.stem: read(path, types) for path in sorted(folder.glob("*.csv"))}
    held_out = tables.pop("held_out")
    tables["GaussianCopula"] = sample_copula(tables["train"], metadata, len(held_out))
    return {name: report(held_out, table, metadata) for name, table in tables.items()}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    # What a library prints must not end up in the answer.
    answers, sys.stdout = sys.stdout, sys.stderr
    print(json.dumps(main(Path(sys.argv[1]))), file=answers)
