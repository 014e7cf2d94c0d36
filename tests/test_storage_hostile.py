"""Hostile files are refused, or what they say is a model like any other."""

import os
import random
import sys

import numpy as np
import pytest

from storage_fuzz import estimators, fuzz, tampered, with_its_own_digests
from unlearnspn import SPN
from unlearnspn.checks import CATEGORICAL, example_table
from unlearnspn.storage import StorageError
from unlearnspn.storage.blocks import known_blocks
from unlearnspn.storage.circuits import pack_circuit, unpack_circuit
from unlearnspn.storage.container import Container, pack
from unlearnspn.storage.models import pack_model, read_model, unpack_model, write_model

#: How many tampered files of each kind are tried; `UNLEARNSPN_TAMPERED=10000` for a deep run.
N_TAMPERED = int(os.environ.get("UNLEARNSPN_TAMPERED", "40"))


def test_tampered_files_are_refused_or_work():
    outcomes = fuzz(N_TAMPERED, seed=0)
    assert set(outcomes) == {(kind, what) for kind in ("model", "circuit") for what in ("refused", "accepted")}


@pytest.fixture(scope="module")
def spn():
    return SPN(min_rows=4, categorical_features=CATEGORICAL).fit(example_table(60))


@pytest.fixture
def container(spn):
    return pack_model(spn._model, {})


def refusal(container, name, change):
    """Return what is said of a model's file in which an array was changed."""
    arrays = {**container.arrays, name: change(container.arrays[name].copy())}
    with pytest.raises(StorageError) as error:
        unpack_model(Container("model", container.document, arrays), known_blocks())
    return str(error.value)


def put(place, value):
    def change(array):
        array[place] = value
        return array

    return change


def nudged(values):
    """Change a number by the least that is possible, so that it falls into the same bin."""
    values[0, 0] = np.nextafter(values[0, 0], np.inf)
    return values


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("ids", put(3, 4), "the ids are not in order, or one occurs twice"),
        ("ids", lambda ids: ids[:-1], "entry 'ids' has shape (59,), not (60)"),
        ("ids", lambda ids: ids.astype(np.float64), "entry 'ids' is of type float64, not int64"),
        ("values", put((0, 0), np.inf), "has infinite values"),
        ("values", lambda values: values[:, :-1], "entry 'values' has shape (60, 2), not (60, 3)"),
        ("places", put((0, 0), 200), "where numbers must be below"),
        ("places", put((slice(None), 0), 0), "has a category that no record has"),
        ("places", put((0, 0), 4), "does not have"),
        ("places", lambda places: places.astype(np.uint32), "does not fit its numbers"),
        ("category_counts", put([0, 3], [1, 2]), "is numeric, but has categories"),
        ("category_counts", put(3, 2), "entry 'categories.ends' has shape"),
        ("categories", put(0, ord("x")), "a category of an unknown kind"),
        ("categories", put(1, 0xFF), "a category that is no text"),
        ("categories", lambda text: text[:-1], "where numbers must be below"),
        ("categories.ends", put(0, 0), "a category of an unknown kind"),
        ("categories.ends", put(1, 0), "does not divide 'categories' into strings"),
    ],
)
def test_arrays_that_cannot_be_are_named(container, name, change, message):
    assert message in refusal(container, name, change)


def test_every_entry_is_needed_and_no_other_is_allowed(container):
    for name in container.arrays:
        arrays = {other: array for other, array in container.arrays.items() if other != name}
        with pytest.raises(StorageError, match=f"entry '{name}' is missing"):
            unpack_model(Container("model", container.document, arrays), known_blocks())
    for name in ("more", "splits", "groups", "seeds"):  # nothing of a network can be said beside the records
        arrays = {**container.arrays, name: np.zeros(1)}
        with pytest.raises(StorageError, match=f"unknown entries: '{name}'"):
            unpack_model(Container("model", container.document, arrays), known_blocks())


@pytest.mark.parametrize("name", ["digest", "state_digest"])
def test_digests_must_be_those_of_what_was_read(container, name):
    document = {**container.document, name: "0" * 64}
    with pytest.raises(StorageError, match=f"another {name} than the one that was written"):
        unpack_model(Container("model", document, container.arrays), known_blocks())


def test_a_changed_record_changes_the_digest(container):
    assert "another digest than the one that was written" in refusal(container, "values", nudged)


@pytest.mark.parametrize("change", [nudged, put((59, 2), np.nan)])
def test_what_a_forger_makes_consistent_is_the_model_of_the_forged_records(container, change):
    arrays = {**container.arrays, "values": change(container.arrays["values"].copy())}
    forged = with_its_own_digests(Container("model", container.document, arrays))
    model, _ = unpack_model(forged, known_blocks())
    assert model.records.values[:, 0].tobytes() == forged.arrays["values"][:, 0].tobytes()


def test_nothing_is_run_by_reading(tmp_path, spn):
    write_model(tmp_path / "model", spn._model, {"source": "__import__('os').abort()"})
    read_model(tmp_path / "model")
    seen, watching = [], True

    def watch(event, arguments):
        if watching and event in ("compile", "exec", "import", "pickle.find_class", "os.system", "subprocess.Popen"):
            seen.append((event, arguments))

    sys.addaudithook(watch)
    model, document = read_model(tmp_path / "model")
    watching = False
    assert seen == []
    assert document == {"source": "__import__('os').abort()"}
    assert model.digests == spn._model.digests


def test_every_flipped_bit_of_a_model_is_noticed(tmp_path, spn):
    path = tmp_path / "model"
    write_model(path, spn._model, {})
    file = path.read_bytes()
    rng = random.Random(0)
    for _ in range(2000):
        changed = bytearray(file)
        changed[rng.randrange(len(file))] ^= 1 << rng.randrange(8)
        path.write_bytes(changed)
        with pytest.raises(StorageError, match=r"cannot read '.*model': "):
            read_model(path)


def test_tampering_is_thorough():
    rng = random.Random(0)
    for spn in estimators()[:2]:
        for whole in (pack_model(spn._model, {}), pack_circuit(spn.circuit_.layout, spn.circuit_.domains, {})):
            changed = {
                name
                for _ in range(400)
                for name, array in tampered(whole, rng).arrays.items()
                if array.tobytes() != whole.arrays[name].tobytes() or array.shape != whole.arrays[name].shape
            }
            assert changed == set(whole.arrays)


def test_a_circuit_that_is_none_is_refused(spn):
    whole = pack_circuit(spn.circuit_.layout, spn.circuit_.domains, {})
    weights = whole.arrays["log_weights"] - 1.0
    with pytest.raises(StorageError, match=r"unit \d+ \((SUM|PRODUCT)\): "):
        unpack_circuit(Container("circuit", whole.document, {**whole.arrays, "log_weights": weights}))
    assert len(b"".join(pack(whole))) > 0
