"""All or nothing: a request that fails half-way, for whatever reason, leaves the model as it was."""

import pickle
from copy import deepcopy
from itertools import product

import joblib
import numpy as np
import pytest

from unlearnspn import SPN, Gaussian, Histogram, SPNClassifier
from unlearnspn.checks import CATEGORICAL, example_table
from unlearnspn.records import Records
from unlearnspn.spn import digest, unlearn_spn
from unlearnspn.spn.learner import Learner
from unlearnspn.spn.unlearn_spn import Revision


class Fragile(Gaussian):
    """Fails at the n-th revision from now on, in the middle of the walk."""

    left = None

    def revise(self, statistics, data, minus, plus):
        if Fragile.left is not None:
            Fragile.left -= 1
            if Fragile.left < 0:
                raise KeyboardInterrupt
        return super().revise(statistics, data, minus, plus)


@pytest.mark.parametrize("after", [0, 1, 2])
@pytest.mark.parametrize("request_name", ["unlearn", "learn", "rectify"])
def test_an_interrupted_request_changes_nothing(after, request_name):
    table = example_table(60)
    leaves = {name: Fragile() for name in ("x0", "x1", "x2")}
    spn = SPN(min_rows=10, leaves=leaves, categorical_features=list(CATEGORICAL)).fit(table)
    requests = {
        "unlearn": spn.unlearn,
        "learn": lambda row, **options: spn.learn(table[row : row + 1], ids=[1000], **options),
        "rectify": lambda row, **options: spn.rectify(table[row : row + 1], ids=[row], **options),
    }

    def n_revised(row):
        """Count the leaves that a request about a record revises: none if it changes the coding."""
        Fragile.left = 1000
        requests[request_name](row, dry_run=True)
        n_left, Fragile.left = Fragile.left, None
        return 1000 - n_left

    row = next(row for row in range(60) if n_revised(row) > after)
    digests = spn.digest(), spn.state_digest(), spn.score_samples(table).tobytes()
    before = pickle.dumps(spn)
    Fragile.left = after
    try:
        with pytest.raises(KeyboardInterrupt):
            requests[request_name](row)
    finally:
        Fragile.left = None
    assert (spn.digest(), spn.state_digest(), spn.score_samples(table).tobytes()) == digests
    assert spn.ids_ == list(range(60))
    assert len(pickle.dumps(spn)) <= len(before) * 1.05
    requests[request_name](row)
    assert spn.verify()
    assert np.isfinite(spn.score(table))


#: Where a request can fail: on the way through the network, where statistics are revised or something is learned anew,
#: where rows are looked for, and where it is all but done.
PLACES = [
    (Revision, "unlearn_spn"),
    (Revision, "_open"),
    (Revision, "_exchange_rows"),
    (Revision, "shift_marginals"),
    (Revision, "revise_statistics"),
    (Revision, "_changes_by_cluster"),
    (Revision, "_revise_all_factors"),
    (Revision, "_drop"),
    (Revision, "learn_anew"),
    (Learner, "learn_factor"),
    (Learner, "slice"),
    (Records, "stage"),
    (Records, "rows_after"),
    (Records, "_write_codes"),
    (Records, "_digest"),
    (unlearn_spn, "choose_operation"),
    (unlearn_spn, "learn_spn"),
    (unlearn_spn, "perform"),
    (unlearn_spn, "split_rows"),
    (Revision, "rows_after"),
    (digest, "digest_network"),
]


class Failing:
    """Stands in a function's place, and fails once: at its n-th call, before anything is done or when all is."""

    def __init__(self, original, n_before, when):
        self.original, self.left, self.when = original, n_before, when

    def __call__(self, *arguments):
        self.left -= 1
        if self.left == -1 and self.when == "before":
            raise KeyboardInterrupt
        result = self.original(*arguments)
        if self.left <= -1 and self.when == "after":
            self.when = "done"
            raise KeyboardInterrupt
        return result

    def __get__(self, owner, kind=None):
        return lambda *arguments: self(owner, *arguments)


def known_of(model):
    """Return all that is known of a model, and what follows from everything it holds."""
    anew = pickle.loads(pickle.dumps(model))
    return model.digest(), model.state_digest(), anew.digest(), anew.state_digest(), model.ids_


def fitted_spn(table):
    return SPN(
        min_rows=5, threshold=0.7, n_bins=6, leaves={"x0": Histogram()}, categorical_features=list(CATEGORICAL)
    ).fit(table)


def fitted_classifier(table):
    return SPNClassifier(min_rows=12, n_bins=6, categorical_features=list(CATEGORICAL[:-1])).fit(
        table[:, :-1], [str(value) for value in table[:, -1]]
    )


def remove(model, table, row):
    model.unlearn([row, row + 1])


def correct(model, table, row):
    others = table[[row + 2, row + 3]]
    columns = (others,) if isinstance(model, SPN) else (others[:, :-1], [str(value) for value in others[:, -1]])
    model.rectify(*columns, ids=[row, row + 1])


@pytest.mark.parametrize("fit", [fitted_spn, fitted_classifier])
@pytest.mark.parametrize(("owner", "name"), PLACES, ids=lambda part: getattr(part, "__name__", part))
def test_a_request_that_fails_anywhere_changes_nothing(owner, name, fit, monkeypatch):
    table, original, failed = example_table(90), getattr(owner, name), 0
    model = fit(table)
    before, blob = known_of(model), pickle.dumps(model)
    moments = [(0, "before"), (0, "after"), (1, "before"), (4, "after"), (15, "before")]
    for row, request, (n_before, when) in product((0, 41, 60), (remove, correct), moments):
        monkeypatch.setattr(owner, name, Failing(original, n_before, when))
        try:
            request(model, table, row)
            model = pickle.loads(blob)  # the request did not get that far
        except KeyboardInterrupt:
            failed += 1
        monkeypatch.setattr(owner, name, original)
        assert known_of(model) == before
    assert failed or fit is fitted_classifier  # which learns little anew
    model.unlearn([0, 5, 41])
    assert model.verify()


def test_what_is_tried_out_leaves_a_classifier_as_it_was():
    table = example_table(90)
    classifier = fitted_classifier(table)
    before = known_of(classifier)
    for row in range(90):
        classifier.unlearn(row, dry_run=True)
        assert known_of(classifier) == before


def test_a_copy_of_a_classifier_is_its_own():
    classifier = fitted_classifier(example_table(90))
    copy, before = deepcopy(classifier), known_of(classifier)
    for row in range(0, 40, 3):
        copy.unlearn(row)
    assert known_of(classifier) == before
    assert copy.verify()


def assert_reads_its_records(model):
    """Expect that statistics read the very arrays that records are wiped in."""
    seen, records = model.learner.coded.arrays, model.records
    for array, name in zip(seen, ("codes", "features", "values", "levels", "keys", "live"), strict=False):
        assert array is getattr(records, name)


def test_what_was_tried_out_leaves_no_arrays_behind():
    spn = SPN(min_rows=10, categorical_features=list(CATEGORICAL)).fit(example_table(60))
    spn.learn(example_table(40, seed=1), ids=range(100, 140), dry_run=True)
    assert_reads_its_records(spn._model)


def test_what_could_not_be_staged_leaves_no_arrays_behind(monkeypatch):
    spn = SPN(min_rows=10, categorical_features=list(CATEGORICAL)).fit(example_table(60))
    spn.state_digest()
    with monkeypatch.context() as patched:
        patched.setattr(Records, "_write_codes", Failing(Records._write_codes, 0, "after"))
        with pytest.raises(KeyboardInterrupt):
            spn.learn(example_table(40, seed=1), ids=range(100, 140))
    assert_reads_its_records(spn._model)
    spn.unlearn(3)
    assert_reads_its_records(spn._model)
    assert spn.verify()


@pytest.mark.parametrize("independence", ["gtest", "rdc"])
def test_a_model_that_is_mapped_read_only_takes_requests(independence, tmp_path):
    table = example_table(90)
    spn = SPN(min_rows=8, independence=independence, categorical_features=list(CATEGORICAL)).fit(table)
    joblib.dump(spn, tmp_path / "model")
    mapped = joblib.load(tmp_path / "model", mmap_mode="r")
    assert known_of(mapped) == known_of(spn)
    for model in (mapped, spn):
        model.unlearn(list(range(10, 20)))
        model.learn(table[:30], ids=range(500, 530))
    assert known_of(mapped) == known_of(spn)
    assert mapped.verify()


def test_requests_are_exact_with_levels_of_any_width(monkeypatch):
    monkeypatch.setattr("unlearnspn.slots._MOST_IN_TWO_BYTES", 50)
    names = [[float(i % 7), f"name {i % 45}", "ab"[i % 2]] for i in range(120)]
    more = [[float(i % 5), f"other {i}", "b"] for i in range(20)]
    spn = SPN(min_rows=10, categorical_features=["x1", "x2"]).fit(np.array(names, object))
    assert spn._model.records.levels.dtype == np.int16
    spn.unlearn(list(range(10)))
    assert spn.verify()
    spn.learn(np.array(more, object), ids=range(200, 220))
    assert spn._model.records.levels.dtype == np.int32
    assert spn.verify()
    for leaving in (*range(200, 220), *range(20, 80, 7)):
        spn.unlearn([leaving])
        assert spn.verify()
