"""LearnSPN a second time, naively: the witness that what the library learns is what docs/theory.md says.

Everything is learned from scratch, with dicts, lists and Python's own numbers, and without a line of the library. It
knows no revision: after a request it is given the records that remain. Beside this module `reference_coding` has hashes
and columns, `reference_rdc` the paper's test of independence, `reference_circuit` what the network becomes.
"""

import math
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations

from reference_coding import (
    MASK,
    ONE,
    STD,
    Category,
    Number,
    derive,
    key_of_cluster,
    key_of_record,
    key_of_scope,
    log,
    mix,
    n_log_n,
    seed_of,
    token,
)
from reference_rdc import correlated


@dataclass(frozen=True)
class Settings:
    """The parameters of `SPN` that decide what is learned, under their names there."""

    min_rows: int
    n_clusters: int
    n_bins: int
    independence: str = "gtest"
    threshold: float = 3.0
    max_rounds: int = 0
    epsilon: float | None = None
    factorization: str = "chow-liu"
    alpha: float = 0.3
    beta: float = 3.0
    order: int = 4
    penalty: float = 1.5
    min_std: float = 0.05
    min_category_count: int = 1
    random_state: int = 0


# -- independence ------------------------------------------------------------------------------------------------------


def half_g(pairs):
    """Return G/2 in units of 2^-24 and the degrees of freedom, given the codes of two variables."""
    both = [pair for pair in pairs if None not in pair]
    cells, lefts, rights = Counter(both), Counter(a for a, _ in both), Counter(b for _, b in both)
    terms = [sum(map(n_log_n, counts.values())) for counts in (cells, lefts, rights)]
    freedom = max(len(lefts) - 1, 0) * max(len(rights) - 1, 0)
    return terms[0] - terms[1] - terms[2] + n_log_n(len(both)), freedom


def groups_of(scope, depend):
    """Join variables that depend on each other; groups by their first variables."""
    groups = [[variable] for variable in scope]
    for u, v in combinations(scope, 2):
        if depend(u, v):
            one, other = (next(group for group in groups if w in group) for w in (u, v))
            if one is not other:
                groups.remove(other)
                one.extend(other)
    return sorted(sorted(group) for group in groups)


# -- clusters ----------------------------------------------------------------------------------------------------------


def distance_of(columns, row, seed):
    """Return the squared distance of two rows; what either lacks counts for nothing."""
    total = 0
    for column in columns:
        one, other = column.features[row], column.features[seed]
        if one is not None and other is not None:
            total += (one - other) ** 2 if column.is_numeric else 2 * ONE**2 * (one != other)
    return total


def pick_seeds(columns, keys, key, rows, n_clusters):
    """Pick rows as k-means++ does: the least draw, then the least -ln(draw)/D² of those that lie on no seed."""
    seeds = []
    for number in range(n_clusters):
        salt, scores = mix((key + number) & MASK), []
        for row in rows:
            draw, score = mix(keys[row] ^ salt), 0.0
            if seeds:
                distance = min(distance_of(columns, row, seed) for seed in seeds)
                if distance == 0:
                    continue
                score = -log(((draw >> 11) + 1.0) / 2.0**53) / distance
            scores.append((score, draw, row))
        if not scores:
            break
        seeds.append(min(scores)[2])
    return seeds


def centroid_of_seed(columns, seed):
    """Return a seed's coordinates: 0 where it has no value, and an indicator for each code."""
    return [
        (column.features[seed] or 0)
        if column.is_numeric
        else {code: ONE for code in [column.features[seed]] if code is not None}
        for column in columns
    ]


def nearest_centroid(columns, row, centroids):
    distances = []
    for centroid in centroids:
        total = 0
        for column, coordinate in zip(columns, centroid, strict=True):
            feature = column.features[row]
            if feature is None:
                continue
            if column.is_numeric:
                total += (feature - coordinate) ** 2
            else:
                total += sum(c**2 for c in coordinate.values()) - 2 * ONE * coordinate.get(feature, 0)
        distances.append(total)
    return distances.index(min(distances))


def mean_on_lattice(columns, key, rows, spacing):
    """Return the coordinates of a cluster's mean, each rounded to a lattice that the node's key shifts."""

    def snap(column, code, total, count):
        shift = mix(column.name_of(code) ^ key) % spacing
        return shift + spacing * math.floor(Fraction(total - count * shift, count * spacing) + Fraction(1, 2))

    centroid = []
    for column in columns:
        features = [column.features[row] for row in rows if column.features[row] is not None]
        if column.is_numeric:
            centroid.append(snap(column, None, sum(features), len(features)) if features else 0)
        else:
            snapped = {code: snap(column, code, ONE * n, len(features)) for code, n in Counter(features).items()}
            # Codes that no row of the cluster has are at 0.
            centroid.append({code: coordinate for code, coordinate in snapped.items() if coordinate})
    return centroid


def cluster(columns, keys, key, rows, settings):
    """Return the rows of each cluster that has any, by the number of its seed."""
    seeds = pick_seeds(columns, keys, key, rows, settings.n_clusters)
    epsilon = max(1.0, math.sqrt(len(columns) / 16)) if settings.epsilon is None else settings.epsilon
    spacing = round(min(max(epsilon * STD, 1.0), 2.0**31))
    centroids, before = [centroid_of_seed(columns, seed) for seed in seeds], []
    for _ in range(settings.max_rounds if len(seeds) > 1 else 0):
        clusters = assign(columns, rows, centroids)
        before.append(centroids)
        centroids = [
            mean_on_lattice(columns, key, clusters[number], spacing) if number in clusters else centroid
            for number, centroid in enumerate(centroids)
        ]
        if centroids in before:
            break
    return assign(columns, rows, centroids)


def assign(columns, rows, centroids):
    clusters = {}
    for row in rows:
        clusters.setdefault(nearest_centroid(columns, row, centroids), []).append(row)
    return dict(sorted(clusters.items()))


# -- LearnSPN ----------------------------------------------------------------------------------------------------------


@dataclass
class Node:
    """A node of the network: how it was made, of what, and what is below; the cluster numbers of a split of data."""

    operation: str
    scope: list
    rows: list
    children: list = field(default_factory=list)
    clusters: list = field(default_factory=list)


class Reference:
    """What is learned from records, given as a mapping of their ids to their values (None if missing)."""

    def __init__(self, records, categorical, settings):
        self.settings, self.seed = settings, seed_of(settings.random_state)
        self.keys = [key_of_record(name) for name in records]
        self.columns = [
            self._column(v, [values[v] for values in records.values()], is_categorical)
            for v, is_categorical in enumerate(categorical)
        ]
        rows, scope = list(range(len(records))), list(range(len(categorical)))
        self.root = self.learn_spn(scope, rows, derive(self.seed, "root"))

    def _column(self, v, values, is_categorical):
        key = derive(0, "variable", v.to_bytes(4, "little"))
        if not is_categorical:
            return Number(values, self.settings.n_bins, key)
        counts = Counter(token(value) for value in values if value is not None)
        least = self.settings.min_category_count
        return Category([None if value is None or counts[token(value)] < least else value for value in values], key)

    def learn_spn(self, scope, rows, key, connected=False):
        """Learn from some rows of some variables (Algorithm 1)."""
        if len(scope) == 1:
            return Node("create leaf", scope, rows)
        informative = [v for v in scope if self._is_informative(v, rows)]
        if informative and len(informative) < len(scope):
            groups = sorted([[v] for v in scope if v not in informative] + [informative])
            return self._product("split uninformative variables", scope, rows, key, groups)
        if not informative or len(rows) <= self.settings.min_rows:
            return self._naive_factorization(scope, rows, informative)
        if not connected:
            groups = groups_of(scope, lambda u, v: self._depend(u, v, rows))
            if len(groups) > 1:
                return self._product("split variables", scope, rows, key, groups)
        clusters = cluster([self.columns[v] for v in scope], self.keys, key, rows, self.settings)
        if len(clusters) < 2:
            return self._naive_factorization(scope, rows, informative)
        parts = [self.learn_spn(scope, own, key_of_cluster(key, number)) for number, own in clusters.items()]
        return Node("split data", scope, rows, parts, list(clusters))

    def _is_informative(self, v, rows):
        column = self.columns[v]
        values = [column.values[row] for row in rows if column.values[row] is not None]
        return len(set(values if column.is_numeric else map(token, values))) > 1

    def _depend(self, u, v, rows):
        one, other = self.columns[u], self.columns[v]
        if self.settings.independence == "rdc":
            return correlated(self.seed, (u, one), (v, other), rows, self.settings.threshold)
        information, freedom = half_g([(one.codes[row], other.codes[row]) for row in rows])
        return freedom > 0 and information > self.settings.threshold * freedom * 2**24

    def _product(self, operation, scope, rows, key, groups):
        alone = [Node("create leaf", group, rows) for group in groups if len(group) == 1]
        connected = operation == "split variables"
        parts = [self.learn_spn(group, rows, key_of_scope(key, group), connected) for group in groups if len(group) > 1]
        return Node(operation, scope, rows, alone + parts)

    def _naive_factorization(self, scope, rows, informative):
        tree = [v for v in informative if self.columns[v].is_whole]
        if self.settings.factorization == "naive" or len(tree) < 2:
            tree = []
        scopes = ([tree] if tree else []) + [[v] for v in scope if v not in tree]
        return Node("naive factorization", scope, rows, [Node("create leaf", leaf, rows) for leaf in scopes])
