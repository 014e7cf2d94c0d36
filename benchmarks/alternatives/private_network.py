"""A differentially private network: structure from a public sample, parameters from noisy counts and moments.

The guarantee is (ε, δ) for one private record more or less, in the sense of `accounting`; the public sample has none.
All that follows the noise uses nothing but the release and the public sample.

Probabilities are drawn towards coarser ones, the more so the larger the noise is beside the counts: those of a column
given its parent in a cluster towards the public sample's there, which are drawn towards those in all clusters, and
these likewise towards the column's own. The result is mixed with the default network of the public sample, half and
half: that costs a record log 2 nats at most, and where noise is large it gains much more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from benchmarks.alternatives.accounting import DELTA, MOST_EPSILON, Vector, noise_scale, release, require_epsilon
from benchmarks.alternatives.methods import Floats, Trained, circuit_bytes
from benchmarks.alternatives.released import COUNT, POSITION, Parts, Released
from benchmarks.alternatives.structure import Edge, Structure
from benchmarks.alternatives.tables import PUBLIC_SHARE, Records, Split
from unlearnspn import Circuit
from unlearnspn.circuit.expressions import Expression, Input, Unit, mixture, product
from unlearnspn.circuit.mixing import mix
from unlearnspn.circuit.tree_nodes import TreeNode, prune
from unlearnspn.leaves.categorical import UNSEEN

#: Into how many bins numbers are coded, and how many clusters there are at most.
N_BINS, MOST_CLUSTERS = (20, 8, 4), 8
#: A cell is to have so many times as many records as the deviation of its noise, in the mean.
_TIMES_NOISE = 3.0
#: The smoothing of a column's own probabilities, the share of it that is for what was never seen, and how many records'
#: worth these probabilities have beside the public sample's given the parent; as in the default network.
_ALPHA, _UNSEEN, _BETA = 0.3, 0.01, 3.0
#: So many records' worth a bin of even values has.
_EVEN = 5.0
#: What finer probabilities vary around coarser ones at least.
_LEAST_VARYING = 1e-9
_EVEN_VARIANCE, _LEAST_VARIANCE = 1.0 / 3.0, 1e-4


@dataclass(frozen=True)
class Noise:
    """The deviation of the noise on a count, and on a sum of positions, in records."""

    count: float
    position: float


def structure_for(split: Split, epsilon: float, seed: int) -> Structure:
    """Return the structure for an ε: bins and clusters are as many as leave a cell more records than the noise has.

    How many records there are is taken from the public sample, which is a known share of them.
    """
    expected = len(split.public) / PUBLIC_SHARE
    for n_bins in N_BINS:
        structure = Structure.learn(split.public, 1, n_bins, seed)
        scale = noise_scale(Released(structure).sensitivity, epsilon) / COUNT
        times_noise = expected / (float(np.mean(structure.cells)) * scale)
        if times_noise >= _TIMES_NOISE:
            break
    n_clusters = int(np.clip(times_noise / _TIMES_NOISE, 1, MOST_CLUSTERS))
    return structure if n_clusters == 1 else Structure.learn(split.public, n_clusters, n_bins, seed)


@dataclass(frozen=True)
class PrivateTrained:
    """A released network. Nothing is kept but the network, and nothing is done when a record is to be removed."""

    network: Circuit

    def remove(self, ids: Sequence[int]) -> None:
        """Do nothing: the guarantee is for this."""

    def circuit(self) -> Circuit:
        """Return the network."""
        return self.network

    def kept_bytes(self) -> int:
        """Return the size of the network."""
        return circuit_bytes(self.network)


@dataclass(frozen=True, eq=False)
class PrivateTraining:
    """Trains private networks of one structure; records of the public sample are left out of what gets noise."""

    structure: Structure
    public_ids: frozenset[int]
    epsilon: float
    released: Released = field(init=False)
    acts: bool = False

    def __post_init__(self) -> None:
        require_epsilon(self.epsilon)
        object.__setattr__(self, "released", Released(self.structure))

    @classmethod
    def of(cls, split: Split, epsilon: float, seed: int) -> PrivateTraining:
        """Learn the structure from the public sample of a table."""
        return cls(structure_for(split, epsilon, seed), frozenset(split.public.ids), epsilon)

    @property
    def name(self) -> str:
        """The name, as tables have it."""
        return f"private network, ε = {self.epsilon:g}"

    @property
    def scale(self) -> float:
        """The scale of the noise."""
        return noise_scale(self.released.sensitivity, self.epsilon, DELTA)

    def train(self, records: Records, seed: int) -> Trained:
        """Release a network; its noise has no seed."""
        return PrivateTrained(self.network_of(release(self.count(records), self.scale)))

    def count(self, records: Records) -> Vector:
        """Return what is to be released of the private records, without noise."""
        private = records.without(self.public_ids.intersection(records.ids))
        return self.released.count(self.structure.code(private.frame))

    def draw_noise(self) -> Vector:
        """Return the noise of one release, which depends on nothing that it is added to."""
        return release(np.zeros(self.released.length, np.int64), self.scale)

    def network_of(self, released: Vector) -> Circuit:
        """Return the network that follows from a vector with its noise."""
        noise = Noise(self.scale / COUNT, self.scale / POSITION)
        return network(self.structure, self.released.parts(released), noise)


def network(structure: Structure, parts: Parts, noise: Noise) -> Circuit:
    """Return the network that follows from noisy counts and sums."""
    public = Released(structure)
    known = public.parts(public.count(structure.public))
    sizes = np.maximum(project(parts.sizes + known.sizes), 0.0) + 1.0
    tables = [probabilities(noisy, own, noise.count) for noisy, own in zip(parts.tables, known.tables, strict=True)]
    inputs = [_inputs(structure, *each, noise) for each in zip(structure.edges, parts.tables, parts.sums, strict=True)]
    clusters = [
        _forest(structure, [np.log(table[number]) for table in tables], inputs)
        for number in range(structure.n_clusters)
    ]
    known_network = structure.circuit
    own = Circuit(mixture(clusters, np.log(sizes / sizes.sum()).tolist()), known_network.domains, known_network.origin)
    return mix([own, known_network], [math.log(0.5)] * 2, UNSEEN, known_network.origin)


def project(counts: Floats) -> Floats:
    """Return the nearest counts that are not negative and have the same sum, line by line; zeros if that is negative.

    >>> project(np.array([3.0, -1.0, 1.0])).tolist()
    [2.5, 0.0, 0.5]
    """
    totals = np.maximum(counts.sum(axis=-1, keepdims=True), 0.0)
    falling = -np.sort(-counts, axis=-1)
    ranks = np.arange(1, counts.shape[-1] + 1)
    above = (np.cumsum(falling, axis=-1) - totals) / ranks
    last = np.maximum((falling > above).sum(axis=-1, keepdims=True) - 1, 0)
    return np.asarray(np.maximum(counts - np.take_along_axis(above, last, axis=-1), 0.0))


def drawn_towards(counts: Floats, coarse: Floats, noise: float) -> Floats:
    """Return probabilities from noisy counts, line by line, drawn towards coarser ones.

    How much finer probabilities vary around the coarser ones is estimated from all lines together: by what counts are
    away from what the coarser ones say, less what noise and chance explain. A line's counts then have the weight that
    makes the expected error least.
    """
    projected = project(counts)
    totals = projected.sum(axis=-1, keepdims=True)
    by_chance = totals * coarse * (1.0 - coarse)
    away = (counts - totals * coarse) ** 2 - noise**2 - by_chance
    cells = max(float((totals**2).sum()) * counts.shape[-1], 1.0)
    varying = max(float(away.sum()) / cells, _LEAST_VARYING)
    explained = (noise**2 + by_chance.mean(axis=-1, keepdims=True)) / np.maximum(totals, 1.0) ** 2
    weights = np.where(totals > 0.0, varying / (varying + explained), 0.0)
    return np.asarray(weights * projected / np.maximum(totals, 1e-300) + (1.0 - weights) * coarse)


def probabilities(noisy: Floats, public: Floats, noise: float) -> Floats:
    """Return the probabilities of a column given its parent in each cluster, from noisy counts and public ones."""
    n_clusters, n_given, n_codes = noisy.shape
    smoothing = np.full(n_codes, _ALPHA)
    smoothing[-1] *= _UNSEEN
    own = public.sum(axis=(0, 1)) + smoothing
    column = drawn_towards(noisy.sum(axis=(0, 1)), own / own.sum(), noise * np.sqrt(n_clusters * n_given))
    everywhere = drawn_towards(noisy.sum(axis=0), _beside(public.sum(axis=0), column), noise * np.sqrt(n_clusters))
    return drawn_towards(noisy, _beside(public, everywhere), noise)


def _beside(public: Floats, coarse: Floats) -> Floats:
    """Return the public sample's probabilities, line by line, beside coarser ones."""
    return np.asarray((public + _BETA * coarse) / (public.sum(axis=-1, keepdims=True) + _BETA))


def _inputs(structure: Structure, edge: Edge, table: Floats, sums: Floats, noise: Noise) -> list[Input]:
    """Return the distribution of a column for each of its codes."""
    coding = structure.codings[edge.child]
    counts = np.maximum(table.sum(axis=(0, 1))[: coding.n_bins], 0.0)
    # What noise adds to a sum is not to count for more than even values do.
    even = _EVEN + 2.0 * max(noise.position, noise.count * float(np.sqrt(table[..., 0].size)))
    means = np.clip(sums[:, 0] / (counts + even), -1.0, 1.0)
    squares = np.clip((sums[:, 1] + _EVEN_VARIANCE * even) / (counts + even), 0.0, 1.0)
    moments = np.column_stack([means, np.maximum(squares - means**2, _LEAST_VARIANCE)])
    return coding.inputs(edge.child, moments)


def _forest(structure: Structure, log_tables: list[Floats], inputs: list[list[Input]]) -> Expression:
    """Return the distribution in one cluster: a product of trees."""
    trees: list[list[TreeNode]] = []
    places: dict[int, int] = {}
    parents = {edge.parent for edge in structure.edges}
    for edge, log_table, own in zip(structure.edges, log_tables, inputs, strict=True):
        if edge.parent < 0:
            trees.append([])
        nodes = trees[-1]
        places[edge.child] = len(nodes)
        parent = -1 if edge.parent < 0 else places[edge.parent]
        is_simple = own[0].unit is Unit.CATEGORICAL and edge.child not in parents and parent >= 0
        if is_simple:  # nothing depends on it: it needs no states of its own
            given = tuple(Input(Unit.CATEGORICAL, edge.child, line) for line in log_table)
            nodes.append(TreeNode(parent, None, given))
        else:
            nodes.append(TreeNode(parent, log_table, tuple(own)))
    return product([prune(nodes) for nodes in trees])


@dataclass(frozen=True, eq=False)
class NoiselessTraining:
    """Trains the same network without noise: how far it is from the default one is not what privacy costs."""

    method: PrivateTraining
    name: str = "the same network, no noise"
    acts: bool = True

    @classmethod
    def of(cls, split: Split, seed: int) -> NoiselessTraining:
        """Learn the structure for as good as no noise."""
        return cls(PrivateTraining.of(split, MOST_EPSILON, seed))

    def train(self, records: Records, seed: int) -> Trained:
        """Count, and release nothing."""
        parts = self.method.released.parts(self.method.count(records))
        return PrivateTrained(network(self.method.structure, parts, Noise(0.0, 0.0)))


@dataclass(frozen=True)
class PublicTraining:
    """Trains the default network on the public sample alone: what a private network is to be better than."""

    public_ids: frozenset[int]
    name: str = "public sample alone"
    acts: bool = False

    def train(self, records: Records, seed: int) -> Trained:
        """Train on what is public."""
        return PrivateTrained(records.take(sorted(self.public_ids)).learn(seed).circuit_)
