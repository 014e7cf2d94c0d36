"""MST of smartnoise-synth, in its own environment.

PYTHON synthesiser_process.py FOLDER

The folder holds `request.json` (ε, δ, a seed, how many codes each column has, how many rows to sample) and tables of
codes `0.npy`, `1.npy` and so on. MST is fitted to each, and the codes of as many samples go to `0.samples.npy` and so
on. How many codes there are is public, and no part of the budget is spent on it.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

Codes = npt.NDArray[np.int64]


def every_code(n_codes: list[int]) -> pd.DataFrame:
    """Return a table in which each column has all of its codes."""
    longest = max(n_codes)
    return pd.DataFrame({f"c{place}": np.arange(longest) % number for place, number in enumerate(n_codes)})


def synthesise(codes: Codes, request: dict[str, Any]) -> Codes:
    """Fit MST, and return the codes of samples."""
    from snsynth.mst import MSTSynthesizer  # type: ignore[import-not-found] # noqa: PLC0415
    from snsynth.transform import TableTransformer  # type: ignore[import-not-found] # noqa: PLC0415

    public = every_code(request["n_codes"])
    transformer = TableTransformer.create(public, style="cube", categorical_columns=list(public.columns))
    transformer.fit(public)
    synthesizer = MSTSynthesizer(epsilon=request["epsilon"], delta=request["delta"])
    synthesizer.fit(pd.DataFrame(codes, columns=public.columns), transformer=transformer)
    # One row independently of the others. What `synthesizer.sample` calls goes through the rows of a parent's value in
    # their order, the same for each child, and so the children of one parent depend on each other far too much.
    drawn = synthesizer.synthesizer.synthetic_data(rows=request["n_samples"], method="sample")
    rows = synthesizer.undo_compress_fn(drawn).df.itertuples(index=False, name=None)
    samples: Codes = transformer.inverse_transform(rows).to_numpy(np.int64)
    return samples


def main(folder: Path) -> None:
    """Answer a request."""
    request = json.loads((folder / "request.json").read_text("utf-8"))
    np.random.seed(request["seed"])  # noqa: NPY002 - the library draws what is no noise from it
    for number in range(request["n_tables"]):
        np.save(folder / f"{number}.samples.npy", synthesise(np.load(folder / f"{number}.npy"), request))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(Path(sys.argv[1]))
