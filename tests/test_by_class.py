"""Splitting by class, where nothing else splits any more."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit, cross_val_score
from sklearn.naive_bayes import CategoricalNB, GaussianNB

from unlearnspn import Operation, QKMeans, SPNClassifier, checks
from unlearnspn.clustering.by_class import ByClass

X, Y = load_iris(return_X_y=True)


@pytest.mark.parametrize("min_rows", [1, 30, 60, 1000])
@pytest.mark.parametrize("target", np.flatnonzero(checks.CATEGORICAL).tolist())
def test_contract(target, min_rows):
    checks.check_clustering(ByClass(target, min_rows, QKMeans()))


def test_a_few_records_are_split_by_class_at_the_root():
    root = SPNClassifier(min_rows=200).fit(X, Y).root_
    assert root.operation is Operation.SPLIT_DATA
    assert [child.n_records for child in root.children] == [50, 50, 50]
    assert {child.operation for child in root.children} == {Operation.SPLIT_UNINFORMATIVE}


def test_no_leaf_takes_class_and_features_for_independent():
    classifier = SPNClassifier(min_rows=20, threshold=0.5).fit(X, Y)
    naive = [node for node in classifier.root_.walk() if node.operation is Operation.NAIVE_FACTORIZATION]
    assert naive
    assert not [node for node in naive if "target" in node.scope and node.n_records > 1]


def test_few_records_give_naive_bayes():
    bayes = GaussianNB(var_smoothing=0.0).fit(X, Y)
    classifier = SPNClassifier(min_rows=200, factorization="naive", alpha=1e-9, min_std=1e-6).fit(X, Y)
    np.testing.assert_allclose(classifier.predict_proba(X), bayes.predict_proba(X), atol=1e-3)
    assert (classifier.predict(X) == bayes.predict(X)).all()


@pytest.mark.parametrize(
    ("load", "least"),
    [(load_iris, 0.94), (load_wine, 0.96), (load_breast_cancer, 0.94), (load_digits, 0.93)],
    ids=["iris", "wine", "cancer", "digits"],
)
def test_accuracy_of_the_defaults(load, least):
    data, classes = load(return_X_y=True)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    assert cross_val_score(SPNClassifier(), data, classes, cv=folds).mean() > least


def test_many_records_beat_naive_bayes():
    data, classes = load_digits(return_X_y=True)
    data = (data >= 8).astype(float)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    bayes = cross_val_score(CategoricalNB(min_categories=2), data, classes, cv=folds).mean()
    classifier = SPNClassifier(categorical_features="all")
    assert cross_val_score(classifier, data, classes, cv=folds).mean() > bayes + 0.03


def test_a_handful_of_records_is_enough():
    folds = StratifiedShuffleSplit(5, train_size=20, random_state=0)
    assert cross_val_score(SPNClassifier(), X, Y, cv=folds).mean() > 0.85


@pytest.mark.filterwarnings("ignore::unlearnspn.errors.IdentifyingColumnWarning")
def test_a_class_for_each_record():
    classifier = SPNClassifier().fit(X[:60], [f"class {row}" for row in range(60)])
    assert (classifier.predict(X[:60]) == [f"class {row}" for row in range(60)]).mean() > 0.5
    classifier.unlearn([5, 7])
    assert classifier.verify()
