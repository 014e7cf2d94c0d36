"""The classifier: classes in all forms, prediction, and removal that equals retraining."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.metrics import accuracy_score

from unlearnspn import SPNClassifier

X, Y = load_iris(return_X_y=True)
NAMES = load_iris().target_names


def mixed_table(n_rows=240, seed=0):
    """A table with numbers, categories, gaps and a class that depends on them."""
    rng = np.random.default_rng(seed)
    place = rng.integers(0, 3, n_rows)
    size = rng.normal(place, 0.7)
    colour = np.where(rng.random(n_rows) < 0.8, np.array(["red", "green", "blue"])[place], "red").astype(object)
    size[rng.random(n_rows) < 0.1] = np.nan
    colour[rng.random(n_rows) < 0.1] = None
    old = rng.random(n_rows) < 0.3
    return pd.DataFrame({"size": size, "colour": colour, "old": old, "class": np.array(["a", "b", "c"])[place]})


def same(classifier, other, table):
    """Tell whether two classifiers are the same to the last bit."""
    return (
        classifier.digest() == other.digest()
        and classifier.state_digest() == other.state_digest()
        and classifier.classes_.tolist() == other.classes_.tolist()
        and classifier.predict_proba(table).tobytes() == other.predict_proba(table).tobytes()
    )


# -- predicting ------------------------------------------------------------------------------------------------------


def test_predicts_what_bayes_rule_says():
    table = mixed_table()
    classifier = SPNClassifier(min_rows=40).fit(table.drop(columns="class"), table["class"])
    features = table.drop(columns="class")
    densities = np.exp([classifier.circuit_.score_samples(features.assign(**{"class": c})) for c in "abc"]).T
    by_hand = densities / densities.sum(axis=1, keepdims=True)
    probabilities = classifier.predict_proba(features)
    np.testing.assert_allclose(probabilities, by_hand, rtol=1e-9)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(classifier.predict_log_proba(features), np.log(by_hand), rtol=1e-9, atol=1e-12)
    assert classifier.predict(features).tolist() == np.array(list("abc"))[by_hand.argmax(axis=1)].tolist()
    assert classifier.score(features, table["class"]) == accuracy_score(table["class"], classifier.predict(features))


def test_density_of_features_is_that_of_the_joint_model_summed_over_known_and_unknown_classes():
    classifier = SPNClassifier(min_rows=40).fit(X, Y)
    joint = np.column_stack([X, np.full(len(X), np.nan)])
    np.testing.assert_allclose(classifier.score_samples(X), classifier.circuit_.score_samples(joint), rtol=1e-12)


def test_missing_features_are_marginalised():
    classifier = SPNClassifier(min_rows=40).fit(X, Y)
    nothing = np.full((1, 4), np.nan)
    prior = [classifier.probability({"target": label}, given={"target": {0, 1, 2}}) for label in range(3)]
    np.testing.assert_allclose(classifier.predict_proba(nothing), [prior], rtol=1e-9)


def test_the_class_is_a_column_that_can_be_asked_about():
    table = mixed_table()
    classifier = SPNClassifier(min_rows=40).fit(table.drop(columns="class"), table["class"])
    assert classifier.target_ == "class"
    assert classifier.probability({"class": "a"}, given={"colour": "red"}) > 0.4
    assert classifier.condition({"class": "a"}).expectation("size") < classifier.expectation("size")
    assert classifier.predict_proba(table, target="colour").shape == (240, 3)


@pytest.mark.parametrize("kind", ["pandas", "polars", "array"])
def test_a_feature_is_predicted_from_the_others_and_the_class_need_not_be_there(kind):
    table = mixed_table()
    features, y = table.drop(columns="class"), table["class"]
    read = {"pandas": lambda X: X, "polars": pl.from_pandas, "array": lambda X: X.to_numpy(object)}[kind]
    classifier = SPNClassifier(min_rows=40).fit(read(features), y)
    place = list(features).index("colour")
    target = place if kind == "array" else "colour"
    predicted = classifier.predict_proba(read(features), target=target)
    nothing_known = read(table.assign(**{"class": pd.Series([None] * len(table), dtype=object)}))
    np.testing.assert_allclose(predicted, classifier.circuit_.predict_proba(nothing_known, target=target), rtol=1e-9)
    without = classifier.predict_proba(read(features.drop(columns="colour")), target=target)
    assert without.tolist() == predicted.tolist()
    known = classifier.predict_proba(read(table), target=target)
    assert known.tolist() == classifier.circuit_.predict_proba(read(table), target=target).tolist()
    assert np.abs(known - predicted).max() > 1e-3
    classes = classifier.predict_proba(read(features), target=classifier.target_)
    assert classes.tolist() == classifier.predict_proba(read(features)).tolist()
    with pytest.raises(ValueError, match="Missing columns: 'size'" if kind != "array" else "X has 1 features"):
        classifier.predict_proba(read(features[["colour"]]), target=target)


def test_numeric_classes_are_not_read_into_a_feature():
    """An array of the features is not taken for one that lacks the feature asked for and has the class."""
    table = np.column_stack([X, Y % 2])
    classifier = SPNClassifier(categorical_features=[4]).fit(table, Y)
    predicted = classifier.predict_proba(table, target=4)
    expected = classifier.circuit_.predict_proba(np.column_stack([table, np.full(150, np.nan)]), target=4)
    np.testing.assert_allclose(predicted, expected, rtol=1e-9)


def test_a_table_that_has_the_class_is_read_without_it():
    table = mixed_table()
    features = table.drop(columns="class")
    classifier = SPNClassifier(min_rows=40).fit(features, table["class"])
    assert classifier.predict(table).tolist() == classifier.predict(features).tolist()


def test_one_feature_too_many_in_an_array_is_no_class():
    classifier = SPNClassifier().fit(X, Y)
    with pytest.raises(ValueError, match="X has 5 features, but SPNClassifier is expecting 4"):
        classifier.predict(np.column_stack([X, Y]))
    with pytest.raises(ValueError, match="X has 3 features, but SPNClassifier is expecting 4"):
        classifier.predict_proba(X[:, :3])


@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_log_proba", "score_samples"])
def test_nothing_is_predicted_before_fit(method):
    with pytest.raises(NotFittedError):
        getattr(SPNClassifier(), method)(X)
    assert not hasattr(SPNClassifier(), "classes_")
    with pytest.raises(NotFittedError):
        SPNClassifier().learn(X, Y)


# -- classes ---------------------------------------------------------------------------------------------------------

TEXTS = ["no", "yes", "maybe", "no"]


@pytest.mark.parametrize(
    ("y", "classes", "dtype"),
    [
        ([3, 1, 2, 1], [1, 2, 3], np.int64),
        (np.array([3, 1, 2, 1], np.int8), [1, 2, 3], np.int8),
        (np.array([3, 1, 2, 1], np.uint16), [1, 2, 3], np.uint16),
        ([1.0, 0.0, 1.0, 0.0], [0.0, 1.0], np.float64),
        (np.array([1, 0, 1, 0], np.float32), [0.0, 1.0], np.float32),
        ([True, False, True, True], [False, True], np.bool_),
        (TEXTS, ["maybe", "no", "yes"], np.dtype("<U5")),
        (np.array(TEXTS, "<U50"), ["maybe", "no", "yes"], np.dtype("<U5")),
        (np.array(TEXTS, object), ["maybe", "no", "yes"], object),
        (pd.Series(TEXTS), ["maybe", "no", "yes"], object),
        (pd.Series(TEXTS, dtype="category"), ["maybe", "no", "yes"], object),
        (pd.Series([3, 1, 2, 1], dtype="Int32"), [1, 2, 3], np.int32),
        (pd.Series([0.0, 1.0, 1.0, 0.0]), [0.0, 1.0], np.float64),
        (pd.Series([True, False, True, True], dtype="boolean"), [False, True], np.bool_),
        (pd.Series([3, 1, 2, 1], dtype=object), [1, 2, 3], np.int64),
        (pl.Series("answer", TEXTS), ["maybe", "no", "yes"], object),
        (pl.Series(TEXTS, dtype=pl.Categorical), ["maybe", "no", "yes"], object),
        (pl.Series([3, 1, 2, 1], dtype=pl.UInt8), [1, 2, 3], np.uint8),
        (pa.chunked_array([TEXTS[:2], TEXTS[2:]]), ["maybe", "no", "yes"], object),
        (pa.array([3, 1, 2, 1]), [1, 2, 3], np.int64),
        (pa.array([True, False, True, True]), [False, True], np.bool_),
        ((3, 1, 2, 1), [1, 2, 3], np.int64),
        ([pa.scalar(label) for label in (3, 1, 2, 1)], [1, 2, 3], np.int64),
        ([pa.scalar(label) for label in TEXTS], ["maybe", "no", "yes"], np.dtype("<U5")),
        ([pa.scalar(label) for label in "abca"], ["a", "b", "c"], np.dtype("<U1")),
        ((pa.scalar(True), False, pa.scalar(True), pa.scalar(False)), [False, True], np.bool_),
    ],
    ids=lambda value: None if isinstance(value, list) else f"{type(value).__module__}.{type(value).__name__}",
)
@pytest.mark.parametrize("kind", ["array", "lists", "pandas", "polars", "arrow"])
def test_classes_keep_their_type(y, classes, dtype, kind):
    numbers = [[0.0, 1.0], [1.0, 2.5], [0.5, 3.0], [2.0, 4.0]]
    named = dict(zip("ab", zip(*numbers, strict=True), strict=True))
    tables = {
        "array": np.array(numbers),
        "lists": numbers,
        "pandas": pd.DataFrame(named),
        "polars": pl.DataFrame(named),
        "arrow": pa.table({name: list(values) for name, values in named.items()}),
    }
    classifier = SPNClassifier().fit(tables[kind], y)
    assert classifier.classes_.tolist() == classes
    assert classifier.classes_.dtype == dtype
    predicted = classifier.predict(tables[kind])
    assert predicted.dtype == dtype
    assert set(predicted.tolist()) <= set(classes)


@pytest.mark.parametrize(
    ("features", "y", "dtype"),
    [
        (pd.DataFrame({"a": [0.0, 1.0]}), [3, 1], "int64"),
        (pd.DataFrame({"a": [0.0, 1.0]}), np.array([3, 1], np.int8), "int8"),
        (pd.DataFrame({"a": [0.0, 1.0]}), [True, False], "bool"),
        (pd.DataFrame({"a": [0.0, 1.0]}), np.array(["x", "y"]), "str"),
        (pd.DataFrame({"a": [0.0, 1.0]}), pd.Series(["x", "y"], dtype="category"), "category"),
        (pd.DataFrame({"a": [0.0, 1.0]}), pd.Series([1, 2], dtype="Int16"), "Int16"),
        (pd.DataFrame({"a": [0.0, 1.0]}), pl.Series(["x", "y"]), "str"),
        (pl.DataFrame({"a": [0.0, 1.0]}), pl.Series([1, 2], dtype=pl.UInt8), pl.UInt8),
        (pl.DataFrame({"a": [0.0, 1.0]}), pl.Series(["x", "y"], dtype=pl.Categorical), pl.Categorical),
        (pl.DataFrame({"a": [0.0, 1.0]}), np.array([1, 2], np.int16), pl.Int16),
        (pl.DataFrame({"a": [0.0, 1.0]}), ["x", "y"], pl.String),
        (pa.table({"a": [0.0, 1.0]}), [1, 2], pa.int64()),
        (pa.table({"a": [0.0, 1.0]}), pa.chunked_array([["x", "y"]]), pa.string()),
        (pa.table({"a": [0.0, 1.0]}), np.array([True, False]), pa.bool_()),
    ],
)
def test_samples_have_the_class_in_its_type(features, y, dtype):
    classifier = SPNClassifier().fit(features, y)
    rows = classifier.sample(20, random_state=0)
    assert type(rows) is type(features)
    column = rows["target"]
    assert (column.type if isinstance(rows, pa.Table) else column.dtype) == dtype
    values = column.to_pylist() if isinstance(rows, pa.Table) else column.to_list()
    assert set(values) <= set(classifier.classes_.tolist())


def test_samples_of_arrays_have_the_class_last():
    numbers = SPNClassifier().fit(X, Y).sample(50, random_state=0)
    assert numbers.dtype == np.float64
    assert set(numbers[:, -1]) == {0.0, 1.0, 2.0}
    named = SPNClassifier().fit(X, NAMES[Y]).sample(50, random_state=0)
    assert named.dtype == object
    assert set(named[:, -1]) == set(NAMES)


@pytest.mark.parametrize(
    ("y", "name"),
    [
        (pd.Series(Y, name="species"), "species"),
        (pl.Series("species", Y), "species"),
        (pd.Series(Y), "target"),
        (pd.Series(Y, name=7), "target"),
        (pl.Series(Y), "target"),
        (Y, "target"),
        (pd.Series(Y, name="a"), "a_"),
    ],
)
def test_the_class_is_named_as_y_is_but_never_as_a_feature(y, name):
    frame = pd.DataFrame(X, columns=["a", "b", "c", "a__"])
    classifier = SPNClassifier().fit(frame, y)
    assert classifier.target_ == name
    assert classifier.feature_names_in_.tolist() == ["a", "b", "c", "a__"]
    assert classifier.n_features_in_ == 4


def test_a_single_class_is_predicted_for_all():
    classifier = SPNClassifier().fit(X, ["only"] * 150)
    assert classifier.classes_.tolist() == ["only"]
    assert set(classifier.predict(X)) == {"only"}
    assert (classifier.predict_proba(X) == 1.0).all()


@pytest.mark.parametrize(
    "y",
    [
        np.where(np.arange(150) == 7, np.nan, Y),
        [None if row == 7 else "a" for row in range(150)],
        pd.Series([pd.NA if row == 7 else "a" for row in range(150)], dtype="string"),
        pd.Series([pd.NA if row == 7 else 1 for row in range(150)], dtype="Int64"),
        pl.Series([None if row == 7 else 1 for row in range(150)]),
        np.ma.array(Y, mask=np.arange(150) == 7),
        [pa.scalar(None if row == 7 else 1) for row in range(150)],
    ],
)
def test_missing_classes_are_refused(y):
    with pytest.raises(ValueError, match=r"y contains NaN: the classes of rows 8 are missing"):
        SPNClassifier().fit(X, y)
    classifier = SPNClassifier().fit(X, Y)
    with pytest.raises(ValueError, match="rows 8 are missing"):
        classifier.learn(X, y)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "requires y to be passed, but the target y is None"),
        (Y[:-1], "X has 150 rows, but y has 149"),
        (Y + 0.5, "Unknown label type: continuous. The class of row 1 is 0.5"),
        (np.where(Y == 1, np.inf, Y), "y contains infinity: the classes of rows 51, 52"),
        (Y + 2**60, "2\\*\\*53"),
        (np.column_stack([Y, Y]), "y should be a 1d array"),
        (pd.Series([1 if row < 3 else "a" for row in range(150)], dtype=object), "y mixes kinds of values"),
        (np.full(150, np.datetime64("2020-01-01")), "Unknown label type: y holds date values"),
    ],
)
def test_what_is_no_class_is_refused(y, message):
    with pytest.raises(ValueError, match=message):
        SPNClassifier().fit(X, y)


def test_a_refused_fit_leaves_the_classifier_as_it_was():
    classifier = SPNClassifier().fit(X, NAMES[Y])
    before = classifier.digest()
    with pytest.raises(ValueError, match="infinite"):
        classifier.fit(np.full((3, 2), np.inf), [1, 2, 3])
    assert classifier.digest() == before
    assert classifier.predict(X).dtype == NAMES.dtype
    assert classifier.n_features_in_ == 4


def test_a_column_of_classes_warns():
    with pytest.warns(DataConversionWarning, match="column-vector"):
        classifier = SPNClassifier().fit(X, Y.reshape(-1, 1))
    assert classifier.classes_.tolist() == [0, 1, 2]


# -- removing, adding, correcting ------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [SPNClassifier, SPNClassifier.from_paper])
@pytest.mark.parametrize("seed", range(6))
def test_any_sequence_of_requests_equals_retraining(make, seed):
    rng = np.random.default_rng(seed)
    table, others = mixed_table(120, seed), mixed_table(120, seed + 100)
    # Rare classes, so that some vanish and come back.
    table.loc[:2, "class"], others.loc[:1, "class"] = "d", "e"
    features, classes = table.drop(columns="class"), table["class"]
    held = {int(row): table.iloc[row] for row in rng.permutation(120)[:90]}
    held[0] = table.iloc[0]
    start = sorted(held)
    classifier = make(min_rows=12, random_state=seed).fit(features.loc[start], classes.loc[start], ids=start)
    for _ in range(12):
        step = rng.integers(3)
        absent = [row for row in range(120) if row not in held]
        if step == 0 and len(held) > 30:
            gone = rng.permutation(sorted(held))[: rng.integers(1, 12)].tolist()
            classifier.unlearn(gone)
            for row in gone:
                del held[row]
        elif step == 1 and absent:
            come = rng.permutation(absent)[: rng.integers(1, 12)].tolist()
            classifier.learn(features.loc[come], classes.loc[come], ids=come)
            held.update({row: table.iloc[row] for row in come})
        else:
            changed = rng.permutation(sorted(held))[: rng.integers(1, 6)].tolist()
            new = others.loc[changed]
            classifier.rectify(new.drop(columns="class"), new["class"], ids=changed)
            held.update({row: others.iloc[row] for row in changed})
        rest = pd.DataFrame([held[row] for row in sorted(held)]).astype(table.dtypes)
        fresh = make(min_rows=12, random_state=seed)
        fresh.fit(rest.drop(columns="class"), rest["class"], ids=sorted(held))
        assert same(classifier, fresh, features)
        assert classifier.circuit_.digest() == fresh.circuit_.digest()
    assert classifier.verify()


@pytest.mark.parametrize("labels", [Y, NAMES[Y], Y > 0], ids=["numbers", "strings", "booleans"])
def test_a_class_vanishes_with_its_last_record(labels):
    classifier = SPNClassifier(min_rows=20).fit(X, labels)
    first = labels[0]
    gone = np.flatnonzero(labels == first)
    classifier.unlearn(gone)
    assert first not in classifier.classes_
    assert classifier.predict_proba(X).shape == (150, len(np.unique(labels)) - 1)
    rest = np.flatnonzero(labels != first)
    assert same(classifier, SPNClassifier(min_rows=20).fit(X[rest], labels[rest], ids=rest), X)
    classifier.learn(X[gone], labels[gone], ids=gone)
    assert same(classifier, SPNClassifier(min_rows=20).fit(X, labels), X)


def test_classes_unseen_at_fit_may_come():
    classifier = SPNClassifier(min_rows=20).fit(X[:100], NAMES[Y[:100]])
    assert classifier.classes_.tolist() == ["setosa", "versicolor"]
    report = classifier.learn(X[100:], ["a name longer than the others"] * 50)
    assert report.records_added == 50
    assert classifier.classes_.tolist() == ["a name longer than the others", "setosa", "versicolor"]
    assert classifier.ids_ == list(range(150))


def test_larger_labels_than_the_type_holds_may_come():
    classifier = SPNClassifier().fit(X, Y.astype(np.uint8))
    classifier.learn(X[:1], [300])
    assert classifier.classes_.tolist() == [0, 1, 2, 300]
    classifier.unlearn(150)
    assert classifier.classes_.dtype == np.uint8


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a"] * 150, "held number values at fit and now holds text"),
        ([True] * 150, "held number values at fit and now holds boolean"),
        (Y[:3], "X has 150 rows, but y has 3"),
    ],
)
def test_classes_of_another_kind_are_refused(labels, message):
    classifier = SPNClassifier().fit(X, Y)
    before = classifier.state_digest()
    with pytest.raises(ValueError, match=message):
        classifier.learn(X, labels)
    with pytest.raises(ValueError, match=message):
        classifier.rectify(X, labels, ids=range(150))
    assert classifier.state_digest() == before


def test_partial_fit_is_fit_then_learn():
    whole = SPNClassifier(min_rows=20).fit(X, Y)
    parts = SPNClassifier(min_rows=20)
    for start in range(0, 150, 50):
        parts.partial_fit(X[start : start + 50], Y[start : start + 50], classes=[0, 1, 2])
    assert same(parts, whole, X)


def test_a_dry_run_changes_nothing():
    classifier = SPNClassifier(min_rows=20).fit(X, Y)
    before = classifier.state_digest()
    assert classifier.learn(X[:3], [7, 7, 7], dry_run=True).state_digest_after != before
    assert classifier.rectify(X[:3], [7, 7, 7], ids=[0, 1, 2], dry_run=True).state_digest_after != before
    assert classifier.state_digest() == before
    assert classifier.classes_.tolist() == [0, 1, 2]


def test_ids_from_a_column():
    table = mixed_table().assign(person=[f"p{row}" for row in range(240)])
    features = table.drop(columns="class")
    classifier = SPNClassifier(min_rows=40).fit(features, table["class"], ids="person")
    assert classifier.feature_names_in_.tolist() == ["size", "colour", "old"]
    classifier.unlearn(["p3", "p100"])
    rest = table.drop([3, 100])
    fresh = SPNClassifier(min_rows=40).fit(rest.drop(columns=["class", "person"]), rest["class"], ids=rest["person"])
    assert classifier.digest() == fresh.digest()
    with_ids, without = classifier.predict_proba(features), fresh.predict_proba(features.drop(columns="person"))
    assert with_ids.tobytes() == without.tobytes()


def test_pickled_and_saved_classifiers_are_the_same(tmp_path):
    data = load_wine(as_frame=True)
    names = data.target_names[data.target]
    classifier = SPNClassifier(min_rows=40).fit(data.data, pd.Series(names, name="cultivar"))
    classifier.unlearn([5, 90])
    classifier.save(tmp_path / "classifier.spn")
    for again in (pickle.loads(pickle.dumps(classifier)), SPNClassifier.load(tmp_path / "classifier.spn")):
        assert same(again, classifier, data.data)
        assert again.classes_.dtype == classifier.classes_.dtype
        again.learn(data.data.loc[[5, 90]], names[[5, 90]], ids=[5, 90])
        assert again.digest() == SPNClassifier(min_rows=40).fit(data.data, pd.Series(names, name="cultivar")).digest()
