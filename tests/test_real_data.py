"""Real tables: after every removal both digests are those of a model that never saw the record."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine

from unlearnspn import SPN

N_SINGLE, N_BATCH = 15, 15


def wine():
    bunch = load_wine()
    names = bunch.target_names[bunch.target].astype(object)
    return np.column_stack([bunch.data.astype(object), names]), {}


def digits():
    pixels = load_digits().data[:300, 16:48:2]
    return (pixels > 7).astype(int), {"categorical_features": "all"}


TABLES = {
    "wine": wine,
    "breast cancer": lambda: (load_breast_cancer().data, {}),
    "iris": lambda: (load_iris().data, {}),
    "diabetes": lambda: (load_diabetes().data, {}),
    "digits": digits,
}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("parameters", [{}, {"min_rows": 40}], ids=["default size", "small nodes"])
@pytest.mark.parametrize("make", [SPN, SPN.from_paper], ids=["ours", "paper"])
def test_removals_equal_retraining(name, parameters, make):
    X, kinds = TABLES[name]()
    estimator = make(**parameters, **kinds)
    order = np.random.default_rng(len(X)).permutation(len(X))
    spn = clone(estimator).fit(X)
    assert any(view.children for view in spn.root_.children) or len(X) <= spn.min_rows_

    def same_as_fresh(n_gone):
        rest = np.sort(order[n_gone:])
        fresh = clone(estimator).fit(X[rest], ids=rest)
        assert (spn.digest(), spn.state_digest()) == (fresh.digest(), fresh.state_digest())
        return fresh

    for done in range(N_SINGLE):
        spn.unlearn(int(order[done]))
        same_as_fresh(done + 1)
    spn.unlearn(order[N_SINGLE : N_SINGLE + N_BATCH])
    fresh = same_as_fresh(N_SINGLE + N_BATCH)
    assert spn.score_samples(X).tobytes() == fresh.score_samples(X).tobytes()
