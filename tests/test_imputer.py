"""The imputer: what it fills in, what comes back, and removal that equals retraining."""

import inspect

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from unlearnspn import SPN
from unlearnspn.estimators.imputer import SPNImputer

WHOLE, Y = load_iris(return_X_y=True)
X = WHOLE.copy()
X[np.random.default_rng(0).random(X.shape) < 0.15] = np.nan
GAPS = np.isnan(X)
NAMES = ["a", "b", "c", "d"]


def small(how="mean", **parameters):
    return SPNImputer(how, **{"min_rows": 10, "threshold": 0.5, **parameters})


def frame():
    table = pd.DataFrame(X, columns=NAMES, index=[f"row {i}" for i in range(150)])
    table["species"] = np.where(np.arange(150) % 4 == 0, None, load_iris().target_names[Y])
    table["petals"] = pd.array([None if i % 5 == 0 else i % 3 for i in range(150)], dtype="Int64")
    table["group"] = pd.Categorical(table["species"])
    return table


@pytest.mark.parametrize("how", ["mean", "mpe", "sample"])
def test_fills_the_gaps_and_nothing_else(how):
    filled = small(how).fit(X).transform(X)
    assert isinstance(filled, np.ndarray)
    assert not np.isnan(filled).any()
    assert (filled[~GAPS] == X[~GAPS]).all()
    assert np.isnan(X[GAPS]).all()


def test_fills_in_what_impute_does():
    imputer = small().fit(X)
    assert (imputer.transform(X) == imputer.impute(X, "mean")).all()
    assert (small("mpe").fit(X).transform(X) == imputer.mpe(X)).all()
    assert (imputer.fit_transform(X) == imputer.transform(X)).all()


def test_is_better_than_column_means():
    error = np.abs(small().fit_transform(X) - WHOLE)[GAPS].mean()
    assert error < 0.6 * np.abs(np.nanmean(X, axis=0) - WHOLE)[GAPS].mean()


def test_samples_follow_from_the_seed():
    once = small("sample", random_state=1).fit(X)
    again = small("sample", random_state=1).fit(X)
    other = small("sample", random_state=2).fit(X)
    assert (once.transform(X) == again.transform(X)).all()
    assert (once.transform(X) == once.transform(X)).all()
    assert (once.transform(X) != other.transform(X)).any()


def test_samples_spread_as_the_values_do():
    column = np.where(GAPS[:, 2], small("sample").fit_transform(X)[:, 2], np.nan)
    means = np.where(GAPS[:, 2], small().fit_transform(X)[:, 2], np.nan)
    assert np.nanstd(column) > np.nanstd(means)


def test_frames_come_back_as_frames_with_index_and_types():
    table = frame()
    filled = small().fit(table).transform(table)
    assert isinstance(filled, pd.DataFrame)
    assert filled.index.equals(table.index)
    assert filled.dtypes.equals(table.dtypes)
    assert not filled.isna().any().any()
    assert filled[table.notna()].equals(table)


def test_categories_are_filled_in_by_the_rest_of_the_row():
    table = frame()
    gaps = table["species"].isna()
    right = []
    for seed in range(6):
        filled = small().set_params(random_state=seed, n_clusters=2, max_rounds=1).fit(table).transform(table)
        right.append((filled["species"] == load_iris().target_names[Y])[gaps].mean())
    assert np.mean(right) > 0.85


@pytest.mark.parametrize("output", ["default", "pandas", "polars"])
@pytest.mark.parametrize("kind", ["array", "lists", "pandas", "polars", "arrow"])
@pytest.mark.parametrize("globally", [False, True])
def test_set_output(output, kind, globally):
    table = frame()
    tables = {
        "array": X,
        "lists": X.tolist(),
        "pandas": table,
        "polars": pl.from_pandas(table),
        "arrow": pa.Table.from_pandas(table, preserve_index=False),
    }
    if globally:
        with config_context(transform_output=output):
            filled = small().fit(tables[kind]).transform(tables[kind])
    else:
        filled = small().set_output(transform=output).fit_transform(tables[kind])
    own = {"array": np.ndarray, "lists": np.ndarray, "pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.Table}
    wanted = {"default": own[kind], "pandas": pd.DataFrame, "polars": pl.DataFrame}[output]
    assert isinstance(filled, wanted)
    if wanted is not np.ndarray:
        names = filled.column_names if wanted is pa.Table else list(filled.columns)
        assert names == ([f"x{i}" for i in range(4)] if kind in ("array", "lists") else list(table.columns))
    values = np.asarray(filled.to_pandas() if wanted in (pa.Table, pl.DataFrame) else filled)
    assert not pd.isna(values).any()
    if output == "pandas" and kind == "pandas":
        assert filled.index.equals(table.index)


def test_clones_keep_their_output():
    imputer = clone(small().set_output(transform="pandas"))
    assert isinstance(imputer.fit_transform(X), pd.DataFrame)


def test_names_of_features():
    assert small().fit(frame()).get_feature_names_out().tolist() == list(frame().columns)
    assert small().fit(X).get_feature_names_out().tolist() == ["x0", "x1", "x2", "x3"]
    assert small().fit(X).get_feature_names_out(NAMES).tolist() == NAMES
    with pytest.raises(NotFittedError):
        small().get_feature_names_out()


def test_single_precision_stays_single_precision():
    filled = small().fit_transform(X.astype(np.float32))
    assert filled.dtype == np.float32
    assert not np.isnan(filled).any()


def test_a_column_of_ids_is_left_out():
    table = frame().assign(person=range(150))
    imputer = small().fit(table, ids="person")
    filled = imputer.transform(table)
    assert list(filled.columns) == imputer.get_feature_names_out().tolist() == list(frame().columns)
    assert filled.equals(imputer.transform(table.drop(columns="person")))


def test_a_category_never_seen_stays():
    table = frame()
    imputer = small().fit(table)
    new = table.iloc[[0, 1]].assign(species=["sibirica", None])
    assert imputer.transform(new)["species"].tolist()[0] == "sibirica"


@pytest.mark.parametrize("how", ["median", None, 3])
def test_other_ways_are_refused(how):
    with pytest.raises(ValueError, match="is none of 'mean', 'mpe', 'sample'"):
        SPNImputer(how).fit(X)


def test_nothing_is_filled_in_before_fit():
    with pytest.raises(NotFittedError):
        small().transform(X)


def test_parameters_are_those_of_the_density_estimator():
    own = inspect.signature(SPNImputer).parameters
    parents = inspect.signature(SPN).parameters
    assert list(own) == ["how", *parents]
    defaults = {name: p.default for name, p in parents.items()}
    assert {name: own[name].default for name in parents} == {**defaults, "min_rows": 1000}
    settings = {"min_rows": 7, "threshold": 0.5, "alpha": 1.0, "n_bins": 4, "leaves": {"x0": "histogram"}}
    assert SPNImputer("mpe", **settings, random_state=3).get_params() == {
        **SPN(**settings, random_state=3).get_params(),
        "how": "mpe",
    }


# -- removing, adding, correcting ------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["mean", "mpe", "sample"])
def test_unlearning_equals_retraining(how):
    imputer = small(how).fit(X)
    gone = [0, 3, 77, 149]
    assert imputer.unlearn(gone).records_removed == 4
    rest = np.delete(np.arange(150), gone)
    fresh = small(how).fit(X[rest], ids=rest)
    assert (imputer.digest(), imputer.state_digest()) == (fresh.digest(), fresh.state_digest())
    assert imputer.transform(X).tobytes() == fresh.transform(X).tobytes()
    imputer.learn(X[gone], ids=gone)
    assert imputer.transform(X).tobytes() == small(how).fit(X).transform(X).tobytes()
    imputer.rectify(X[:2] + 1.0, ids=[0, 1])
    assert imputer.verify()


def test_the_model_is_that_of_the_density_estimator():
    spn = SPN(min_rows=10, threshold=0.5).fit(X)
    assert small().fit(X).digest() == spn.digest()
    assert small().fit(X).score(X) == spn.score(X)


def test_a_saved_imputer_is_the_same(tmp_path):
    imputer = small("sample").fit(frame())
    imputer.save(tmp_path / "imputer.spn")
    again = SPNImputer.load(tmp_path / "imputer.spn")
    assert again.transform(frame()).equals(imputer.transform(frame()))


# -- in front of other estimators ------------------------------------------------------------------------------------


def test_works_in_front_of_a_classifier():
    pipeline = make_pipeline(small(), LogisticRegression(max_iter=1000)).fit(X, Y)
    assert pipeline.score(X, Y) > 0.9
    by_hand = LogisticRegression(max_iter=1000).fit(small().fit_transform(X), Y)
    assert (pipeline.predict(X) == by_hand.predict(small().fit(X).transform(X))).all()


def test_grid_search_over_ways_and_settings():
    pipeline = make_pipeline(small(), GaussianNB())
    grid = {"spnimputer__how": ["mean", "mpe", "sample"], "spnimputer__min_rows": [10, 1000]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, Y)
    assert search.best_score_ > 0.85
    assert len(set(search.cv_results_["mean_test_score"])) > 1


def test_alone_it_is_searched_by_likelihood():
    folds = KFold(3, shuffle=True, random_state=0)
    search = GridSearchCV(small(factorization="naive"), {"min_rows": [30, 1000]}, cv=folds).fit(X)
    assert search.best_params_ == {"min_rows": 30}
    assert not np.isnan(search.transform(X)).any()
