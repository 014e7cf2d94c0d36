"""A lower bound on ε from an attack: the worst record there is, in or out, in many releases.

The attacker knows all other records, and sees the release itself. What the canary moves is known, so the best statistic
is how far the release lies in its direction. Noise on cells that the canary does not move says nothing of it: it is not
drawn. Releases without the canary and with it share their noise: of the two shares that make a bound, each is bounded
by itself. A threshold is chosen on half of the releases, and the bounds come from the others, by Clopper and Pearson.

One bound assumes nothing of the release. It cannot prove more than so many releases can show, which is far less than ε
where δ is small. The other knows that the noise is Gaussian: it bounds how many deviations the canary moves the
release, from which ε follows by the formula of Balle and Wang (2018).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.stats import beta, norm

from benchmarks.alternatives.accounting import DELTA, Vector, release
from benchmarks.alternatives.methods import Floats
from benchmarks.alternatives.private_network import PrivateTraining
from benchmarks.alternatives.structure import Coded
from benchmarks.alternatives.tables import Records

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Bound:
    """How far the canary moves the release, of how far any record can; and the ε that the attack proves at least."""

    moved: float
    epsilon: float
    #: For noise that is known to be Gaussian.
    gaussian: float


def worst_record(method: PrivateTraining, records: Records) -> Vector:
    """Return what a record adds that moves the release most, as one with all values known and at the border of a bin.

    The codes are those of one of the records; a record with the values need not be there.
    """
    coded = method.structure.code(records.frame)
    fullest = int((coded.codes >= 0).sum(axis=1).argmax())
    codes = coded.codes[fullest : fullest + 1].copy()
    for column, coding in enumerate(method.structure.codings):
        if codes[0, column] < 0 or codes[0, column] >= coding.n_bins > 0:
            codes[0, column] = 0
    clusters = coded.clusters[fullest : fullest + 1]
    return method.released.count(Coded(codes, np.ones(codes.shape), clusters))


def bound_epsilon(method: PrivateTraining, records: Records, n_releases: int, seed: int) -> Bound:
    """Attack so many releases without the canary, and as many with it."""
    exact, canary = method.count(records), worst_record(method, records)
    moved = np.flatnonzero(canary)
    direction = canary[moved].astype(np.float64)
    out = exact[moved] @ direction + _noise_along(direction, method.scale, n_releases)
    inside = out + direction @ direction
    moved_by = float(np.linalg.norm(direction)) / method.released.sensitivity
    return Bound(moved_by, proven_epsilon(out, inside, seed), proven_gaussian_epsilon(out, inside, seed))


def _noise_along(direction: Floats, scale: float, n_releases: int) -> Floats:
    """Return how far the noise of so many releases lies in a direction."""
    noise = release(np.zeros(n_releases * direction.size, np.int64), scale).reshape(n_releases, -1)
    return np.asarray(noise @ direction)


def proven_epsilon(out: Floats, inside: Floats, seed: int, delta: float = DELTA) -> float:
    """Return the ε that scores without and with a record prove at least, at 95 %; 0 if they prove none."""

    def proven(test: Test) -> float:
        return math.log((test.least_hits - delta) / test.most_alarms) if test.least_hits > delta else 0.0

    return max(0.0, _on_other_half(out, inside, seed, proven))


def proven_gaussian_epsilon(out: Floats, inside: Floats, seed: int, delta: float = DELTA) -> float:
    """Return the ε that scores prove at least, at 95 %, if they are known to be Gaussian."""

    def deviations(test: Test) -> float:
        return float(norm.ppf(test.least_hits) - norm.ppf(test.most_alarms))

    return gaussian_epsilon(_on_other_half(out, inside, seed, deviations), delta)


def gaussian_epsilon(deviations: float, delta: float = DELTA) -> float:
    """Return the ε of Gaussian noise of which the sensitivity is so many deviations; no bound is better.

    >>> gaussian_epsilon(0.0)
    0.0
    """

    def excess(epsilon: float) -> float:
        middle = epsilon / deviations
        lost = norm.cdf(deviations / 2.0 - middle)
        return float(lost - math.exp(epsilon + norm.logcdf(-deviations / 2.0 - middle)) - delta)

    if deviations <= 0.0 or excess(0.0) <= 0.0:
        return 0.0
    return float(brentq(excess, 0.0, 10.0 * deviations * (1.0 + deviations)))


@dataclass(frozen=True)
class Test:
    """What a test achieves at least on releases with the record, and at most on those without, at 95 %."""

    least_hits: float
    most_alarms: float

    @classmethod
    def of(cls, out: Floats, inside: Floats, threshold: float, above: bool) -> Test:
        """Test for scores above a threshold; or for scores below, which are likelier without the record."""
        if not above:
            out, inside, threshold = -inside, -out, -threshold
        hits, alarms = (int((scores > threshold).sum()) for scores in (inside, out))
        # Each of the two shares may be off with half of the probability that is left.
        tail = (1.0 - CONFIDENCE) / 2.0
        least = float(beta.ppf(tail, hits, len(inside) - hits + 1)) if hits else 0.0
        most = float(beta.ppf(1.0 - tail, alarms + 1, len(out) - alarms)) if alarms < len(out) else 1.0
        return cls(least, most)


def _on_other_half(out: Floats, inside: Floats, seed: int, worth: Callable[[Test], float]) -> float:
    """Choose a test on half of the scores, and return what it is worth on the others."""
    rng = np.random.default_rng([seed, 5])
    out, inside = rng.permutation(out), rng.permutation(inside)
    half = len(out) // 2
    candidates = np.quantile(np.concatenate([out[:half], inside[:half]]), np.linspace(0.01, 0.99, 99)).tolist()
    choices = [(threshold, above) for threshold in candidates for above in (True, False)]
    best = max(choices, key=lambda choice: worth(Test.of(out[:half], inside[:half], *choice)))
    return worth(Test.of(out[half:], inside[half:], *best))
