"""Classes: `SPNClassifier` beside scikit-learn's classifiers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.metrics import log_loss
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from benchmarks.figures import Figure, at_least
from benchmarks.progress import Bar
from benchmarks.reports import Column, Section
from benchmarks.synthetic.plan import Plan
from benchmarks.synthetic.tables import Split
from unlearnspn import SPNClassifier

_OURS = "SPNClassifier"
#: The accuracy that ours is to reach.
_TARGETS = {"adult": 0.845, "breast_cancer": 0.96, "wine": 0.96, "digits": 0.9}
#: A classifier, given the places of the features that are categories.
_CLASSIFIERS: dict[str, Callable[[list[int]], Any]] = {
    _OURS: lambda categories: SPNClassifier(),
    "GaussianNB": lambda categories: _coded(GaussianNB(), categories),
    "RandomForest": lambda categories: _coded(RandomForestClassifier(random_state=0), categories),
    "HistGradientBoosting": lambda categories: _coded(
        # The coded columns come first.
        HistGradientBoostingClassifier(categorical_features=range(len(categories)), random_state=0),
        categories,
    ),
}


def _coded(classifier: Any, categories: list[int]) -> Any:
    """Give a classifier categories as codes; a missing or unknown one has a code of its own."""
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-1)
    return make_pipeline(make_column_transformer((encoder, categories), remainder="passthrough"), classifier)


def measure_classes(plan: Plan, bar: Bar) -> Section:
    """Predict the classes of the rows held out."""
    columns = [
        Column("data", "table"),
        Column("model", "classifier"),
        Column("accuracy", "accuracy", 3),
        Column("log_loss", "log loss", 3),
    ]
    notes = [f"All with default settings; scikit-learn's are given categories as codes. {plan.note()}"]
    section = Section("classes", "Classes of rows held out", columns, notes=notes)
    tables = [(table, table.classes) for table in plan.tables() if table.classes is not None]
    bar.begin("classes", len(tables))
    for table, target in tables:
        found = plan.over_splits(table, partial(_scores, target))
        for name in _CLASSIFIERS:
            accuracy = found[f"{name} accuracy"]
            bound = at_least(_TARGETS[table.name]) if name == _OURS else None
            cells = {"accuracy": Figure(accuracy.value, accuracy.std, bound), "log_loss": found[f"{name} log loss"]}
            section.rows.append({"data": table.name, "model": name, **cells})
        bar.step()
    return section


def _scores(target: str, split: Split, seed: int) -> dict[str, float]:
    features, held_out = (frame.drop(columns=target) for frame in (split.train, split.held_out))
    numeric = set(features.select_dtypes("number").columns)
    categories = [place for place, name in enumerate(features.columns) if name not in numeric]
    truth = split.held_out[target].to_numpy()
    found = {}
    for name, make in _CLASSIFIERS.items():
        classifier = make(categories).fit(features, split.train[target])
        probabilities = classifier.predict_proba(held_out)
        predicted = np.asarray(classifier.classes_)[probabilities.argmax(axis=1)]
        found[f"{name} accuracy"] = float(np.mean(predicted == truth))
        found[f"{name} log loss"] = float(log_loss(truth, probabilities, labels=classifier.classes_))
    return found
