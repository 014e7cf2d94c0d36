"""Clusters: revised as they are learned, and the laws of a statistic; their definition is tested in `test_qkmeans`."""

import pickle

import numpy as np
import pytest

from unlearnspn.clustering import QKMeans
from unlearnspn.records import Records
from unlearnspn.schema import Schema
from unlearnspn.slices import Slice
from unlearnspn.statistics.clusters import Clusters
from unlearnspn.tables import read_table

NOBODY = np.zeros(0, np.int64)
FIELDS = ("seeds", "counts", "sizes", "sums", "centroids")


def data_of(n_rows, seed, kind="mixed", n_variables=6):
    rng = np.random.default_rng(seed)
    X = np.round(rng.standard_normal((n_rows, n_variables)) ** 3, rng.integers(0, 4))
    categorical = [v for v in range(n_variables) if kind == "categorical" or (kind == "mixed" and v % 3 == 0)]
    for v in categorical:
        X[:, v] = rng.integers(0, [2, 9, 40][v % 3], n_rows)
    if kind != "numeric":
        X = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    table = read_table(X)
    records = Records.learn(Schema.of(table, categorical, None), 7, 6, list(range(n_rows)), table)
    scope = np.sort(rng.permutation(n_variables)[: max(1, n_variables - 1)])
    key = int(rng.integers(0, 1 << 63)) * 2 + 1
    return Slice(records, records.encoding, scope, key)


def assert_same(clusters, expected):
    for name in FIELDS:
        found = getattr(clusters, name)
        assert found.dtype == np.int64
        assert found.shape == getattr(expected, name).shape
        assert np.array_equal(found, getattr(expected, name))


SIZES = [2, 8, 64]
ROUNDS = [0, 1, 9]


def draw_clustering(rng, n_clusters, max_rounds):
    epsilon = [None, 1e-9, 0.05, 0.7, 1e6][int(rng.integers(0, 5))]
    return QKMeans(n_clusters, epsilon, max_rounds)


@pytest.mark.parametrize("kind", ["numeric", "categorical", "mixed"])
@pytest.mark.parametrize("n_clusters", SIZES)
@pytest.mark.parametrize("max_rounds", ROUNDS)
@pytest.mark.parametrize("n_rows", [1, 7, 60, 256, 700])
def test_rows_get_the_same_labels_while_learning_together_and_alone(kind, n_clusters, max_rounds, n_rows):
    for seed in range(2):
        rng = np.random.default_rng(seed)
        data, clustering = data_of(n_rows, seed, kind), draw_clustering(rng, n_clusters, max_rounds)
        rows = np.sort(rng.permutation(n_rows)[: rng.integers(max(1, n_rows // 2), n_rows + 1)])
        clusters = clustering.learn(data, rows)
        labels = clustering.assign(clusters, data, rows)  # those found while learning
        assert clusters.labels is None
        assert clustering.assign(clusters, data, rows).tolist() == labels.tolist()
        space = clustering.space(data)
        assert [int(clusters.label(space, rows[i : i + 1])[0]) for i in range(rows.size)] == labels.tolist()
        sizes = clustering.sizes(clusters)
        assert sizes.tolist() == np.bincount(labels, minlength=sizes.size).tolist()
        backwards = clustering.learn(data, rows[::-1].copy())
        assert_same(backwards, clusters)
        assert clustering.fingerprint(backwards, data) == clustering.fingerprint(clusters, data)


def test_nobody_is_in_one_cluster():
    data, clustering = data_of(9, 0), QKMeans(3)
    clusters = clustering.learn(data, NOBODY)
    assert clusters.sizes.tolist() == [0]
    assert clusters.label(clustering.space(data), NOBODY).size == 0
    assert not clusters.seeds_hold(clustering.space(data), NOBODY, np.arange(1))
    assert clusters.seeds_hold(clustering.space(data), NOBODY, NOBODY)


def change_of(rng, rows, others, seeds):
    """Draw rows to leave and to come: one or many, with or without a seed."""
    n_minus, n_plus = (int(rng.choice([0, 1, 1, 3, 30, 300])) for _ in range(2))
    minus = rng.permutation(rows)[: min(n_minus, rows.size - 1)]
    if rng.random() < 0.5:
        minus = minus[~np.isin(minus, seeds)]
    return np.sort(minus), np.sort(rng.permutation(others)[:n_plus])


class RowsAfter:
    """Gives the rows after a change; cluster by cluster, if those before are known."""

    def __init__(self, after):
        self.after, self.asked = after, 0

    def know_clusters(self, before, labels, n_clusters, plus):
        stays = np.isin(before, self.after)
        groups = [*(before[stays & (labels == k)] for k in range(n_clusters)), plus]
        self.by_cluster = lambda: (np.concatenate(groups), np.cumsum([0, *map(len, groups)]))

    def __call__(self):
        self.asked += 1
        return self.after


@pytest.mark.parametrize("kind", ["numeric", "categorical", "mixed"])
@pytest.mark.parametrize("n_clusters", SIZES)
@pytest.mark.parametrize("max_rounds", ROUNDS)
@pytest.mark.parametrize("n_rows", [12, 120, 900])
def test_clusters_are_revised_as_they_are_learned(kind, n_clusters, max_rounds, n_rows):
    for seed in range(2):
        rng = np.random.default_rng(seed)
        data, clustering = data_of(n_rows, seed, kind), draw_clustering(rng, n_clusters, max_rounds)
        rows = np.sort(rng.permutation(n_rows)[: n_rows * 2 // 3])
        clusters = clustering.learn(data, rows)
        for _ in range(12):
            others = np.setdiff1d(np.arange(n_rows), rows)
            minus, plus = change_of(rng, rows, others, clusters.seeds)
            after = np.union1d(np.setdiff1d(rows, minus), plus)
            copy, rows_after = clusters.copy(), RowsAfter(after)
            if rng.random() < 0.5:
                rows_after.know_clusters(rows, clustering.assign(clusters, data, rows), clusters.n_clusters, plus)
            revised = clustering.revise(clusters, data, minus, plus, rows_after)
            fresh = clustering.learn(data, after)
            assert_same(revised, fresh)
            assert clustering.fingerprint(revised, data) == clustering.fingerprint(fresh, data)
            if revised is clusters:
                assert rows_after.asked == 0
                assert copy.same_centroids(clusters)
                assert clustering.assigns_like(copy, clusters)
            else:
                assert_same(clusters, copy)
                if revised.labels is not None:
                    expected = fresh.label(clustering.space(data), revised.labelled)
                    assert revised.labels.tolist() == expected.tolist()
            clusters, rows = revised, after


@pytest.mark.parametrize("n_clusters", SIZES)
@pytest.mark.parametrize("n_rows", [12, 120, 900])
def test_seeds_hold_exactly_if_the_same_are_learned(n_clusters, n_rows):
    held = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        data, clustering = data_of(n_rows, seed), QKMeans(n_clusters)
        rows, others = np.split(rng.permutation(n_rows), [n_rows * 2 // 3])
        clusters = clustering.learn(data, rows)
        space = clustering.space(data)
        for _ in range(20):
            minus, plus = change_of(rng, rows, others, clusters.seeds)
            after = np.concatenate([np.setdiff1d(rows, minus), plus])
            expected = clustering.learn(data, after).seeds.tolist() == clusters.seeds.tolist()
            assert clusters.seeds_hold(space, minus, plus) == expected
            held.append(expected)
    assert 0 < sum(held) < len(held)


@pytest.mark.parametrize("max_rounds", ROUNDS)
@pytest.mark.parametrize("n_clusters", SIZES)
def test_shifts_are_inverse_in_any_order_and_tell_which_rounds_hold(n_clusters, max_rounds):
    held = set()
    for seed in range(6):
        rng = np.random.default_rng(seed)
        data, clustering = data_of(300, seed), draw_clustering(rng, n_clusters, max_rounds)
        rows = np.arange(200)
        clusters, space = clustering.learn(data, rows), clustering.space(data)
        copy = clusters.copy()
        assert clusters.rounds_that_hold(space) == clusters.n_rounds
        for size in (1, 5, 60):
            minus = rng.permutation(np.setdiff1d(rows, clusters.seeds))[:size]
            clusters.shift(space, minus, -1)
            assert clusters.sizes.sum() == 200 - minus.size
            fresh = Clusters.learn_from(space, clusters.seeds, np.setdiff1d(rows, minus))
            holding = clusters.rounds_that_hold(space)
            common = min(holding + 1, clusters.n_rounds, fresh.n_rounds)  # the first round that leads elsewhere, too
            assert np.array_equal(clusters.sums[:common], fresh.sums[:common])
            assert np.array_equal(clusters.centroids[: holding + 1], fresh.centroids[: holding + 1])
            assert holding == clusters.n_rounds or not np.array_equal(
                clusters.centroids[holding + 1], fresh.centroids[holding + 1]
            )
            held.add(holding == clusters.n_rounds)
            for part in np.array_split(rng.permutation(minus), 3):
                clusters.shift(space, part, 1)
            assert_same(clusters, copy)
    assert held == ({True, False} if max_rounds else {True})


@pytest.mark.parametrize("n_lost", [0, 1, 3])
@pytest.mark.parametrize("n_clusters", SIZES)
@pytest.mark.parametrize("n_rows", [12, 120, 900])
def test_seeds_are_found_anew_as_they_are_learned(n_rows, n_clusters, n_lost):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        data, clustering = data_of(n_rows, seed), QKMeans(n_clusters)
        there = np.sort(rng.permutation(n_rows)[: n_rows * 5 // 6])
        coming = np.setdiff1d(np.arange(n_rows), there)[: seed % 2 * n_rows]
        clusters = clustering.learn(data, there)
        labels = clustering.assign(clusters, data, there)
        stays = ~np.isin(there, rng.permutation(clusters.seeds)[:n_lost])
        groups = [*(there[stays & (labels == k)] for k in range(n_clusters)), coming]
        rows, ends = np.concatenate(groups), np.cumsum([0, *map(len, groups)])
        if rows.size == 0:
            continue
        found = clusters.seed_anew(clustering.space(data), rows, ends)
        fresh = clustering.learn(data, np.sort(rows))
        assert_same(found, fresh)
        if found.labels is not None:
            assert found.labels.tolist() == fresh.label(clustering.space(data), rows).tolist()


@pytest.mark.parametrize("max_rounds", [0, 5])
def test_known_seeds_lead_to_the_same_rounds(max_rounds):
    data, clustering = data_of(300, 3), QKMeans(8, 0.1, max_rounds)
    rows, space = np.arange(300), clustering.space(data)
    learned = clustering.learn(data, rows)
    assert_same(Clusters.learn_from(space, learned.seeds, rows), learned)


@pytest.mark.parametrize("n_rows", [1, 200])
@pytest.mark.parametrize("max_rounds", [0, 5])
def test_what_is_dumped_is_loaded(n_rows, max_rounds):
    data, clustering = data_of(n_rows, 5), QKMeans(8, 0.1, max_rounds)
    clusters = clustering.learn(data, np.arange(n_rows))
    loaded = Clusters.load(clusters.dump())
    assert_same(loaded, clusters)
    assert loaded.dump() == clusters.dump()
    assert all(getattr(loaded, name).shape == getattr(clusters, name).shape for name in FIELDS)
    assert_same(pickle.loads(pickle.dumps(clusters)), clusters)
    with pytest.raises(ValueError, match="reshape"):
        Clusters.load(clusters.dump()[:-8])
    loaded.shift(clustering.space(data), np.arange(n_rows)[:1], -1)
    assert clusters.sizes.sum() == loaded.sizes.sum() + 1 == n_rows


@pytest.mark.parametrize("max_rounds", [0, 5])
def test_rows_may_be_read_only(max_rounds):
    data, clustering, rows = data_of(300, 3), QKMeans(8, 0.1, max_rounds), np.arange(300)
    rows.setflags(write=False)
    data.scope.setflags(write=False)
    clusters = clustering.learn(data, rows)
    assert (
        clustering.assign(clusters, data, rows[:20]).tolist() == clustering.assign(clusters, data, rows)[:20].tolist()
    )
    left = np.setdiff1d(rows, clusters.seeds)[:1]
    left.setflags(write=False)
    revised = clustering.revise(clusters, data, left, left[:0], lambda: np.setdiff1d(rows, left))
    assert revised.sizes.sum() == 299


def test_statistics_stay_as_they_were_if_rows_cannot_be_had():
    data, rows, failed = data_of(300, 3), np.arange(300), 0

    def fail():
        raise OSError

    for max_rounds in (0, 5):
        clustering = QKMeans(8, 1e-9, max_rounds)
        clusters = clustering.learn(data, rows)
        copy = clusters.copy()
        for row in [*clusters.seeds.tolist(), *range(20)]:
            try:
                clusters = clustering.revise(clusters, data, np.array([row]), NOBODY, fail)
                clusters.shift(clustering.space(data), np.array([row]), 1)
            except OSError:
                failed += 1
            assert_same(clusters, copy)
    assert failed >= 16
