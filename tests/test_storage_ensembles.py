"""Ensembles in files: all records once, members that follow from them, and nothing that contradicts itself."""

import random
import re
from contextlib import suppress

import numpy as np
import pytest

from storage_fuzz import as_read, exercise_circuit, tampered
from unlearnspn import SPN, SPNEnsemble
from unlearnspn.checks import CATEGORICAL, example_table
from unlearnspn.storage import StorageError
from unlearnspn.storage.blocks import known_blocks
from unlearnspn.storage.container import Container
from unlearnspn.storage.ensembles import pack_ensemble, restore_ensemble, unpack_ensemble
from unlearnspn.storage.entries import Entries
from unlearnspn.storage.models import pack_model
from unlearnspn.storage.settings import read_settings


@pytest.fixture(scope="module")
def ensemble():
    return SPNEnsemble(3, 0.6, min_rows=4, categorical_features=CATEGORICAL).fit(example_table(60))


@pytest.fixture
def container(ensemble):
    return pack_ensemble(ensemble._model, {})


def read(container):
    return unpack_ensemble(container, known_blocks())[0]


def forged(container):
    """Return the container with the digests that what it says has."""
    document = container.document
    read = restore_ensemble(read_settings(document["settings"], known_blocks()), document, Entries(container.arrays))
    document = {**document, "digest": read.digest(), "state_digest": read.state_digest()}
    return Container(container.kind, document, container.arrays)


def test_records_are_stored_once(container):
    one = SPN(min_rows=4, categorical_features=CATEGORICAL).fit(example_table(60))
    stored, single = container.arrays, pack_model(one._model, {}).arrays
    for name in ("ids", "values", "places", "categories"):
        assert stored[name].tobytes() == single[name].tobytes()
    assert set(stored) == set(single)  # and nothing of the members


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_members": 0}, "n_members is 0, and must be from 1 to 1000"),
        ({"n_members": 10**9}, "n_members is 1000000000"),
        ({"n_members": True}, "n_members is True"),
        ({"subsample": 0.0}, "subsample is 0.0, and must be above 0 and at most 1"),
        ({"subsample": 2.0}, "subsample is 2.0"),
        ({"subsample": "all"}, "subsample is 'all'"),
        ({"n_records": 59}, "entry 'ids' has shape (60,), not (59)"),
        ({"digest": "0" * 64}, "another digest than the one that was written"),
        ({"state_digest": "0" * 64}, "another state_digest"),
        ({"extra": []}, "the document beside the model is none"),
        ({"more": 1}, "the document does not describe a model of the kind 'ensemble'"),
    ],
)
def test_documents_that_cannot_be_are_refused(container, change, message):
    document = {**container.document, **change}
    with pytest.raises(StorageError, match=re.escape(message)):
        read(Container("ensemble", document, container.arrays))


@pytest.mark.parametrize("n_members", [2, 4])
def test_the_number_of_members_must_be_that_of_the_networks(n_members):
    ensemble = SPNEnsemble(3, 1.0, min_rows=20, categorical_features=CATEGORICAL).fit(example_table(60))
    container = pack_ensemble(ensemble._model, {})
    with pytest.raises(StorageError, match="another digest than the one that was written"):
        read(Container("ensemble", {**container.document, "n_members": n_members}, container.arrays))


def test_every_entry_is_needed_and_no_other_is_allowed(container):
    for name in container.arrays:
        arrays = {other: array for other, array in container.arrays.items() if other != name}
        with pytest.raises(StorageError, match="is missing"):
            read(Container("ensemble", container.document, arrays))
    for name in ("more", "0.more", "7.seeds"):
        arrays = {**container.arrays, name: np.zeros(1)}
        with pytest.raises(StorageError, match="unknown entries"):
            read(Container("ensemble", container.document, arrays))


def test_members_without_records_are_read_as_such():
    ensemble = SPNEnsemble(5, 0.01, min_rows=2).fit([[1.0, 2.0], [3.0, 4.0]])
    container = pack_ensemble(ensemble._model, {})
    empty = [member is None for member in ensemble._model.members]
    assert any(empty)
    again = read(container)
    assert [member is None for member in again.members] == empty
    assert again.digests == ensemble._model.digests
    name = f"{empty.index(True)}.seeds"
    with pytest.raises(StorageError, match=re.escape(f"unknown entries: '{name}'")):
        read(Container("ensemble", container.document, {**container.arrays, name: np.zeros(0)}))


def test_what_a_forger_makes_consistent_is_an_ensemble_of_the_forged_records(container):
    values = container.arrays["values"].copy()
    values[3, 0] = np.nextafter(values[3, 0], np.inf)
    changed = Container("ensemble", container.document, {**container.arrays, "values": values})
    with pytest.raises(StorageError, match="another digest"):
        read(changed)
    ids, table = read(forged(changed)).export()
    assert table.columns[0].numbers()[ids.index(3)] == values[3, 0]


def test_tampered_files_are_refused_or_work(container):
    rng, outcomes = random.Random(0), set()
    with np.errstate(all="ignore"):
        for _ in range(60):
            changed = tampered(container, rng)
            with suppress(StorageError, KeyError, TypeError):  # where not even a forger can
                changed = forged(as_read(changed))
            try:
                model = read(as_read(changed))
            except StorageError:
                outcomes.add("refused")
                continue
            outcomes.add("accepted")
            model.revise(model.ids[:2], [], None)
            assert read(pack_ensemble(model, {})).digests == model.digests
            exercise_circuit(model.circuit)
    assert outcomes == {"refused", "accepted"}
