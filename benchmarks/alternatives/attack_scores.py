"""How well an attack tells one from the other: AUC with an interval, and what it finds at few false alarms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata
from sklearn.metrics import roc_curve

from benchmarks.alternatives.methods import Floats

Mask = npt.NDArray[np.bool_]

#: The share of false alarms at which true ones are counted, and those of the curve.
FALSE_ALARMS = 0.01
CURVE = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
_RESAMPLES, _CONFIDENCE = 200, 0.95
_TAILS = (0.025, 0.975)
#: Of log-densities, where the other models agree on all of them.
_LEAST_VARIANCE = 1e-12


@dataclass(frozen=True)
class Success:
    """What an attack achieved, and what it would if being inside were a coin toss that no model has seen."""

    auc: float
    #: 95 % by a bootstrap over targets.
    low: float
    high: float
    tpr: float
    #: 95 % of what is achieved when all coins are tossed again: these labels say nothing of the models.
    chance_low: float
    chance_high: float
    #: 95 % of the shares found are at most this then.
    chance_tpr: float
    #: The share found at each of the shares of false alarms of the curve.
    roc: tuple[float, ...]

    @property
    def is_at_chance(self) -> bool:
        """Whether the AUC is among those of coins tossed again."""
        return self.chance_low <= self.auc <= self.chance_high


def success_of(densities: Floats, inside: Mask, seed: int) -> Success:
    """Return what LiRA achieves; a line for each model, a column for each target."""
    rng = np.random.default_rng([seed, 2])
    scores = likelihood_ratios(densities, inside)
    resampled = []
    for _ in range(_RESAMPLES):
        chosen = rng.integers(0, inside.shape[1], inside.shape[1])
        resampled.append(_auc(inside[:, chosen], scores[:, chosen]))
    tossed = [rng.random(inside.shape) < 0.5 for _ in range(_RESAMPLES)]
    by_chance = [(coins, likelihood_ratios(densities, coins)) for coins in tossed]
    low, high = np.quantile(resampled, _TAILS).tolist()
    chance_low, chance_high = np.quantile([_auc(*each) for each in by_chance], _TAILS).tolist()
    chance_tpr = float(np.quantile([_alarms(*each) for each in by_chance], _CONFIDENCE))
    roc = tuple(_alarms(inside, scores, share) for share in CURVE)
    auc, tpr = _auc(inside, scores), _alarms(inside, scores)
    return Success(auc, low, high, tpr, chance_low, chance_high, chance_tpr, roc)


def _auc(inside: Mask, scores: Floats) -> float:
    """Return the share of pairs that are in the right order, from ranks: many are asked for."""
    ranks, n_inside = rankdata(scores), int(inside.sum())
    if n_inside in (0, inside.size):
        return 0.5
    above = ranks.reshape(inside.shape)[inside].sum() - n_inside * (n_inside + 1) / 2.0
    return float(above / (n_inside * (inside.size - n_inside)))


def _alarms(inside: Mask, scores: Floats, false_alarms: float = FALSE_ALARMS) -> float:
    return true_alarms(inside.ravel(), scores.ravel(), false_alarms)


def roc_key(false_alarms: float) -> str:
    """Return under which key results have the share found at a share of false alarms.

    >>> roc_key(0.01)
    'tpr_at_0.01'
    """
    return f"tpr_at_{false_alarms:g}"


def true_alarms(inside: Mask, scores: Floats, false_alarms: float = FALSE_ALARMS) -> float:
    """Return the share of those inside that are found, at a share of false alarms; between two points of the curve.

    >>> true_alarms(np.array([True, False]), np.array([1.0, 1.0]), 0.25)
    0.25
    """
    false, true, _ = roc_curve(inside, scores)
    return float(np.interp(false_alarms, false, true))


def likelihood_ratios(densities: Floats, inside: Mask) -> Floats:
    """Return LiRA's score of each model and target: how much likelier its log-density is if the target was inside.

    Log-densities of a target are taken to be normal, with a mean for models that had it and one for those that had not,
    and one deviation; all of them from the other models. A target that the others had all, or not at all, scores 0.
    """
    values = densities - densities.mean(axis=0)
    # Sums over the other models: those over all, less the model's own.
    had, had_not = (_of_others(values, which) for which in (inside, ~inside))
    enough = (had.number > 0) & (had_not.number > 0)
    squares = had.squares + had_not.squares
    variances = np.maximum(squares, 0.0) / max(len(values) - 3, 1) + _LEAST_VARIANCE
    ratios = ((values - had_not.means) ** 2 - (values - had.means) ** 2) / (2.0 * variances)
    return np.where(enough, ratios, 0.0)


class _Others(NamedTuple):
    """Of the other models that had a target, or had not: how many, their mean, and the squares around it."""

    number: Floats
    means: Floats
    squares: Floats


def _of_others(values: Floats, which: Mask) -> _Others:
    own = np.where(which, values, 0.0)
    number = which.sum(axis=0) - which
    sums, squares = own.sum(axis=0) - own, (own**2).sum(axis=0) - own**2
    means = sums / np.maximum(number, 1)
    return _Others(number, means, squares - number * means**2)
