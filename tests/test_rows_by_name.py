"""Rows by name: columns in any order, one row as a mapping, corrections of single columns; what is refused, and why."""

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

from command_line import run, run_json
from unlearnspn import (
    SPN,
    Circuit,
    InvalidTableError,
    SameMembersWarning,
    SPNClassifier,
    SPNEnsemble,
    SPNImputer,
)
from unlearnspn.errors import UnknownRecordError
from unlearnspn.vault import Vault

N = 120
_R = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {"a": _R.normal(size=N), "k": _R.integers(0, 5, N), "c": _R.choice(["x", "y"], N), "b": _R.normal(size=N)}
)
OTHER = ["c", "b", "a", "k"]
PARAMETERS = {"min_rows": 30}


@pytest.fixture(scope="module")
def model():
    return SPN(**PARAMETERS).fit(TABLE)


def corrected(**changes):
    table = TABLE.copy()
    for name, value in changes.items():
        table.loc[7, name] = value
    return table


@pytest.mark.parametrize("convert", [lambda t: t, pl.from_pandas, lambda t: pl.from_pandas(t).to_arrow()])
def test_columns_in_another_order_are_put_in_order(model, convert, tmp_path):
    shuffled = convert(TABLE[OTHER])
    model.circuit_.save(tmp_path / "circuit")
    for asked in (model, Circuit.load(tmp_path / "circuit")):
        assert asked.score_samples(shuffled).tobytes() == asked.score_samples(TABLE).tobytes()
        assert (asked.predict_proba(shuffled, target="c") == asked.predict_proba(TABLE, target="c")).all()
    classifier = SPNClassifier(**PARAMETERS).fit(TABLE.drop(columns="c"), TABLE["c"])
    features = convert(TABLE[["k", "b", "a"]])
    assert (classifier.predict(features) == classifier.predict(TABLE.drop(columns="c"))).all()
    assert (classifier.score_samples(features) == classifier.score_samples(TABLE.drop(columns="c"))).all()
    twice = SPN(**PARAMETERS).fit(TABLE.iloc[:100])
    twice.learn(convert(TABLE[OTHER].iloc[100:]), ids=range(100, N))
    assert twice.state_digest() == model.state_digest()
    twice.rectify(convert(corrected(a=9.0)[OTHER].iloc[[7]]), ids=[7])
    assert twice.state_digest() == SPN(**PARAMETERS).fit(corrected(a=9.0)).state_digest()


def test_what_is_filled_in_keeps_the_order_of_its_table(model):
    holes = TABLE[OTHER].mask(_R.random((N, 4)) < 0.3)
    filled = SPNImputer(**PARAMETERS).fit(TABLE).transform(holes)
    assert list(filled.columns) == OTHER
    assert filled[TABLE.columns].equals(SPNImputer(**PARAMETERS).fit(TABLE).transform(holes[TABLE.columns]))


@pytest.mark.parametrize("method", ["score_samples", "impute", "learn"])
def test_extra_and_missing_columns_are_named(model, method):
    with pytest.raises(InvalidTableError, match="Columns unseen at fit: 'z'"):
        getattr(model, method)(TABLE.assign(z=1))
    with pytest.raises(InvalidTableError, match="Missing columns: 'k'"):
        getattr(model, method)(TABLE.drop(columns="k"))
    with pytest.raises(InvalidTableError, match="Columns unseen at fit: 'z'"):
        getattr(model, method)({**TABLE.iloc[0].to_dict(), "z": 1})


def test_a_mapping_or_a_series_is_one_row(model):
    row = TABLE.iloc[3]
    for one in (row, row.to_dict(), row[OTHER], dict(reversed(row.to_dict().items()))):
        assert model.score_samples(one).tolist() == model.score_samples(TABLE.iloc[[3]]).tolist()
        assert model.predict_proba(one, target="c").shape == (1, 2)
    filled = model.impute({**row.to_dict(), "k": None, "c": None})
    assert filled["a"] == row["a"]
    assert filled["k"] in range(20)
    assert filled["c"] in ("x", "y")
    series = model.impute(row.where(row.index != "c"))
    assert isinstance(series, pd.Series)
    assert series["c"] in ("x", "y")
    assert list(series.index) == list(row.index)
    learned = SPN(**PARAMETERS).fit(TABLE.iloc[:-1])
    learned.learn(TABLE.iloc[-1].to_dict())
    assert learned.state_digest() == model.state_digest()
    classifier = SPNClassifier(**PARAMETERS).fit(TABLE.drop(columns="c"), TABLE["c"])
    assert classifier.predict(row.drop("c")) == classifier.predict(TABLE.drop(columns="c").iloc[[3]])


def test_mappings_that_are_no_row_are_refused(model):
    with pytest.raises(InvalidTableError, match="columns 'a', 'k', 'c', 'b' have several: make a table of it"):
        model.score_samples(TABLE.to_dict(orient="list"))
    with pytest.raises(InvalidTableError, match="one value for each column"):
        model.score_samples({})
    with pytest.raises(InvalidTableError, match="Expected 2D array"):
        model.score_samples(TABLE["a"])


@pytest.mark.parametrize(
    "estimator", [SPN(**PARAMETERS), SPNEnsemble(n_members=3, subsample=0.6, **PARAMETERS)], ids=["one", "members"]
)
@pytest.mark.parametrize(
    "changes", [{"k": 3}, {"c": "y", "a": 0.5}, {"c": "new"}, {"b": None}], ids=["k", "c and a", "new", "blank"]
)
def test_corrections_take_just_the_columns_that_change(estimator, changes):
    expected = type(estimator)(**estimator.get_params()).fit(corrected(**changes))
    for given in (changes, pd.DataFrame([changes], dtype=object), pl.DataFrame([changes])):
        model = type(estimator)(**estimator.get_params()).fit(TABLE)
        model.rectify(given, ids=[7])
        assert (model.digest(), model.state_digest()) == (expected.digest(), expected.state_digest())


def test_corrections_of_several_records_stay_with_their_ids():
    model = SPN(**PARAMETERS).fit(TABLE)
    model.rectify(pd.DataFrame({"k": [1, 2, 3]}), ids=[90, 4, 50])
    table = TABLE.copy()
    table.loc[[90, 4, 50], "k"] = [1, 2, 3]
    assert model.state_digest() == SPN(**PARAMETERS).fit(table).state_digest()
    with pytest.raises(InvalidTableError, match="Columns unseen at fit: 'z'"):
        model.rectify({"k": 1, "z": 1}, ids=[4])
    with pytest.raises(UnknownRecordError):
        model.rectify({"k": 1}, ids=[1000])
    with pytest.raises(InvalidTableError, match="'k' held number values at fit and now holds text"):
        model.rectify({"k": "one"}, ids=[4])
    assert model.verify()


def test_corrections_of_classes_alone_or_of_features_alone():
    X, y = TABLE.drop(columns="c"), TABLE["c"]
    other = "x" if y[7] == "y" else "y"
    classifier = SPNClassifier(**PARAMETERS).fit(X, y)
    classifier.rectify(None, [other], ids=[7])
    expected = SPNClassifier(**PARAMETERS).fit(X, corrected(c=other)["c"])
    assert classifier.state_digest() == expected.state_digest()
    classifier.rectify({"k": 4}, ids=[7])
    expected = SPNClassifier(**PARAMETERS).fit(corrected(k=4).drop(columns="c"), corrected(c=other)["c"])
    assert classifier.state_digest() == expected.state_digest()


@pytest.mark.parametrize("fitted", [False, True])
def test_vaults_and_commands_correct_single_columns(fitted, tmp_path):
    people = TABLE.assign(id=[f"c{row}" for row in range(N)], person=[f"p{row % 9}" for row in range(N)])
    people.to_csv(tmp_path / "people.csv", index=False)
    vault = str(tmp_path / "people.uspn")
    run("init", vault)
    run("ingest", vault, str(tmp_path / "people.csv"), "--id", "id", "--subject", "person")
    if fitted:
        run("fit", vault)
    (tmp_path / "new.csv").write_text("k,id\n3,c7\n4,c2\n")
    run("rectify", vault, str(tmp_path / "new.csv"))
    with Vault.open(vault) as opened:
        held = opened.access(["c7", "c2", "c3"]).as_dicts()
        assert [record["k"] for record in held] == [4, int(TABLE["k"][3]), 3]
        assert [record["person"] for record in held] == ["p2", "p3", "p7"]
        assert held[2]["a"] == TABLE["a"][7]
        assert held[2]["c"] == TABLE["c"][7]
    assert run_json("verify", vault)
    (tmp_path / "bad.csv").write_text("z,id\n3,c7\n")
    assert "unknown: 'z'" in run("rectify", vault, str(tmp_path / "bad.csv"), code=4).stderr


def test_duckdb_relations_are_read(model):
    relation = duckdb.from_df(TABLE)
    assert SPN(**PARAMETERS).fit(relation).digest() == model.digest()
    assert model.score_samples(relation).tolist() == model.score_samples(TABLE).tolist()
    with pytest.raises(InvalidTableError, match=r"lazy frame: pass X\.collect"):
        model.score_samples(pl.from_pandas(TABLE).lazy())


def test_sample_weights_are_refused_with_the_reason():
    weights = np.ones(N)
    X, y = TABLE.drop(columns="c"), TABLE["c"]
    for refused in (
        lambda: SPN().fit(TABLE, sample_weight=weights),
        lambda: SPN().partial_fit(TABLE, sample_weight=weights),
        lambda: SPN().fit(TABLE).learn(TABLE, sample_weight=weights),
        lambda: SPNImputer().fit(TABLE, sample_weight=weights),
        lambda: SPNEnsemble(n_members=2, subsample=0.5).fit(TABLE, sample_weight=weights),
        lambda: SPNClassifier().fit(X, y, sample_weight=weights),
        lambda: SPNClassifier().partial_fit(X, y, sample_weight=weights),
    ):
        with pytest.raises(TypeError, match=r"sample_weight is not supported: .*every record counts once"):
            refused()
    assert SPN().fit(TABLE, sample_weight=None).n_records_ == N
    with pytest.raises(TypeError, match="unexpected keyword argument 'weights'"):
        SPN().fit(TABLE, weights=weights)


def test_an_ensemble_that_is_one_network_says_so(recwarn):
    with pytest.warns(SameMembersWarning, match="all 4 members are the same network"):
        SPNEnsemble(n_members=4).fit(TABLE)
    recwarn.clear()
    SPNEnsemble(n_members=4, subsample=0.5).fit(TABLE)
    SPNEnsemble(n_members=1).fit(TABLE)
    assert not [warning for warning in recwarn if warning.category is SameMembersWarning]
