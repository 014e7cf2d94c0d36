"""The estimator as scikit-learn sees it."""

import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unlearnspn import SPN, Gaussian, GTest, QKMeans

X = load_iris().data


def digests(spn):
    return spn.digest(), spn.state_digest()


@pytest.mark.parametrize(
    "spn",
    [
        SPN(min_rows=17, alpha=0.5, random_state=3),
        SPN.from_paper(min_rows=40),
        SPN(independence=GTest(1.0), clustering=QKMeans(3, 0.5, 4), leaves={"x1": Gaussian(0.2)}, min_rows=30),
    ],
    ids=["names", "paper", "blocks"],
)
def test_clone_copies_parameters_and_nothing_else(spn):
    fitted = clone(spn).fit(X)
    copy = clone(fitted)
    assert copy.get_params() == spn.get_params()
    assert not hasattr(copy, "n_features_in_")
    with pytest.raises(NotFittedError):
        copy.digest()
    assert digests(copy.fit(X)) == digests(fitted)


def test_get_params_lists_the_constructor_and_set_params_takes_it_back():
    spn = SPN(min_rows=30, epsilon=0.25)
    parameters = spn.get_params()
    assert (parameters["min_rows"], parameters["epsilon"], parameters["independence"]) == (30, 0.25, "gtest")
    assert set(parameters) == set(inspect.signature(SPN).parameters)
    again = SPN().set_params(**parameters)
    assert digests(again.fit(X)) == digests(spn.fit(X))
    assert spn.set_params(min_rows=5) is spn
    assert spn.min_rows == 5
    with pytest.raises(ValueError, match="no_such_parameter"):
        spn.set_params(no_such_parameter=1)


@pytest.mark.parametrize(
    "use",
    [
        lambda spn: spn.score_samples(X),
        lambda spn: spn.score(X),
        lambda spn: spn.digest(),
        lambda spn: spn.state_digest(),
        lambda spn: spn.verify(),
        lambda spn: spn.unlearn(0),
        lambda spn: spn.learn(X),
        lambda spn: spn.rectify(X, ids=range(150)),
        lambda spn: spn.root_,
        lambda spn: spn.n_records_,
        lambda spn: spn.ids_,
    ],
)
def test_nothing_works_before_fit(use):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        use(SPN())


def test_fit_returns_self_and_ignores_y():
    spn = SPN(min_rows=30)
    assert spn.fit(X, load_iris().target) is spn
    assert digests(spn) == digests(SPN(min_rows=30).fit(X))


def test_grid_search_scores_held_out_log_density():
    folds = KFold(3, shuffle=True, random_state=0)
    search = GridSearchCV(SPN(threshold=1.0, epsilon=0.5), {"min_rows": [10, 40, 1000]}, cv=folds).fit(X)
    by_hand = {
        min_rows: np.mean(
            [
                SPN(threshold=1.0, epsilon=0.5, min_rows=min_rows).fit(X[train]).score_samples(X[test]).mean()
                for train, test in folds.split(X)
            ]
        )
        for min_rows in (10, 40, 1000)
    }
    assert search.cv_results_["mean_test_score"] == pytest.approx(list(by_hand.values()), rel=1e-12)
    assert search.best_params_ == {"min_rows": max(by_hand, key=by_hand.get)}
    assert search.best_params_ != {"min_rows": 1000}
    assert digests(search.best_estimator_) == digests(clone(search.best_estimator_).fit(X))


def test_pipeline_scores():
    pipeline = make_pipeline(StandardScaler(), SPN(min_rows=30)).fit(X)
    scaled = StandardScaler().fit_transform(X)
    assert pipeline.score(X) == SPN(min_rows=30).fit(scaled).score(scaled)


@pytest.mark.parametrize("make", [SPN, SPN.from_paper])
def test_a_pickled_model_is_the_same_and_can_unlearn(make):
    spn = make(min_rows=30).fit(X)
    spn.unlearn([3, 4])
    again = pickle.loads(pickle.dumps(spn))
    assert digests(again) == digests(spn)
    assert again.score_samples(X).tobytes() == spn.score_samples(X).tobytes()
    gone = [0, 60, 120]
    again.unlearn(gone)
    rest = np.delete(np.arange(150), [3, 4, *gone])
    fresh = make(min_rows=30).fit(X[rest], ids=rest)
    assert digests(again) == digests(fresh)
    assert digests(spn) != digests(again)
    again.learn(X[gone], ids=gone)
    assert digests(again) == digests(spn)


def test_names_and_number_of_features():
    named = SPN().fit(pd.DataFrame(X, columns=["a", "b", "c", "d"]))
    assert named.n_features_in_ == 4
    assert named.feature_names_in_.dtype == object
    assert named.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    named.fit(X[:, :3])
    assert named.n_features_in_ == 3
    assert not hasattr(named, "feature_names_in_")
    with_ids = SPN().fit(pd.DataFrame({"person": range(150), "a": X[:, 0], "b": X[:, 1]}), ids="person")
    assert with_ids.n_features_in_ == 2
    assert with_ids.feature_names_in_.tolist() == ["a", "b"]
