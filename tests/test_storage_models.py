"""Models in files: the round trip loses nothing, and the file is a function of the records that are held."""

import os
import pickle
import struct
from dataclasses import dataclass
from itertools import count

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings

from sequences import Held, apply_request, sequences
from unlearnspn import SPN, ChowLiu, GTest, Histogram, QKMeans, SPNClassifier
from unlearnspn.checks import CATEGORICAL, example_table
from unlearnspn.hashing import derive_key
from unlearnspn.ids import record_keys
from unlearnspn.model import Model
from unlearnspn.spn.learn_spn import learn_spn
from unlearnspn.storage import StorageError
from unlearnspn.storage.container import pack
from unlearnspn.storage.models import pack_model, read_model, write_model
from unlearnspn.tables import read_table, token

N_SEQUENCES = int(os.environ.get("UNLEARNSPN_STORAGE_SEQUENCES", "60"))
CATEGORY, NUMBER = "a category that nobody else has", -3.14159e250


def file_of(model, document=None):
    return b"".join(pack(pack_model(model, document or {})))


def stored(model, path, document=None, components=()):
    write_model(path, model, document or {})
    return read_model(path, components)


def fitted(make=SPN, n_rows=60, **parameters):
    return make(**{"min_rows": 5, "categorical_features": CATEGORICAL, **parameters}).fit(example_table(n_rows))


@settings(
    max_examples=N_SEQUENCES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
)
@given(sequence=sequences())
def test_files_are_those_of_retraining_and_loaded_models_go_on(sequence, tmp_path):
    rng, path = np.random.default_rng(sequence.shuffle), tmp_path / "model"
    held = Held({number: number for number in range(sequence.n_first)})
    X, ids = held.table(sequence, rng)
    spn = sequence.estimator().fit(X, ids=ids)
    for kind, numbers in sequence.requests:
        loaded, document = stored(spn._model, path, {"n": len(held.rows)})
        assert loaded.digests == spn._model.digests
        assert document == {"n": len(held.rows)}
        assert file_of(loaded) == file_of(spn._model)
        spn._model = loaded
        apply_request(spn, sequence, held, kind, numbers)
        X, ids = held.table(sequence, rng)
        # The same settings: the schema says what columns held when it was made, and that may not be there any more.
        fresh = Model.learn(spn._model.settings, ids, read_table(X))
        assert spn._model.digests == fresh.digests
        assert file_of(spn._model) == file_of(fresh)
        assert spn._model.circuit == fresh.circuit


@pytest.mark.parametrize("make", [SPN, SPN.from_paper])
def test_a_loaded_model_is_the_same_in_every_answer(make, tmp_path):
    spn = fitted(make)
    model, _ = stored(spn._model, tmp_path / "model")
    assert model.settings == spn._model.settings
    assert model.origin == spn._model.origin
    assert model.circuit == spn._model.circuit
    assert model.ids == spn._model.ids
    assert model.holds(model.ids).all()
    assert model.relearn().digests == model.digests
    mine, theirs = ([(node.place.key, node.operation) for node in one.root.walk()] for one in (model, spn._model))
    assert mine == theirs


@pytest.mark.parametrize("setting", [{}, {"factorization": "chow-liu"}, {"min_rows": 1000}, {"independence": "rdc"}])
def test_a_file_holds_settings_and_records_and_nothing_of_the_network(setting):
    arrays = pack_model(fitted(**setting)._model, {}).arrays
    assert set(arrays) == {"ids", "values", "places", "category_counts", "categories", "categories.ends"}
    # Another network of the same records has the same arrays.
    plain = pack_model(fitted()._model, {}).arrays
    assert {name: array.tobytes() for name, array in arrays.items()} == {
        name: array.tobytes() for name, array in plain.items()
    }


@pytest.mark.parametrize("setting", [{}, {"factorization": "chow-liu"}])
def test_the_network_is_learned_again(setting, tmp_path, monkeypatch):
    spn = fitted(n_rows=150, **setting)
    write_model(tmp_path / "model", spn._model, {})
    learned = []

    def watch(learner, place, rows):
        learned.append(rows.tolist())
        return learn_spn(learner, place, rows)

    monkeypatch.setattr("unlearnspn.model.learn_spn", watch)
    model, _ = read_model(tmp_path / "model")
    assert learned == [list(range(150))]
    assert model.digests == spn._model.digests


def traces(names):
    """Return every form in which the record could survive: text, number, hashes of both."""
    column_keys = [derive_key(0, "variable", v.to_bytes(4, "little")) for v in range(6)]
    prints = [derive_key(key, "category", token(CATEGORY)) for key in column_keys]
    return {
        "category": CATEGORY.encode(),
        "number": struct.pack("<d", NUMBER),
        "id": names[-1].encode(),
        "key": record_keys([names[-1]]).tobytes(),
        **{f"fingerprint {v}": struct.pack("<Q", value) for v, value in enumerate(prints)},
    }


@pytest.mark.parametrize("make", [SPN, SPN.from_paper])
def test_nothing_of_a_removed_record_is_in_the_file(make):
    table = example_table(50)
    table = np.concatenate([table, table[:1]])
    table[-1] = [NUMBER, NUMBER, NUMBER, CATEGORY, CATEGORY, True]
    names = [f"person {row}" for row in range(len(table))]
    spn = make(min_rows=4, categorical_features=CATEGORICAL).fit(table, ids=names)
    wanted, before = traces(names), file_of(spn._model)
    assert {what for what, trace in wanted.items() if trace in before} >= {"category", "number", "id"}
    spn.unlearn(names[-1])
    after = file_of(spn._model)
    assert [what for what, trace in wanted.items() if trace in after] == []
    rest = make(min_rows=4, categorical_features=CATEGORICAL).fit(table[:-1], ids=names[:-1])
    assert after == file_of(rest._model)


def test_a_category_that_came_and_went_leaves_no_gap():
    table = example_table(40)
    spn = SPN(min_rows=4, categorical_features=CATEGORICAL).fit(table)
    row = table[:1].copy()
    row[0, 3] = "0 sorts before all others"
    spn.learn(row, ids=[1000])
    row[0, 3] = "zz"
    spn.learn(row, ids=[1001])
    spn.unlearn([1000, 1001])
    # The history is there ...
    assert None in spn._model.records.encoding.categorical(3).categories
    # ... and the file does not show it.
    assert file_of(spn._model) == file_of(SPN(min_rows=4, categorical_features=CATEGORICAL).fit(table)._model)


def test_strange_names_ids_and_categories(tmp_path):
    lone = "\udc80 lone surrogate"
    categories = np.array(["", lone, "é", "1", 1, True, 1e300, -0.0, 2**53 + 2, None] * 6, object)
    columns = pd.Index(["x y", "col\udcff"], dtype=object)
    frame = pd.DataFrame(np.stack([np.arange(60.0) % 7, categories], axis=1), columns=columns)
    ids = [f"{lone} {row}" for row in range(59)] + [""]
    spn = SPN(min_rows=5, categorical_features=["col\udcff"]).fit(frame, ids=ids)
    model, document = stored(spn._model, tmp_path / "model", {lone: [lone]})
    assert model.digests == spn._model.digests
    assert document == {lone: [lone]}
    assert model.ids == sorted(ids)
    known = model.records.encoding.categorical(1).canonical_categories
    assert [*map(repr, known)] == [*map(repr, spn._model.records.encoding.categorical(1).canonical_categories)]


def test_ids_at_the_limits_of_64_bits(tmp_path):
    ids = [-(2**63), -1, 0, 2**63 - 1]
    spn = SPN(min_rows=2).fit([[1.0, 2.0], [2.0, 1.0], [3.0, 7.0], [4.0, 4.0]], ids=ids)
    model, _ = stored(spn._model, tmp_path / "model")
    assert model.ids == ids
    assert model.digests == spn._model.digests


@pytest.mark.parametrize("table", [[[1.0]], [[None, "a"]], [["a"], ["b"], [None]], [[None], [None]]])
def test_tiny_models(table, tmp_path):
    spn = SPN(min_rows=1).fit(np.array(table, object))
    model, _ = stored(spn._model, tmp_path / "model")
    assert model.digests == spn._model.digests


def test_classifiers_and_parameters(tmp_path):
    table = example_table(60)
    classes = np.where(np.arange(60) % 3, "yes", "no")
    parameters = {
        "min_rows": 8,
        "independence": GTest(1.0),
        "clustering": QKMeans(3, None, 2),
        "factorization": ChowLiu(0.1, 2.0),
        "leaves": {"x0": Histogram(12), "x1": "gaussian"},
        "categorical_features": np.array(CATEGORICAL),
        "random_state": 10**40,
    }
    classifier = SPNClassifier(**parameters).fit(table, classes)
    model, document = stored(classifier._model, tmp_path / "model", {"parameters": parameters})
    assert model.digests == classifier._model.digests
    found = document["parameters"]
    assert found.pop("categorical_features").tolist() == list(CATEGORICAL)
    assert found == {name: value for name, value in parameters.items() if name != "categorical_features"}


@dataclass(frozen=True)
class StricterTest(GTest):
    """A building block of a user's own."""

    factor: float = 2.0

    def groups(self, statistics, data):
        return GTest(self.threshold * self.factor).groups(statistics, data)


class MadeOtherwise(QKMeans):
    """A building block that its fields do not make."""

    def __init__(self, secret):
        super().__init__(2)


class MoreThanItsFields(QKMeans):
    """A building block with something that is no field."""

    numbers = count()

    def __init__(self, **settings):
        super().__init__(**settings)
        object.__setattr__(self, "secret", next(self.numbers))


def test_building_blocks_of_ones_own_must_be_handed_over(tmp_path):
    spn = fitted(independence=StricterTest(0.5, 3.0))
    write_model(tmp_path / "model", spn._model, {})
    with pytest.raises(StorageError, match=r"StricterTest.*pass it in components"):
        read_model(tmp_path / "model")
    model, _ = read_model(tmp_path / "model", components=[StricterTest])
    assert model.digests == spn._model.digests
    assert model.settings.independence == StricterTest(0.5, 3.0)


@pytest.mark.parametrize("block", [MadeOtherwise("x"), MoreThanItsFields()])
def test_building_blocks_that_cannot_be_stored_are_refused_when_saving(block, tmp_path):
    spn = fitted(clustering=block)
    with pytest.raises(StorageError, match=r"cannot write .*model.*cannot be stored"):
        write_model(tmp_path / "model", spn._model, {})
    assert list(tmp_path.iterdir()) == []


def test_the_file_is_smaller_than_a_pickle(tmp_path):
    spn = fitted(n_rows=2000, min_rows=50)
    assert 2 * len(file_of(spn._model)) < len(pickle.dumps(spn._model))
