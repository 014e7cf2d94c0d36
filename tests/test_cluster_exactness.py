"""A model learned where the records are is the one learned in one place, and stays so whatever is asked of it."""

import re
import tempfile
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from many_threads import at_once
from sequences import Held, Sequence, apply_request, large_sequences, sequences
from shards import cut, estimator_in_shards, fit_in_shards
from unlearnspn import SPN, SPNClassifier, SPNEnsemble
from unlearnspn.errors import SameMembersWarning


def examples(number):
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.differing_executors]
    return settings(max_examples=number, deadline=None, suppress_health_check=checks)


def with_numbers(pool):
    """Return rows in which categories such as k7 are numbers: their order is another one than that of their bytes."""
    written = re.compile(r"[ck]\d+")
    return np.array(
        [
            [int(cell[1:]) if isinstance(cell, str) and written.fullmatch(cell) else cell for cell in row]
            for row in pool
        ],
        object,
    ).reshape(pool.shape)


class Case:
    """What a sequence is about: estimators of its rows, learned in one place and in shards."""

    estimator_class = SPN

    def __init__(self, sequence, **more):
        if sequence.shuffle % 2:
            sequence = replace(sequence, pool=with_numbers(sequence.pool))
        chosen = {**sequence.parameters, "min_category_count": 1, **more}
        if chosen.get("independence") == "rdc":
            chosen |= {"independence": "gtest", "threshold": 0.3}
        self.sequence, self.chosen = sequence, chosen

    def estimator(self):
        return self.estimator_class(categorical_features=self.sequence.categorical, **self.chosen)

    def frame(self, X):
        """Return a table with the names that arrays' columns get."""
        return pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])], dtype=object)

    def local(self, X, ids):
        return self.estimator().fit(self.frame(X).assign(id=ids), ids="id")

    def shared(self, X, ids, rng):
        table = self.frame(X).assign(id=ids)
        parts = [table.iloc[places] for places in cut(len(X), rng.integers(1, 8), rng)]
        return fit_in_shards(self.estimator(), parts, int(rng.integers(1, 4)))

    def requested(self, estimator):
        """Return what takes requests with rows as the sequence has them."""
        return estimator


class Classified(Case):
    """Rows whose last column is the class."""

    estimator_class = SPNClassifier

    def frame(self, X):
        return super().frame(X[:, :-1])

    def local(self, X, ids):
        return self.estimator().fit(self.frame(X).assign(id=ids), self.classes(X), ids="id")

    def shared(self, X, ids, rng):
        table, classes = self.frame(X).assign(id=ids), self.classes(X)
        parts = [(table.iloc[places], classes.iloc[places]) for places in cut(len(X), rng.integers(1, 8), rng)]
        return fit_in_shards(self.estimator(), parts, int(rng.integers(1, 4)), target="target")

    @staticmethod
    def classes(X):
        return pd.Series(X[:, -1], dtype="int64")

    def requested(self, estimator):
        return _Requested(self, estimator)


class _Requested:
    def __init__(self, case, classifier):
        self.case, self.unlearn = case, classifier.unlearn
        self._classifier = classifier

    def learn(self, X, ids):
        return self._classifier.learn(self.case.frame(X), self.case.classes(X), ids=ids)

    def rectify(self, X, ids):
        return self._classifier.rectify(self.case.frame(X), self.case.classes(X), ids=ids)


def assert_alike(shared, local, table):
    assert shared.digest() == local.digest()
    assert shared.state_digest() == local.state_digest()
    assert shared.n_records_ == local.n_records_
    assert shared.score_samples(table).tobytes() == local.score_samples(table).tobytes()
    assert shared.circuit_ == local.circuit_


def assert_like_local(case, folder=None):
    sequence, rng = case.sequence, np.random.default_rng(case.sequence.shuffle)
    held = Held({number: number for number in range(sequence.n_first)})
    X, ids = held.table(sequence, rng)
    shared, table = case.shared(X, ids, rng), case.frame(sequence.pool)
    assert_alike(shared, case.local(X, ids), table)
    if sequence.shuffle % 3 == 0:
        at_once(lambda: shared.circuit_)  # another thread has asked: from now on requests derive the circuit
    if folder is not None:
        shared.save(folder)
    for kind, numbers in sequence.requests:
        report = apply_request(case.requested(shared), sequence, held, kind, numbers)
        if report is None:
            continue
        X, ids = held.table(sequence, rng)
        fresh = case.local(X, ids)
        assert report.state_digest_after == fresh.state_digest()
        assert_alike(shared, fresh, table)
        if folder is not None and numbers[0] % 2:
            shared = estimator_in_shards(case.estimator_class, folder, int(rng.integers(1, 4)))
            assert_alike(shared, fresh, table)
    assert shared.ids_ == sorted(sequence.name(number) for number in held.rows)
    assert shared.verify()


def test_codes_are_given_out_anew_among_many_numbers():
    """A column has more categories than codes until one leaves; three classes are not in the order of their bytes."""
    numbers = np.arange(99) % 33
    numbers[33:][numbers[33:] == 7] = 8  # one record alone has a 7
    pool = np.column_stack([numbers, np.arange(99) % 3]).astype(object)
    parameters = {"min_rows": 5, "independence": "gtest"}
    sequence = Sequence([True], pool, parameters, 99, [("remove", [7]), ("add", [7]), ("remove", [3])])
    assert_like_local(Classified(sequence))
    assert_like_local(Case(replace(sequence, categorical=[True, True])))


@examples(50)
@given(sequences())
def test_sequences(sequence):
    assert_like_local(Case(sequence))


@examples(3)
@given(large_sequences())
def test_large_sequences(sequence):
    assert_like_local(Case(sequence))


@examples(15)
@given(sequences())
def test_folders(sequence):
    with tempfile.TemporaryDirectory() as folder:
        assert_like_local(Case(sequence), folder)


class Ensembles(Case):
    estimator_class = SPNEnsemble


@examples(15)
@given(sequences(), st.integers(1, 4), st.sampled_from([0.05, 0.3, 0.7, 1.0]))
def test_ensembles(sequence, n_members, subsample):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SameMembersWarning)
        assert_like_local(Ensembles(sequence, n_members=n_members, subsample=subsample))


@examples(12)
@given(sequences(), st.integers(1, 4), st.sampled_from([0.05, 0.3, 0.7]))
def test_folders_of_ensembles(sequence, n_members, subsample):
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore", SameMembersWarning)
        assert_like_local(Ensembles(sequence, n_members=n_members, subsample=subsample), folder)


@examples(15)
@given(sequences(), st.integers(1, 4), st.booleans())
def test_classifiers(sequence, n_classes, grows):
    classes = np.random.default_rng(sequence.shuffle).integers(0, n_classes, len(sequence.pool))
    pool = np.column_stack([sequence.pool, classes.astype(object)])
    more = {} if grows else {"min_rows": "auto"}
    assert_like_local(Classified(replace(sequence, pool=pool), **more))
