"""Hostile files: contents that were tampered with, under checksums that fit; what is read all the same must work.

As a script it tries many, for a process of its own: `python tests/storage_fuzz.py 1000 0`.
"""

import contextlib
import random
import sys
from collections import Counter
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from unlearnspn import SPN, Circuit, Range
from unlearnspn.checks import CATEGORICAL, example_table
from unlearnspn.errors import ImpossibleEvidenceError
from unlearnspn.storage import StorageError
from unlearnspn.storage.blocks import known_blocks
from unlearnspn.storage.circuits import pack_circuit, unpack_circuit
from unlearnspn.storage.container import Container, pack, unpack
from unlearnspn.storage.entries import Entries, narrow
from unlearnspn.storage.models import pack_model, read_model, restore_model, unpack_model, write_model
from unlearnspn.storage.settings import read_settings

SETTINGS = [
    {},
    {"independence": "rdc", "max_rounds": 10, "epsilon": 0.01},
    {"factorization": "chow-liu", "n_clusters": 3},
    {"leaves": {"x0": "histogram", "x1": "histogram"}, "threshold": 0.5},
]


def estimators():
    """Return models of all kinds of leaves, with string ids and with numbers."""
    table = example_table(60)
    made = []
    for number, setting in enumerate(SETTINGS):
        ids = [f"id {row}" for row in range(60)] if number % 2 else None
        made.append(SPN(min_rows=4, categorical_features=CATEGORICAL, **setting).fit(table, ids=ids))
    counts = np.random.default_rng(0).poisson(3.0, (60, 3)).astype(float) + 1.0
    leaves = {"x0": "poisson", "x1": "exponential", "x2": "log-normal"}
    return [*made, SPN(min_rows=4, leaves=leaves).fit(counts), *related_numbers()]


def related_numbers():
    """Return models of numbers that are jointly normal: with gaps, beside a category, and with means by category."""
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(60, 1)) + 0.3 * rng.normal(size=(60, 4))
    classes = np.repeat([0.0, 1.0], 30)[:, np.newaxis]
    by_class = np.column_stack([numbers + 4.0 * classes, classes])
    gaps = np.where(rng.random(by_class.shape) < 0.1, np.nan, by_class)
    return [SPN(categorical_features=[False] * 4 + [True]).fit(table) for table in (by_class, gaps)]


def tampered(container, rng):
    """Return a container in which one array, or one value of the document, was changed."""
    arrays = {name: array.copy() for name, array in container.arrays.items()}
    if rng.random() < 0.2:
        return Container(container.kind, _tamper_value(container.document, rng), arrays)
    name = rng.choice(sorted(arrays))
    arrays[name] = _tamper_array(arrays[name], rng)
    return Container(container.kind, container.document, arrays)


def _tamper_array(array, rng):
    kind = rng.randrange(6)
    if kind == 0:
        array = array[: rng.randrange(len(array) + 1)]
    elif kind == 1:
        array = np.concatenate([array, array[: rng.randrange(len(array) + 1)]])
    elif kind == 2 and array.size:
        array = array[np.array(rng.sample(range(len(array)), len(array)))]
    elif array.size:
        for _ in range(rng.choice([1, 1, 1, 5])):
            array.flat[rng.randrange(array.size)] = _other_item(array, rng)
    # Unsigned numbers must be as narrow as they can, else that is all that would be noticed.
    return narrow(array) if array.dtype.kind == "u" and rng.random() < 0.9 else array


def _other_item(array, rng):
    if rng.random() < 0.5:
        return array.flat[rng.randrange(array.size)]
    if array.dtype.kind == "f":
        return rng.choice([0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 1e308, 5e-324, rng.gauss(0, 10)])
    limits = np.iinfo(array.dtype)
    return rng.choice([0, 1, 2, 3, limits.min, limits.max, rng.randint(limits.min, limits.max)])


def _tamper_value(value, rng):
    """Replace one value somewhere in a document."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(sorted(value))
        return {**value, key: _tamper_value(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.9:
        place = rng.randrange(len(value))
        return [*value[:place], _tamper_value(value[place], rng), *value[place + 1 :]]
    return rng.choice(
        [None, True, 0, 1, -1, 2, 3, 7, 2**31, 2**63, 2**80, 0.5, -1.0, "", "x", [], {}, [[]], {"$": "x"}]
    )


def as_read(container):
    """Return what a file with these contents is read as."""
    return unpack(b"".join(pack(container)), container.kind)


def with_its_own_digests(container):
    """Return a model's container with the digests that what it says has, as a clever forger would."""
    document = container.document
    settings = read_settings(document["settings"], known_blocks())
    model = restore_model(settings, document, Entries(container.arrays))
    forged = {**document, "digest": model.digest(), "state_digest": model.state_digest()}
    return Container(container.kind, forged, container.arrays)


def try_model(container, rng, folder):
    """Read a model that was tampered with; if it is accepted, it must work. Return what happened."""
    try:
        forged = with_its_own_digests(as_read(container))
    except (StorageError, KeyError, TypeError, MemoryError, RecursionError):
        forged = container  # not even a forger can
    try:
        model, _ = unpack_model(as_read(forged), known_blocks())
    except StorageError:
        return "refused"
    exercise_model(model, rng, folder)
    return "accepted"


def exercise_model(model, rng, folder):
    """Remove records one after another and add them again, save and read in between; nothing may fail."""
    for _ in range(3):
        ids = model.ids
        leaving = rng.sample(ids, min(rng.choice([1, 1, 5]), len(ids) - 1))
        table = model.records.export(model.records.find(leaving), model.records.encoding)
        model.revise(leaving, [], None)
        model.revise([], leaving, table)
        path = f"{folder}/model"
        write_model(path, model, {})
        loaded, _ = read_model(path)
        assert loaded.digests == model.digests
        model = loaded
    exercise_circuit(model.circuit)


def try_circuit(container, rng):
    """Read a circuit that was tampered with; if it is accepted, it must work. Return what happened."""
    try:
        layout, domains, _ = unpack_circuit(as_read(container))
    except StorageError:
        return "refused"
    exercise_circuit(Circuit(layout, domains))
    return "accepted"


def exercise_circuit(circuit):
    """Ask all kinds of questions."""
    rows = np.array(circuit.sample(20, random_state=0), object)
    scores = circuit.score_samples(rows)
    assert not np.isnan(scores).any()
    rows[::2, ::2] = None
    blank = pd.DataFrame(rows, columns=pd.Index(circuit.columns, dtype=object))
    try:
        for how in ("mpe", "mean", "sample"):
            circuit.impute(blank, how=how, random_state=0)
    except ImpossibleEvidenceError:
        pass  # a forged circuit may find what it says impossible by a hair
    numbers = [name for name, is_number in zip(circuit.columns, circuit.domains.is_numeric, strict=True) if is_number]
    ranges = {name: Range(above=0.0) for name in numbers[:1]}
    assert not np.isnan(list(circuit.expectation(numbers).values())).any()
    assert circuit.log_probability(ranges) <= 0.0
    with contextlib.suppress(ImpossibleEvidenceError):
        circuit.condition(ranges).sample(3, random_state=0)
    circuit.marginal(circuit.columns[:1]).digest()


def fuzz(number, seed):
    """Try so many tampered files of each kind; return how often what happened."""
    rng, outcomes = random.Random(seed), Counter()
    made = estimators()
    models = [pack_model(spn._model, {"parameters": spn.get_params(deep=False)}) for spn in made]
    circuits = [pack_circuit(spn.circuit_.layout, spn.circuit_.domains, {}) for spn in made]
    with TemporaryDirectory() as folder, np.errstate(all="ignore"):
        for _ in range(number):
            outcomes["model", try_model(tampered(rng.choice(models), rng), rng, folder)] += 1
            outcomes["circuit", try_circuit(tampered(rng.choice(circuits), rng), rng)] += 1
    return outcomes


if __name__ == "__main__":
    print(dict(fuzz(int(sys.argv[1]), int(sys.argv[2]))))
