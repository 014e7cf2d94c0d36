"""Circuits in files: the round trip loses nothing, and holds no record."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from sequences import sequences
from unlearnspn import SPN, Circuit
from unlearnspn.checks import CATEGORICAL, example_table
from unlearnspn.storage import StorageError
from unlearnspn.storage.circuits import read_circuit, write_circuit
from unlearnspn.storage.models import read_model, write_model


def stored(circuit, path, document=None):
    write_circuit(path, circuit.layout, circuit.domains, document or {})
    layout, domains, found = read_circuit(path)
    assert found == (document or {})
    return Circuit(layout, domains, circuit.origin)


@settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
)
@given(sequence=sequences())
def test_circuits_come_back_as_they_were(sequence, tmp_path):
    circuit = sequence.estimator().fit(sequence.pool).circuit_
    loaded = stored(circuit, tmp_path / "circuit", {"origin": circuit.origin.to_dict()})
    assert loaded == circuit
    assert loaded.digest() == circuit.digest()
    assert loaded.domains.id_column == circuit.domains.id_column
    assert loaded.score_samples(sequence.pool).tobytes() == circuit.score_samples(sequence.pool).tobytes()


def test_the_file_is_that_of_retraining(tmp_path):
    table, names = example_table(60), []
    spn = SPN(min_rows=5, categorical_features=CATEGORICAL).fit(table)
    spn.unlearn([3, 17, 59])
    rest = np.delete(np.arange(60), [3, 17, 59])
    fresh = SPN(min_rows=5, categorical_features=CATEGORICAL).fit(table[rest], ids=rest)
    for number, model in enumerate((spn, fresh)):
        names.append(tmp_path / str(number))
        write_circuit(names[-1], model.circuit_.layout, model.circuit_.domains, {})
    assert names[0].read_bytes() == names[1].read_bytes()


def test_a_model_is_no_circuit_and_the_other_way_round(tmp_path):
    spn = SPN(min_rows=5).fit(example_table(30))
    write_model(tmp_path / "model", spn._model, {})
    write_circuit(tmp_path / "circuit", spn.circuit_.layout, spn.circuit_.domains, {})
    with pytest.raises(StorageError, match="holds a 'model', not a 'circuit'"):
        read_circuit(tmp_path / "model")
    with pytest.raises(StorageError, match="holds a 'circuit', not a 'model'"):
        read_model(tmp_path / "circuit")
