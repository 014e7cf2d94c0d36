"""The methods: what is exact is exact, what is private is a circuit, and what comes from noise is a distribution."""

import numpy as np
import pandas as pd
import pytest

from alternative_tables import STRANGE, mixed
from benchmarks.alternatives.methods import KEEPING, RETRAINING, UNLEARNING, log_densities
from benchmarks.alternatives.private_network import (
    PrivateTraining,
    PublicTraining,
    drawn_towards,
    probabilities,
    project,
)
from benchmarks.alternatives.sisa import Sisa
from benchmarks.alternatives.synthesiser import Synthesising
from benchmarks.alternatives.tables import Records, Split, Table, load_table
from benchmarks.alternatives.targets import ORDINARY, OUTLIERS, RARE, choose_targets
from unlearnspn.circuit.validation import validate
from unlearnspn.schema import Kind


@pytest.fixture(scope="module")
def split():
    return Split(mixed(600, 1, first=1000), mixed(80, 0), mixed(100, 2, first=5000))


def test_a_split_is_a_function_of_its_seed():
    table = Table("mixed", mixed(1000, 0).frame)
    one, other = table.split(3), table.split(3)
    assert one.train.ids == other.train.ids
    assert one.train.ids != table.split(4).train.ids
    assert sorted([*one.train.ids, *one.held_out.ids]) == list(range(1000))
    assert len(one.public) == table.n_public == 60


def test_keeping_retraining_and_unlearning(split):
    leaving = split.private.ids[::50]
    models = [method.train(split.train, 7) for method in (KEEPING, RETRAINING, UNLEARNING)]
    before = [model.circuit().digest() for model in models]
    for model in models:
        model.remove(leaving)
    kept, retrained, unlearned = (model.circuit().digest() for model in models)
    assert before == [kept] * 3
    assert retrained == unlearned != kept
    assert all(model.kept_bytes() > 0 for model in models)


@pytest.mark.parametrize("n_slices", [1, 3])
def test_a_shard_after_a_removal_is_what_it_would_be_without_the_records(split, n_slices):
    sisa, leaving = Sisa(4, n_slices), split.private.ids[5::90]
    trained, fresh = sisa.train(split.train, 1), sisa.train(split.train.without(leaving), 1)
    untouched = sisa.train(split.train, 1).circuit().digest()
    assert trained.circuit().digest() == untouched
    for each in (leaving[:1], leaving[1:]):
        trained.remove(each)
    assert trained.circuit().digest() == fresh.circuit().digest() != untouched
    assert (trained.checkpoint_bytes() > 0) == (n_slices > 1)


def test_slices_do_not_change_a_model(split):
    digests = {Sisa(4, n_slices).train(split.train, 1).circuit().digest() for n_slices in (1, 2, 5)}
    assert len(digests) == 1


def test_a_shard_can_lose_all_of_its_records(split):
    few = Records(split.private.frame.iloc[:6])
    trained = Sisa(3, 2).train(few, 0)
    for each in few.ids[:-1]:
        trained.remove([each])
    assert np.isfinite(log_densities(trained.circuit(), few.frame.iloc[-1:])).all()


@pytest.mark.parametrize("epsilon", [0.1, 100.0])
def test_a_private_network_is_a_distribution(split, epsilon):
    method = PrivateTraining.of(split, epsilon, 0)
    trained = method.train(split.train, 0)
    circuit = trained.circuit()
    domains = circuit.domains.columns
    validate(circuit.layout, [None if d.kind is Kind.NUMERIC else len(d.categories) for d in domains])
    strange = pd.concat([split.held_out.frame, pd.DataFrame([STRANGE])])
    assert np.isfinite(log_densities(circuit, strange)).all()
    assert circuit.sample(20, random_state=0).shape == (20, 5)
    trained.remove(split.private.ids[:1])
    assert trained.circuit() is circuit


def test_a_private_network_with_little_noise_is_better_than_its_public_sample(split):
    public = PublicTraining(frozenset(split.public.ids)).train(split.train, 0)
    private = PrivateTraining.of(split, 100.0, 0).train(split.train, 0)
    scores = [log_densities(model.circuit(), split.held_out.frame).mean() for model in (private, public)]
    assert scores[0] > scores[1]


def test_noise_is_drawn_anew(split):
    method = PrivateTraining.of(split, 1.0, 0)
    assert method.train(split.train, 0).circuit().digest() != method.train(split.train, 0).circuit().digest()


def test_counts_are_projected_on_what_counts_can_be():
    noisy = np.random.default_rng(0).normal(3.0, 20.0, (50, 7))
    projected = project(noisy)
    assert (projected >= 0).all()
    np.testing.assert_allclose(projected.sum(axis=1), np.maximum(noisy.sum(axis=1), 0.0), atol=1e-9)
    np.testing.assert_allclose(project(projected), projected, atol=1e-9)


def test_probabilities_go_from_coarse_to_fine_with_less_noise():
    rng, coarse = np.random.default_rng(0), np.array([0.5, 0.3, 0.2])
    counts = np.array([[100.0, 800.0, 100.0], [600.0, 200.0, 200.0]])
    fine = drawn_towards(counts, coarse, 0.1)
    np.testing.assert_allclose(fine, counts / 1000.0, atol=0.01)
    # Coarse probabilities are what is left where counts are nothing but noise.
    drowned = drawn_towards(rng.normal(0.0, 1e6, (2, 3)), coarse, 1e6)
    assert np.abs(drowned - coarse).max() < 0.25
    several = probabilities(rng.normal(5.0, 3.0, (4, 6, 5)), rng.integers(0, 4, (4, 6, 5)).astype(float), 3.0)
    np.testing.assert_allclose(several.sum(axis=-1), 1.0)
    assert (several > 0.0).all()


def test_targets_of_each_kind(split):
    targets = choose_targets(split.private, 10, 0)
    assert {kind: len(ids) for kind, ids in targets.ids.items()} == {ORDINARY: 10, OUTLIERS: 10, RARE: 10}
    assert len(set(targets.all)) == 30
    assert len(targets.records) == len(split.private) + 10
    assert targets.records.frame.dtypes.equals(split.private.frame.dtypes)
    model = UNLEARNING.train(split.train, 0).circuit()
    densities = {
        kind: log_densities(model, targets.records.take(ids).frame).mean() for kind, ids in targets.ids.items()
    }
    assert densities[OUTLIERS] < densities[RARE] < densities[ORDINARY]
    numbers = Records(split.private.frame[["number", "count"]])
    assert RARE not in choose_targets(numbers, 5, 0).ids


@pytest.mark.parametrize("name", ["digits", "mixed"])
def test_what_a_synthesiser_gives_is_learned_from(monkeypatch, split, name):
    if name == "digits":
        split = load_table("digits", None, True).split(0)
    asked = []

    def echo(self, tables, seed):
        asked.extend(tables)
        return tables

    monkeypatch.setattr(Synthesising, "_samples", echo)
    method = Synthesising.of(split, 1.0, "python", 0)
    trained = method.train(split.train, 0)
    assert len(asked[0]) == len(split.private)
    assert (asked[0] >= 0).all()
    assert (asked[0] <= np.array(method.structure.n_codes)).all()
    ours = log_densities(UNLEARNING.train(split.train, 0).circuit(), split.held_out.frame).mean()
    # Its samples are the records themselves here, but for where in their bins numbers are.
    assert log_densities(trained.circuit(), split.held_out.frame).mean() > ours - 2.0
