"""Which column is meant: by its name exactly as the table has it, at fit and in questions, for ids and for leaves."""

import pickle

import numpy as np
import pandas as pd
import pytest

from unlearnspn import SPN, Circuit, InvalidTableError, Range, SPNClassifier, plots
from unlearnspn.tables import read_table
from unlearnspn.tables.names import ColumnNames
from unlearnspn.vault import Vault

N = 60
LABELS = {
    "numbers": [1, 0, 2],
    "counted": [0, 1, 2],
    "tuples": [("a", 1), ("a", 2), ("b", 1)],
    "both": ["a", 7, 1.5],
    "numpy": [np.int64(5), np.int64(3), np.int64(4)],
    "strings": ["one", "two", "three"],
}


def frame(labels):
    rng = np.random.default_rng(3)
    kinds = np.arange(N) % 3
    columns = [rng.normal(size=N) + kinds, kinds, rng.poisson(3.0, N)]
    return pd.DataFrame(dict(enumerate(columns))).set_axis(pd.Index(labels, tupleize_cols=False), axis=1)


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_columns_are_meant_by_their_names(labels, tmp_path):
    number, kind, count = labels
    data = frame(labels)
    spn = SPN(min_rows=20, categorical_features=[kind], leaves={count: "poisson", number: "histogram"}).fit(data)
    kept = [type(spn).load, Circuit.load]
    spn.save(tmp_path / "model")
    spn.circuit_.save(tmp_path / "circuit")
    again = [load(tmp_path / name) for load, name in zip(kept, ("model", "circuit"), strict=True)]
    for model in (spn, spn.circuit_, *again, pickle.loads(pickle.dumps(spn))):
        circuit = model.circuit_
        assert circuit.columns == labels
        assert circuit.categories(kind) == [0, 1, 2]
        assert 0.2 < model.probability({kind: 1}) < 0.5
        assert model.probability({number: Range(above=0)}, given={kind: 2}) > 0.5
        assert model.expectation(count, given={kind: 0}) > 0.0
        assert model.expectation([count, number]).keys() == {count, number}
        assert model.variance(number) > 0.0
        assert model.moment({number: 2}, central=True) == pytest.approx(model.variance(number))
        assert model.marginal(kind).columns == [kind]
        assert model.marginal([count, number]).columns == [count, number]
        assert model.mutual_information(number, kind) >= 0.0
        assert model.predict_proba(data, target=kind).shape == (N, 3)
        assert set(model.condition({kind: 1}).sample(9)[kind]) == {1}
        assert model.sample(3).columns.tolist() == labels
    assert {node.distribution for node in leaves(spn.root_) if node.scope == (str(count),)} <= {"poisson"}
    assert spn.circuit_.layout.units.size


def leaves(node):
    return [node] if not node.children else [leaf for child in node.children for leaf in leaves(child)]


def test_a_number_names_a_column_and_no_position():
    data = frame([1, 0, 2])
    assert SPN(categorical_features=[0]).fit(data).circuit_.categories(0) == [0, 1, 2]
    for other in ([1, 0, 2], ["a", 5, "c"]):
        with pytest.raises(ValueError, match=r"columns 3, out of 3: there are 1, 0, 2|columns 3.*'a', 5, 'c'"):
            SPN(categorical_features=[3]).fit(frame(other))
        with pytest.raises(ValueError, match="unknown columns: 3; the columns are"):
            SPN(leaves={3: "histogram"}).fit(frame(other))


def test_a_number_is_a_position_where_no_column_is_named_by_one():
    data = frame(["a", "b", "c"])
    spn = SPN(categorical_features=[1], leaves={2: "poisson"}).fit(data)
    assert spn.digest() == SPN(categorical_features=["b"], leaves={"c": "poisson"}).fit(data).digest()
    assert spn.probability({1: 2}) == spn.probability({"b": 2})


def test_columns_of_arrays_are_meant_by_position_too():
    array = frame([0, 1, 2]).to_numpy()
    spn = SPN(categorical_features=[1], leaves={2: "poisson"}).fit(array)
    named = SPN(categorical_features=["x1"], leaves={"x2": "poisson"}).fit(array)
    assert spn.digest() == named.digest()
    assert spn.circuit_.columns == ["x0", "x1", "x2"]
    assert spn.probability({1: 2}) == spn.probability({"x1": 2})
    assert spn.marginal([2, 0]).expectation(0) == spn.expectation("x2")  # a table of its own
    with pytest.raises(InvalidTableError, match="more than once"):
        spn.marginal([2, "x2"])


@pytest.mark.parametrize("asked", ["x0", 5, ("0", 1), None, [0], 0.5])
def test_names_that_no_column_has_are_told_from_those_there_are(asked):
    spn = SPN().fit(frame([0, 1, 2]))
    with pytest.raises(InvalidTableError, match=r"no column .*the columns are 0, 1, 2"):
        spn.circuit_.categories(asked)


def test_names_may_be_written_as_text():
    spn = SPN().fit(frame([0, ("a", 1), 2]))
    assert spn.expectation("0") == spn.expectation(0)
    assert spn.expectation("('a', 1)") == spn.expectation(("a", 1))


def test_tuples_may_list_columns_that_they_do_not_name():
    spn = SPN().fit(frame(["a", "b", ("a", "b")]))
    assert spn.marginal(("a", "b")).columns == [("a", "b")]
    assert spn.marginal(["a", "b"]).columns == ["a", "b"]
    assert SPN().fit(frame(["a", "b", "c"])).marginal(("a", "b")).columns == ["a", "b"]


def test_names_that_are_written_alike_are_refused():
    with pytest.raises(InvalidTableError, match="'0' occur more than once"):
        SPN().fit(frame([0, "0", 1]))


def test_tables_with_names_in_another_order_are_put_in_order():
    spn = SPN().fit(frame([0, 1, 2]))
    data = frame([0, 1, 2])
    assert spn.score_samples(data).tobytes() == spn.score_samples(data.to_numpy()).tobytes()
    assert spn.score_samples(data[[1, 0, 2]]).tobytes() == spn.score_samples(data).tobytes()
    with pytest.raises(InvalidTableError, match="unseen at fit"):
        spn.learn(frame([5, 6, 7]))
    assert not hasattr(spn, "feature_names_in_")
    assert SPN().fit(frame(["a", "b", "c"])).feature_names_in_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("name", [7, ("id", 1), "id"])
def test_ids_are_in_the_column_that_has_the_name(name, tmp_path):
    data = frame([0, 1, 2])
    data[name] = np.arange(N) + 100
    spn = SPN().fit(data, ids=name)
    assert spn.ids_[:2] == [100, 101]
    assert spn.circuit_.columns == [0, 1, 2]
    assert np.isfinite(spn.score_samples(data)).all()
    assert spn.impute(data).shape == (N, 4)
    spn.save(tmp_path / "model")
    spn = SPN.load(tmp_path / "model")
    more = data[:2].copy()
    more[name] = [7, 8]
    spn.learn(more)
    assert 8 in spn.ids_
    spn.learn(frame([0, 1, 2])[:1], ids=9)
    assert spn.ids_[:3] == [7, 8, 9]
    with Vault.create(tmp_path / "vault.uspn") as vault:
        vault.ingest(data, ids=name)
        vault.fit(categorical_features=[1])
    with Vault.open(tmp_path / "vault.uspn", write=True) as vault:
        vault.ingest(more)
        assert vault.info().n_records == N + 2
        assert vault.circuit_.categories(1) == [0, 1, 2]
        assert vault.verify()


def test_subjects_are_in_the_column_that_has_the_name(tmp_path):
    data = frame([0, 1, 2])
    data[8], data[9] = np.arange(N), np.arange(N) // 2
    with Vault.create(tmp_path / "vault.uspn") as vault:
        vault.ingest(data, ids=8, subjects=9)
        vault.fit()
        assert vault.circuit_.columns == [0, 1, 2]
        assert vault.unlearn(subject="3").removed == 2


def test_numbers_are_ids_where_no_column_has_the_name():
    spn = SPN().fit(frame(["a", "b", "c"])[:1], ids=7)
    assert spn.ids_ == [7]
    assert SPN().fit(frame(["a", "b", "c"])[:2], ids=(3, 4)).ids_ == [3, 4]


def test_a_column_named_none_is_a_column():
    assert read_table(frame([None, "a", "b"])).column_names.find("a") == 1
    spn = SPN().fit(frame([np.nan, 1, 2]))
    assert spn.expectation(np.nan) == pytest.approx(1.0, abs=0.5)


def test_the_class_beside_numbered_columns():
    data = frame([0, 1, 2])
    classifier = SPNClassifier(leaves={2: "poisson"}).fit(data[[0, 2]], data[1])
    assert classifier.circuit_.columns == [0, 2, "target"]
    assert classifier.probability({"target": 1}) > 0.2


def test_pictures_take_the_same_names():
    data = frame([0, 1, 2])
    spn = SPN(categorical_features=[1]).fit(data)
    for label in (0, 1):
        assert plots.plot_marginal(spn, label, data=data).get_xlabel() is not None
    assert plots.plot_joint(spn, 0, 1, data=data) is not None
    assert plots.plot_joint(spn, 0, 2, data=data) is not None


def test_names_are_found_by_all_that_they_are_called():
    names = ColumnNames((("x0", 0), ("x1", 1)))
    assert [names.find(name) for name in ("x1", 1, np.int64(0), "1", [0])] == [1, 1, 0, None, None]
    assert ColumnNames.of(["a", "b"]).called == (("a", "a", 0), ("b", "b", 1))
    assert names.shown == ["x0", "x1"]
    assert names.only([1]).find(1) == 0
