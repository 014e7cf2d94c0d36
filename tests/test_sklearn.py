"""The estimators as scikit-learn sees them."""

import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.ensemble import VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_val_predict, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from unlearnspn import SPN, Gaussian, GTest, QKMeans, SPNClassifier, SPNEnsemble
from unlearnspn.estimators.imputer import SPNImputer

X, Y = load_iris(return_X_y=True)
ESTIMATORS = [SPN, SPNClassifier, SPNEnsemble, SPNImputer]


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
        spn.set_params(min_rows=9, no_such_parameter=1)
    assert spn.min_rows == 5


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


# -- all estimators --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", ESTIMATORS)
def test_clones_of_all_estimators_are_unfitted_copies(make):
    fitted = make(min_rows=30, threshold=1.0, leaves={"x1": Gaussian(0.2)}, random_state=5).fit(X, Y)
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    with pytest.raises(NotFittedError):
        copy.digest()
    assert digests(copy.fit(X, Y)) == digests(fitted)


@pytest.mark.parametrize("make", ESTIMATORS)
def test_parameters_of_all_estimators_can_be_read_and_set(make):
    estimator = make(min_rows=30, epsilon=0.25)
    assert set(estimator.get_params()) == set(inspect.signature(make).parameters)
    again = make().set_params(**estimator.get_params())
    assert digests(again.fit(X, Y)) == digests(estimator.fit(X, Y))
    assert "epsilon=0.25" in repr(estimator)


@pytest.mark.parametrize("make", ESTIMATORS)
def test_parameters_set_after_fit_wait_for_the_next(make):
    estimator = make(min_rows=30).fit(X, Y)
    before = digests(estimator)
    assert digests(estimator.set_params(min_rows=10, threshold=1.0)) == before
    assert estimator.verify()
    assert digests(estimator.fit(X, Y)) == digests(make(min_rows=10, threshold=1.0).fit(X, Y))


@pytest.mark.parametrize("make", ESTIMATORS)
def test_estimators_are_shown_alone_and_in_pipelines(make):
    pipeline = make_pipeline(StandardScaler(), make(min_rows=30))
    assert f"{make.__name__}(min_rows=30)" in repr(pipeline)
    for shown in (pipeline, pipeline[-1]):
        assert make.__name__ in shown._repr_html_()


@pytest.mark.parametrize("make", ESTIMATORS)
def test_whether_estimators_are_fitted_is_seen_from_outside(make):
    with pytest.raises(NotFittedError):
        check_is_fitted(make())
    check_is_fitted(make(min_rows=30).fit(X, Y))


@pytest.mark.parametrize("make", ESTIMATORS)
def test_tags(make):
    tags = get_tags(make())
    assert tags.input_tags.allow_nan
    assert tags.input_tags.string
    assert tags.input_tags.categorical
    assert not tags.input_tags.sparse
    assert not tags.non_deterministic
    assert tags.target_tags.required == (make is SPNClassifier)
    assert (tags.transformer_tags is not None) == (make is SPNImputer)


@pytest.mark.parametrize("make", ESTIMATORS)
def test_ids_can_be_passed_through_searches_and_pipelines(make):
    ids = np.arange(150) * 2
    pipeline = make_pipeline(StandardScaler(), make(min_rows=30))
    pipeline.fit(X, Y, **{f"{make.__name__.lower()}__ids": ids})
    assert pipeline[-1].ids_ == ids.tolist()
    search = GridSearchCV(make(), {"min_rows": [10, 30]}, cv=3).fit(X, Y, ids=ids)
    search.best_estimator_.unlearn(298)
    assert search.best_estimator_.ids_ == ids[:-1].tolist()


# -- the classifier --------------------------------------------------------------------------------------------------


def test_cross_validation_is_what_it_is_by_hand():
    folds = StratifiedKFold(4, shuffle=True, random_state=0)
    classifier = SPNClassifier(min_rows=20)
    by_hand = [clone(classifier).fit(X[a], Y[a]).score(X[b], Y[b]) for a, b in folds.split(X, Y)]
    assert cross_val_score(classifier, X, Y, cv=folds).tolist() == by_hand
    assert np.mean(by_hand) > 0.9
    losses = cross_val_score(classifier, X, Y, cv=folds, scoring="neg_log_loss")
    assert -0.5 < losses.mean() < 0.0
    assert cross_val_predict(classifier, X, Y, cv=folds, method="predict_proba").shape == (150, 3)


def test_grid_search_of_a_classifier():
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    grid = {"min_rows": [10, 30], "threshold": [0.5, 1000.0]}
    search = GridSearchCV(SPNClassifier(), grid, cv=folds, scoring="neg_log_loss").fit(X, Y)
    assert search.best_params_["threshold"] == 0.5
    assert search.classes_.tolist() == [0, 1, 2]
    assert (search.predict(X) == search.best_estimator_.predict(X)).all()


def test_a_classifier_at_the_end_of_a_pipeline():
    table = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    table["colour"] = np.where(Y == 0, "red", "blue")
    table.loc[::7, ["a", "colour"]] = None
    scaler = make_column_transformer((StandardScaler(), ["b", "c", "d"]), remainder="passthrough")
    pipeline = make_pipeline(scaler.set_output(transform="pandas"), SPNClassifier(min_rows=20)).fit(table, Y)
    assert pipeline.score(table, Y) > 0.9
    assert pipeline[-1].feature_names_in_.tolist()[-1] == "remainder__colour"
    assert pipeline.predict_log_proba(table).shape == (150, 3)


def test_a_classifier_within_others():
    classifier = SPNClassifier(min_rows=20)
    voting = VotingClassifier([("spn", classifier), ("bayes", GaussianNB())], voting="soft").fit(X, Y)
    assert voting.score(X, Y) > 0.9
    calibrated = CalibratedClassifierCV(classifier, cv=3).fit(X, Y)
    assert calibrated.score(X, Y) > 0.9


def test_a_density_estimator_predicts_only_where_there_are_categories():
    assert not hasattr(SPN(), "predict_proba")
    assert not hasattr(SPN().fit(X), "predict_proba")
    table = pd.DataFrame(X, columns=["a", "b", "c", "d"]).assign(species=load_iris().target_names[Y])
    spn = SPN(min_rows=20).fit(table)
    probabilities = spn.predict_proba(table.drop(columns="species"), target="species")
    assert (probabilities.argmax(axis=1) == Y).mean() > 0.9
    assert (probabilities == spn.circuit_.predict_proba(table, target="species")).all()


# -- the imputer -----------------------------------------------------------------------------------------------------


def test_an_imputer_in_a_search_and_a_cross_validation():
    gaps = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    pipeline = make_pipeline(SPNImputer(threshold=0.5), StandardScaler(), LogisticRegression())
    search = GridSearchCV(pipeline, {"spnimputer__min_rows": [10, 40]}, cv=3).fit(gaps, Y)
    assert search.best_score_ > 0.85
    assert cross_val_score(pipeline, gaps, Y, cv=3).mean() > 0.85
    search.best_estimator_[0].unlearn([1, 2])
    assert search.best_estimator_[0].verify()
