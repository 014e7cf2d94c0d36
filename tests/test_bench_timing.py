"""What is timed is checked, and what is compared is comparable."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.checking import NotRetrainedError
from benchmarks.cluster.learning import Task, learn_here
from benchmarks.cluster.table import write_table
from benchmarks.generated import generate
from benchmarks.paper import removal, training
from benchmarks.paper.floors import deviation_floors
from benchmarks.paper.peer_trials import PeerTrials
from benchmarks.paper.samples import Source
from benchmarks.peers.client import Learned, Worker, WorkerFailed
from benchmarks.scale.growth import measure_growth
from benchmarks.scale.plan import Case
from unlearnspn import SPN


@pytest.fixture(scope="module")
def sample():
    return Source.of(generate(1300, 6)).sample(seed=0)


def leave_undone(monkeypatch, number, is_meant=lambda ids: True):
    """Let one of the requests that are meant remove nothing."""
    unlearn, asked = SPN.unlearn, []

    def unlearn_but_once(self, ids):
        if is_meant(ids):
            asked.append(ids)
        return unlearn(self, ids, dry_run=bool(asked) and asked[-1] is ids and len(asked) == number)

    monkeypatch.setattr(SPN, "unlearn", unlearn_but_once)


@pytest.mark.parametrize("number", [1, 3 * removal._ROUNDS])
def test_every_removal_of_every_round_is_checked(sample, monkeypatch, number):
    assert min(removal.remove_one_by_one(sample, SPN, 3).unlearn) > 0
    leave_undone(monkeypatch, number)
    with pytest.raises(NotRetrainedError, match=f"{1 if number == 1 else 3} removals"):
        removal.remove_one_by_one(sample, SPN, 3)


@pytest.mark.parametrize(("what", "n_ids", "before"), [("removal", 1, 1), ("batch", 15, 0)])
def test_removals_and_batches_of_a_growing_table_are_checked(monkeypatch, what, n_ids, before):
    leave_undone(monkeypatch, before + 2, lambda ids: len(ids) == n_ids)
    with pytest.raises(NotRetrainedError, match=f"after {what} 2"):
        measure_growth(Case("generated", 1500, 5), removals=2, batches=2, batch_share=0.01)


def test_a_cluster_model_has_to_verify(tmp_path, monkeypatch):
    write_table(Case("generated", 1200, 5), tmp_path)
    task = Task(tmp_path, leaving=(3, 700), verify=True)
    learning = learn_here(task)
    assert learning.fitted != learning.left
    assert learning.verify > 0
    assert len(learning.unlearn) == 2
    assert learn_here(replace(task, verify=False)).verify is None
    monkeypatch.setattr(SPN, "verify", lambda self: False)
    with pytest.raises(NotRetrainedError, match="does not verify"):
        learn_here(task)


@pytest.mark.parametrize("make", [SPN, SPN.from_paper])
def test_training_without_state_gives_the_same_circuit(sample, make):
    spn = sample.data.spn(make, random_state=3, min_rows=20)
    circuit = training._WithoutState(**spn.get_params(deep=False)).fit(sample.data.frame)._model
    assert circuit == spn.fit(sample.data.frame).circuit_


def test_ours_is_trained_in_turn_with_spflow(sample, monkeypatch):
    done, train = [], training.train

    class Peer:
        def learn(self, table, n_categories, **options):
            done.append(len(table))
            return Learned({}, 10.0)

        def score(self, rows):
            return np.zeros(len(rows))

        def widen(self, floors):
            pass

    def train_ours(spn, frame):
        done.append("ours")
        return train(spn, frame)

    monkeypatch.setattr(training, "train", train_ours)
    monkeypatch.setattr(PeerTrials, "worker", lambda self, library: Peer())
    race = training.race(sample, PeerTrials(None, trainings=2))
    ours = ["ours"] * 6  # three in each setting
    assert done == [50, 1000, *ours, 1000, *ours]
    assert all(0 < each.fit < each.to_circuit for seconds in race.ours.values() for each in seconds)


def test_floors_of_peers_are_those_of_our_leaves():
    groups = np.repeat([0, 1], 250)
    rows = np.column_stack([np.where(groups, np.random.default_rng(0).normal(30.0, 7.0, 500), 0.0), groups])
    floor, none = deviation_floors(rows, [0, 2])
    circuit = SPN(categorical_features=[False, True]).fit(rows).circuit_.to_json()
    assert f'"std": {floor!r}' in circuit or f'"std":{floor!r}' in circuit
    assert none == 0.0


def test_a_worker_learns_scores_and_says_how_long_it_took():
    rows = np.random.default_rng(0).normal(size=(300, 2))
    with Worker("unlearnspn") as worker:
        learned = worker.learn(rows, [0, 0], min_rows=100)
        assert learned.seconds > 0
        assert learned.units >= 3
        np.testing.assert_array_equal(worker.score(rows), SPN(min_rows=100).fit(rows).score_samples(rows))
        with pytest.raises(WorkerFailed, match="widen"):
            worker.widen([0.0, 0.0])
