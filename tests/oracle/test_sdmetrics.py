"""SDMetrics judges tables in an environment of its own, and is given them as they are."""

import numpy as np
import pandas as pd
import pytest

from benchmarks.peers.environment import SDV, python_of, why_not
from benchmarks.synthetic.sdv_client import COPULA, REAL_ROWS, Scores, quality_of
from benchmarks.synthetic.tables import Table

pytestmark = pytest.mark.sdv


def test_rows_are_judged_against_those_held_out():
    if reason := why_not():
        pytest.skip(reason)
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    # Categories that look like numbers or like nothing, and whole numbers.
    frame = pd.DataFrame({"x": x, "w": 2 * x + rng.normal(size=400), "n": rng.integers(0, 9, 400)})
    split = Table("sample", frame.assign(code=rng.choice(["0", "NA", "None"], 400))).split(0)
    unrelated = split.held_out.assign(w=rng.permutation(split.held_out["w"]))
    found = quality_of(python_of(SDV), split, {"same": split.held_out, "unrelated": unrelated})
    assert found["same"] == Scores(1.0, 1.0)
    assert found["unrelated"].shapes == 1.0
    assert found["unrelated"].trends < found[REAL_ROWS].trends < 1.0
    assert found[COPULA].trends > found["unrelated"].trends
