"""For the reference: which numbers of a leaf are jointly normal, and how."""

import math
from collections import Counter

from reference_coding import LARGEST_FEATURE, STD, log

#: So many values a number needs, and two numbers in common; so many numbers at most are in one block.
LEAST_VALUES, MOST_IN_A_BLOCK = 8, 64
LARGEST = 2.0**300


def least_deviation(column, settings):
    """Return the least deviation of a number in features; None if it can have no joint distribution."""
    if not 1.0 / LARGEST < column.scale < LARGEST or not abs(column.centre) < LARGEST:
        return None
    least = max(max(settings.min_std * column.scale, 5e-324) / column.scale * STD, 1.0)
    return least if least <= LARGEST_FEATURE else None


class Normals:
    """The blocks of jointly normal numbers among the variables of a leaf.

    `told` returns G/2 of two variables in units of 2^-24, and the degrees of freedom.
    """

    def __init__(self, columns, rows, settings, told):
        self.columns, self.settings = columns, settings
        self.leasts = {v: least_deviation(column, settings) for v, column in columns.items() if column.is_numeric}
        self.features = {
            v: [
                f if f is not None and abs(f) < LARGEST_FEATURE else None
                for f in (columns[v].features[r] for r in rows)
            ]
            for v, least in self.leasts.items()
            if least is not None
        }
        candidates = [v for v, features in self.features.items() if self._is_spread(features)]
        self.candidates = candidates if len(candidates) > 1 else []
        self.pairs = {(u, v): self._pair(u, v) for u in self.candidates for v in self.candidates}
        others = [v for v in columns if v not in self.candidates]
        joining = [v for v in self.candidates if self._joins(v, others, told)]
        self.blocks = []
        while len(joining) > 1:
            block = self._grow(joining)
            joining = [v for v in joining if v not in block]
            if (normal := self._joint(block)) is not None:
                self.blocks.append(normal)
        self.variables = {v for variables, *_ in self.blocks for v in variables}

    def _is_spread(self, features):
        known = [f for f in features if f is not None]
        return len(known) >= LEAST_VALUES and 4 * max(Counter(known).values()) <= len(known)

    def _pair(self, u, v):
        """Return how many records have both, their covariance, and what one tells of the other."""
        both = [(x, y) for x, y in zip(self.features[u], self.features[v], strict=True) if None not in (x, y)]
        n, xs, ys = len(both), [x for x, _ in both], [y for _, y in both]
        if n < LEAST_VALUES:
            return n, 0.0, 0.0
        covariance = central(xs, ys) / n
        least_x, least_y = self.leasts[u] * self.leasts[u], self.leasts[v] * self.leasts[v]
        variance_x, variance_y = max(central(xs, xs) / n, least_x), max(central(ys, ys) / n, least_y)
        left = 1.0 - covariance / variance_x * (covariance / variance_y)
        return n, covariance, -0.5 * n * log(max(left, least_x / variance_x, least_y / variance_y))

    def _joins(self, v, others, told):
        gain = max(self.pairs[min(u, v), max(u, v)][2] for u in self.candidates if u != v) - self.settings.penalty
        rivals = [(information, freedom) for information, freedom in (told(u, v) for u in others)]
        return gain > 0 and all(gain > g / 2**24 - self.settings.penalty * freedom for g, freedom in rivals)

    def _grow(self, joining):
        """Return a block in the order in which it grows: the first, then each time the nearest to any within."""
        block, outside = [joining[0]], joining[1:]
        while outside and len(block) < MOST_IN_A_BLOCK:
            nearest = [max(self.pairs[min(u, v), max(u, v)][2] for u in block) for v in outside]
            block.append(outside.pop(nearest.index(max(nearest))))
        return block

    # -- the distribution of a block --

    def _joint(self, block):
        """Return variables, means, deviations and the lines of the factor, in increasing order of the variables."""
        shrunk, beta = {}, self.settings.beta
        for u in block:
            for v in block:
                n, covariance, _ = self.pairs[min(u, v), max(u, v)]
                least = self.leasts[u] * self.leasts[u]
                shrunk[u, v] = max(covariance, least) if u == v else covariance * (n / (n + beta))
        joint = {}
        for place, v in enumerate(block):
            slopes, residual = self._regress(v, block[:place], shrunk)
            for u in [*block[:place], v]:
                total = residual if u == v else 0.0
                for parent, slope in slopes:
                    total += slope * joint[parent, u]
                joint[u, v] = joint[v, u] = total
        variables = sorted(block)
        factor = cholesky([[joint[u, v] for v in variables] for u in variables])
        if factor is None:
            return None
        means, stds, lines = [], [], []
        for v, line in zip(variables, factor, strict=True):
            known, step = [f for f in self.features[v] if f is not None], self.columns[v].scale / STD
            means.append(self.columns[v].centre + step * (float(sum(known)) / len(known)))
            stds.append(step * math.sqrt(joint[v, v]))
            lines.append([step * entry for entry in line])
        return variables, means, stds, lines

    def _regress(self, v, before, shrunk):
        """Return the numbers that one depends on, with its slopes, and the variance that remains."""
        variances = {u: shrunk[u, u] for u in before}
        shared = {u: shrunk[u, v] for u in before}
        eliminated, chosen, left = {}, [], shrunk[v, v]
        least, n = self.leasts[v] * self.leasts[v], self.pairs[v, v][0]
        while len(chosen) < self.settings.order:
            best, after = None, left
            for u in before:
                if u in chosen or not variances[u] > self.leasts[u] * self.leasts[u] / 1024:
                    continue
                own = left - shared[u] * shared[u] / variances[u]
                if own > 0 and max(own, least) < after:
                    best, after = u, max(own, least)
            if best is None or not 0.5 * n * log(left / after) > self.settings.penalty:
                break
            for u in before:
                if u not in chosen and u != best:
                    own = shrunk[u, best]
                    for w in chosen:
                        own -= eliminated[u, w] * eliminated[best, w] / variances[w]
                    eliminated[u, best] = own
                    variances[u] -= own * own / variances[best]
                    shared[u] -= own * (shared[best] / variances[best])
            chosen.append(best)
            left = after
        slopes = {}
        for place in reversed(range(len(chosen))):
            u = chosen[place]
            slopes[u] = shared[u] / variances[u]
            for w in chosen[place + 1 :]:
                slopes[u] -= eliminated[w, u] / variances[u] * slopes[w]
        return [(u, slopes[u]) for u in chosen], left


def _known(feature):
    """Return a feature, None if it is at its limit."""
    return feature if feature is not None and abs(feature) < LARGEST_FEATURE else None


def central(xs, ys):
    """Return Σxy - Σx·Σy/n: the next larger whole number, less what that is too much."""
    n = len(xs)
    total = n * sum(x * y for x, y in zip(xs, ys, strict=True)) - sum(xs) * sum(ys)
    whole = -(-total // n)
    return float(whole) - float(whole * n - total) / n


def cholesky(matrix):
    """Return the lines of the lower triangle; None if rounding spoils it."""
    lines = []
    for i, row in enumerate(matrix):
        line = [0.0] * len(matrix)
        for j in range(i + 1):
            total = row[j]
            for k in range(j):
                total -= line[k] * (line[k] if i == j else lines[j][k])
            if i == j:
                if not total > 2.0**-40 * row[i]:
                    return None
                line[i] = math.sqrt(total)
            else:
                line[j] = total / lines[j][j]
        lines.append(line)
    return lines
