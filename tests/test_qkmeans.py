"""Q-k-means: scikit-learn's k-means when the lattice is fine, and all that the lattice is for when it is not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans

from reference_coding import ONE, log, mix
from unlearnspn import SPN, Operation
from unlearnspn.checks import CATEGORICAL, example_table
from unlearnspn.clustering import QKMeans
from unlearnspn.coding import FEATURE_LIMIT, FEATURE_MISSING, FEATURE_STD
from unlearnspn.records import Records
from unlearnspn.schema import Schema
from unlearnspn.slices import Slice
from unlearnspn.statistics.space import snap
from unlearnspn.tables import read_table

FINE = 1e-9  # one unit of the features


def slice_of(X, categorical=None, key=5):
    table = read_table(X)
    schema = Schema.of(table, categorical, None)
    records = Records.learn(schema, 7, 6, list(range(len(X))), table)
    return Slice(records, records.encoding, np.arange(len(table.columns)), key)


def learn(clustering, data, rows=None):
    return clustering.learn(data, data.records.rows if rows is None else rows)


def entries(data):
    """Return where the entries of each variable are in a line of sums or centroids."""
    widths = np.where(data.records.is_numeric, 2, data.encoding.sizes)
    ends = np.cumsum(widths).tolist()
    return [slice(end - width, end) for end, width in zip(ends, widths.tolist(), strict=True)]


@settings(max_examples=400, deadline=None)
@given(st.sampled_from([1, 300, 10**7]), st.sampled_from([1, 41, 2**31]), st.integers(0, 2**31), st.data())
def test_means_are_rounded_to_the_lattice_exactly(count, spacing, shift, data):
    shift %= spacing
    point = shift + spacing * data.draw(st.integers(-2, 2))
    near = [count * point + count * spacing // 2 + offset for offset in (-1, 0, 1)]  # halfway to the next one
    total = data.draw(st.integers(-count * FEATURE_LIMIT, count * FEATURE_LIMIT) | st.sampled_from(near))
    steps = (2 * (total - count * shift) + count * spacing) // (2 * count * spacing)
    assert snap(shift, spacing, total, count) == shift + spacing * steps


def blobs(seed, n_blobs, n_rows=150, spread=1.0):
    rng = np.random.default_rng(seed)
    centres = rng.normal(0.0, 6.0, (n_blobs, 4))
    return centres[rng.integers(0, n_blobs, n_rows)] + spread * rng.standard_normal((n_rows, 4))


@pytest.mark.parametrize("n_clusters", [2, 3])
@pytest.mark.parametrize("seed", range(8))
def test_a_fine_lattice_gives_lloyds_algorithm(n_clusters, seed):
    data = slice_of(blobs(seed, n_clusters), key=seed)
    clustering = QKMeans(n_clusters, FINE, max_rounds=100)
    rounds = learn(clustering, data)
    features = data.records.features.astype(float)
    lloyd = KMeans(n_clusters, init=features[rounds.seeds], n_init=1, tol=0.0, algorithm="lloyd").fit(features)
    labels = clustering.assign(rounds, data, data.records.rows)
    assert labels.tolist() == lloyd.labels_.tolist()
    assert rounds.sizes.tolist() == clustering.sizes(rounds).tolist() == np.bincount(lloyd.labels_).tolist()
    assert np.abs(rounds.centroids[-1][:, ::2] - lloyd.cluster_centers_).max() <= 1.0


def test_a_fine_lattice_follows_lloyds_rounds_when_clusters_overlap():
    data = slice_of(blobs(3, 4, spread=4.0), key=11)
    rounds = learn(QKMeans(3, FINE, max_rounds=100), data)
    features = data.records.features.astype(float)
    assert len(rounds.sums) > 3
    centroids = features[rounds.seeds]
    for done in rounds.centroids[1:]:
        labels = ((features[:, None] - centroids) ** 2).sum(axis=2).argmin(axis=1)
        centroids = np.array([features[labels == c].mean(axis=0) for c in range(3)])
        assert np.abs(done[:, ::2] - centroids).max() <= 0.5 * 3
        centroids = done[:, ::2].astype(float)


def distances_by_definition(data, centroids):
    """Return squared distances from centroids, [row, centroid]: numbers and indicators, missing ones left out."""
    features, places = data.records.features.astype(int), entries(data)
    total = np.zeros((len(features), len(centroids)), int)
    for v in range(features.shape[1]):
        own = centroids[:, places[v]]
        if data.records.is_numeric[v]:
            squares = (features[:, v, None] - own[:, 0]) ** 2
        else:
            indicators = 2 * FEATURE_STD * np.eye(own.shape[1], dtype=int)[features[:, v]]
            squares = ((indicators[:, None, 1:] - own[:, 1:]) ** 2).sum(axis=2)
        missing = FEATURE_MISSING if data.records.is_numeric[v] else 0
        total += np.where(features[:, v, None] == missing, 0, squares)
    return total


@pytest.mark.parametrize("n_clusters", [2, 3, 5])
@pytest.mark.parametrize("seed", range(6))
def test_each_round_counts_the_rows_that_are_nearest(n_clusters, seed):
    rng = np.random.default_rng(seed)
    table = np.empty((200, 6), object)
    for v in range(4):
        table[:, v] = np.where(rng.random(200) < 0.1 * (v > 1), np.nan, rng.standard_normal(200))
    table[:, 4] = rng.choice(["a", "b", "c", None], 200)
    table[:, 5] = rng.choice(["x", "y"], 200)
    data = slice_of(table, [4, 5], key=seed)
    clustering = QKMeans(n_clusters, float(rng.choice([FINE, 0.01, 0.5])), max_rounds=8)
    rounds = learn(clustering, data)
    assert len(rounds.sums) > 1
    for r, centroids in enumerate(rounds.centroids):
        labels = distances_by_definition(data, centroids).argmin(axis=1)
        counts = rounds.counts[r] if r < len(rounds.counts) else rounds.sizes
        assert counts.tolist() == np.bincount(labels, minlength=n_clusters).tolist()
        if r < len(rounds.sums):
            first = data.records.features[:, 0].astype(int)
            assert rounds.sums[r, :, 0].tolist() == [first[labels == c].sum() for c in range(n_clusters)]
            codes = data.records.features[:, 4].astype(int)
            expected = [np.bincount(codes[labels == c], minlength=4).tolist() for c in range(n_clusters)]
            assert rounds.sums[r, :, entries(data)[4]].tolist() == expected
    assert clustering.assign(rounds, data, data.records.rows).tolist() == labels.tolist()


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 4.0])
def test_centroids_lie_on_the_shifted_lattice_next_to_the_means(epsilon):
    data = slice_of(example_table(80), list(CATEGORICAL))
    rounds = learn(QKMeans(3, epsilon, max_rounds=5), data)
    spacing = round(epsilon * FEATURE_STD)
    sizes, prints = data.encoding.sizes, data.encoding.prints
    checked = 0
    for sums, counts, centroids in zip(rounds.sums, rounds.counts, rounds.centroids[1:], strict=True):
        place = 0
        for v, categorical in enumerate(CATEGORICAL):
            width = int(sizes[v]) if categorical else 2
            for c in range(3):
                line, centroid = sums[c, place : place + width], centroids[c, place : place + width]
                if categorical:
                    means = {code: (2 * FEATURE_STD * line[code], counts[c] - line[0]) for code in range(1, width)}
                else:
                    means = {0: (line[0], line[1])}
                for code, (total, count) in means.items():
                    if count == 0 or (categorical and line[code] == 0):
                        continue
                    shift = mix(int(prints[v, code]) ^ data.key) % spacing
                    assert (int(centroid[code]) - shift) % spacing == 0
                    assert abs(centroid[code] - total / count) <= spacing / 2
                    checked += 1
            place += width
    assert checked > 10


def test_the_node_shifts_the_lattice():
    data = slice_of(blobs(0, 2))
    residues = set()
    for key in range(20):
        rounds = learn(QKMeans(2, 1.0, 1), data.of(data.scope, key))
        residues.add(tuple((rounds.centroids[-1][:, ::2] % FEATURE_STD)[0].tolist()))
    assert len(residues) == 20


def test_the_default_lattice_is_wider_for_many_variables():
    rng = np.random.default_rng(0)
    for n_variables, spacing in ((4, 4096), (16, 4096), (64, 8192)):
        data = slice_of(rng.standard_normal((30, n_variables)))
        assert QKMeans().space(data).spacing == QKMeans().spacing(n_variables) == spacing


@pytest.mark.parametrize("epsilon", [FINE, 0.1, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_it_stops_when_centroids_repeat(epsilon, seed):
    data = slice_of(blobs(seed, 3, spread=3.0), key=seed)
    rounds = learn(QKMeans(3, epsilon, max_rounds=200), data)
    states = [centroids.tobytes() for centroids in rounds.centroids]
    assert 1 <= len(rounds.sums) < 200
    assert len(states) == len(rounds.sums) + 1
    assert states[-1] in states[:-1]
    assert len(set(states)) == len(states) - 1
    cut = learn(QKMeans(3, epsilon, max_rounds=1), data)
    assert len(cut.sums) == 1
    assert np.array_equal(cut.centroids, rounds.centroids[:2])


@pytest.mark.parametrize("n_clusters", [2, 3, 5])
def test_seeds_survive_the_removal_of_any_other_record(n_clusters):
    data = slice_of(example_table(60), list(CATEGORICAL))
    clustering, rows = QKMeans(n_clusters), data.records.rows
    seeds = learn(clustering, data, rows).seeds.tolist()
    assert len(set(seeds)) == n_clusters
    for row in rows.tolist():
        left = learn(clustering, data, np.delete(rows, row)).seeds.tolist()
        assert (left == seeds) == (row not in seeds)


def test_seeds_spread_out_as_k_means_plus_plus_does():
    # Far away lies one record in a hundred: uniform draws would rarely make it a seed, draws by D² nearly always.
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 2)) * 0.01
    X[42] += 5.0
    data = slice_of(X)
    drawn = [learn(QKMeans(), data.of(data.scope, key)).seeds for key in range(200)]
    assert np.mean([42 in seeds for seeds in drawn]) > 0.95
    assert len({int(seeds[0]) for seeds in drawn}) > 50


@pytest.mark.parametrize("seed", range(30))
def test_seeds_are_those_with_the_least_scores_in_whatever_order_rows_come(seed):
    rng = np.random.default_rng(seed)
    data = slice_of(np.round(blobs(seed, 3, n_rows=60), rng.integers(0, 3)), key=seed)
    features = data.records.features.astype(np.int64)
    expected, distances = [], np.full(60, np.inf)
    for s in range(6):
        salt = mix(seed + s)
        draws = [mix(int(key) ^ salt) for key in data.records.keys]
        scores = [
            (np.inf if d == 0 else -log(((draw >> 11) + 1) / 2**53) / d if expected else 0.0, draw)
            for d, draw in zip(distances, draws, strict=True)
        ]
        expected.append(min(range(60), key=scores.__getitem__))
        distances = np.minimum(distances, ((features - features[expected[-1]]) ** 2).sum(axis=1))
    assert learn(QKMeans(6), data, rng.permutation(60)).seeds.tolist() == expected


def with_gaps(n_rows, seed=0):
    """Return a table of numbers, a few of them far away, and of categories, in which every tenth cell is missing."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.standard_normal((n_rows, 6)) ** 7)
    X[:, [0, 2, 5]] = rng.integers(0, 9, (n_rows, 3))
    return np.where(rng.random(X.shape) < 0.1, np.nan, X)


def squared_distances(data, seed):
    """Return all rows' distances from one, of which what is missing here or there is no part."""
    features, own = data.records.features.astype(np.int64), data.records.features[seed].astype(np.int64)
    numeric = data.records.is_numeric
    missing = np.where(numeric, FEATURE_MISSING, 0)
    apart = np.where(numeric, (features - own) ** 2, 2 * ONE**2 * (features != own))
    return np.where((features == missing) | (own == missing), 0, apart).sum(axis=1)


@pytest.mark.parametrize("n_rows", [5, 40, 600])
@pytest.mark.parametrize("seed", range(5))
def test_each_seed_is_the_best_by_its_distance_from_those_before(n_rows, seed):
    data = slice_of(with_gaps(n_rows, seed), [0, 2, 5])
    distances = np.full(n_rows, np.inf)
    for s, found in enumerate(learn(QKMeans(8), data).seeds.tolist()):
        salt = mix(5 + s)
        draws = np.array([mix(int(key) ^ salt) for key in data.records.keys], object)
        uniform = [(int(draw >> 11) + 1) / 2**53 for draw in draws]
        with np.errstate(divide="ignore"):
            scores = np.array([-log(u) for u in uniform]) / distances if s else draws
        assert scores[found] == np.min(scores[distances > 0])
        distances = np.minimum(distances, squared_distances(data, found))


@pytest.mark.parametrize("n_rows", [6, 40, 600])
@pytest.mark.parametrize("n_lost", [0, 1, 2, 5])
@pytest.mark.parametrize("seed", range(5))
def test_clusters_around_other_seeds_are_found_from_where_rows_belonged(n_rows, n_lost, seed):
    data, clustering, rng = slice_of(with_gaps(n_rows, seed), [0, 2, 5]), QKMeans(5), np.random.default_rng(seed)
    there, coming = np.split(rng.permutation(n_rows), [n_rows - n_rows // 6])
    there = np.sort(there)
    before = learn(clustering, data, there)
    labels = clustering.assign(before, data, there)
    stays = ~np.isin(there, rng.permutation(before.seeds)[:n_lost])
    groups = [*(there[stays & (labels == k)] for k in range(before.n_clusters)), coming]
    rows, ends = np.concatenate(groups), np.cumsum([0, *map(len, groups)])
    found, fresh = before.seed_anew(clustering.space(data), rows, ends), learn(clustering, data, np.sort(rows))
    assert found.seeds.tolist() == fresh.seeds.tolist()
    assert clustering.assign(found, data, rows).tolist() == fresh.label(clustering.space(data), rows).tolist()


@pytest.mark.parametrize("n_rows", [5, 40, 600])
def test_rows_are_labelled_together_as_they_are_one_by_one(n_rows):
    data = slice_of(with_gaps(n_rows), [0, 2, 5])
    clustering, rows = QKMeans(5, max_rounds=2), np.random.default_rng(0).permutation(n_rows)
    rounds = learn(clustering, data, rows)
    together = clustering.assign(rounds, data, rows)
    assert together.tolist() == [int(clustering.assign(rounds, data, row)[0]) for row in rows[:, np.newaxis]]
    assert np.bincount(together, minlength=5).tolist() == clustering.sizes(rounds).tolist()
    # By hand: centroids' coordinates, of indicators those of all codes.
    places, features = entries(data), data.records.features.astype(np.int64)
    centroids = rounds.centroids[-1]
    for row, found in zip(rows.tolist(), together.tolist(), strict=True):
        costs = np.zeros(len(centroids), np.int64)
        for v, numeric in enumerate(data.records.is_numeric):
            own, feature = centroids[:, places[v]], features[row, v]
            if numeric and feature != FEATURE_MISSING:
                costs += (own[:, 0] - feature) ** 2
            elif not numeric and feature != 0:
                indicator = ONE * (np.arange(own.shape[1]) == feature)
                costs += ((own - indicator)[:, 1:] ** 2).sum(axis=1)
        assert found == int(np.argmin(costs))


def test_an_empty_cluster_is_none():
    X = blobs(1, 2)
    data = slice_of(X)
    sizes = [learn(QKMeans(3, 50.0, 3), data.of(data.scope, key)).sizes.tolist() for key in range(30)]
    assert {sum(counts) for counts in sizes} == {150}
    assert all(len(counts) == 3 for counts in sizes)
    assert [150, 0, 0] in sizes  # the lattice is too coarse for any split
    root = SPN(min_rows=10, threshold=0.01, epsilon=1000.0, max_rounds=1).fit(X).root_
    assert root.operation is Operation.NAIVE_FACTORIZATION
    split = SPN(min_rows=10, threshold=0.01, n_clusters=5, epsilon=2.0, max_rounds=5).fit(X)
    nodes = [view for view in split.root_.walk() if view.operation is Operation.SPLIT_DATA]
    assert any(2 <= len(view.children) < 5 for view in nodes)
    assert all(child.n_records > 0 for view in nodes for child in view.children)


def test_fewer_different_rows_than_clusters():
    two = slice_of(np.array([[0.0, 0.0]] * 10 + [[1.0, 5.0]] * 5))
    rounds = learn(QKMeans(3, 0.1, 10), two)
    assert len(rounds.seeds) == 2
    assert sorted(rounds.sizes.tolist()) == [5, 10]
    one = slice_of(np.array([[3.0, 4.0]] * 10))
    rounds = learn(QKMeans(3, 0.1, 10), one)
    assert len(rounds.seeds) == 1
    assert rounds.sizes.tolist() == [10]
    assert not QKMeans(3).assign(rounds, one, one.records.rows).any()


def test_three_clusters_are_found():
    X = np.repeat([[0.0, 0.0], [40.0, 0.0], [0.0, 40.0]], [30, 20, 10], axis=0)
    X = X + np.random.default_rng(0).standard_normal(X.shape)
    data = slice_of(X)
    clustering = QKMeans(3, 0.05, 20)
    rounds = learn(clustering, data)
    assert sorted(clustering.sizes(rounds).tolist()) == [10, 20, 30]
    labels = clustering.assign(rounds, data, data.records.rows)
    assert [len(set(part.tolist())) for part in np.split(labels, [30, 50])] == [1, 1, 1]
