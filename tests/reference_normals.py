"""For the reference: which numbers of a leaf are jointly normal, and how."""

import math
from collections import Counter
from fractions import Fraction
from itertools import pairwise

from reference_coding import LARGEST_FEATURE, STD, log

#: So many values a number needs, and two numbers in common; so many numbers at most are in one block.
LEAST_VALUES, MOST_IN_A_BLOCK = 8, 64
LARGEST = 2.0**300
#: What is missing is expected in so many rounds; in one, where that takes more than so many multiplications.
ROUNDS, MOST_STEPS, LEAST_PIVOT = 3, 2**27, 1.0 / 1024.0
#: What is expected, and what is left of its products, are multiples of these.
VALUE_UNIT, LEFT_UNIT, MOST_LEFT = 2.0**-4, 2.0**-16, 2**30
#: A block depends on a category with so many that some record has.
LEAST_CATEGORIES, MOST_CATEGORIES = 2, 16


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
        encoded = {v: [columns[v].features[r] for r in rows] for v, least in self.leasts.items() if least is not None}
        self.features = {
            v: [f if f is not None and abs(f) < LARGEST_FEATURE else None for f in features]
            for v, features in encoded.items()
        }
        candidates = [v for v, features in self.features.items() if self._is_spread(features)]
        self.candidates = candidates if len(candidates) > 1 else []
        self.pairs = {(u, v): self._pair(u, v) for u in self.candidates for v in self.candidates}
        self.others = [v for v in columns if v not in self.candidates]
        self.n_records, self.told = len(rows), told

    @property
    def stands_back(self):
        """Tell whether a category is all there is beside candidates that all records have."""
        only = len(self.others) == 1 and not self.columns[self.others[0]].is_numeric
        return only and bool(self.candidates) and self._is_complete(self.candidates)

    def find(self, others):
        """Choose blocks, where some other variables may tell more of numbers."""
        joining = [v for v in self.candidates if self._joins(v, others)]
        self.blocks, self.joined = [], []
        while len(joining) > 1:
            block = self._grow(joining)
            joining = [v for v in joining if v not in block]
            if (normal := self._joint(block)) is not None:
                self.blocks.append(normal)
                self.joined.append(block)
        self.variables = {v for variables, *_ in self.blocks for v in variables}

    def _is_complete(self, block):
        return all(None not in self.features[v] for v in block)

    def _is_spread(self, features):
        known = [f for f in features if f is not None]
        return len(known) >= LEAST_VALUES and 8 * max(Counter(known).values()) <= len(known)

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

    def _joins(self, v, others):
        gain = max(self.pairs[min(u, v), max(u, v)][2] for u in self.candidates if u != v) - self.settings.penalty
        rivals = [(information, freedom) for information, freedom in (self.told(u, v) for u in others)]
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
        """Return variables, means and deviations, in increasing order of the variables, and their shape."""
        means = {v: mean_of_known(self.features[v]) for v in block}
        pairs = self.pairs if self._is_complete(block) else self._completed(block, means)
        joint, _ = self._covariances(block, pairs)
        variables = sorted(block)
        shape = self._shape(joint, block)
        if shape is None:
            return None
        values = [self._value(v, means[v]) for v in variables]
        return variables, values, [self._step(v) * math.sqrt(joint[v, v]) for v in variables], shape

    def _completed(self, block, means):
        """Return pairs by expectation maximisation, and replace the means."""
        records = list(zip(*(self.features[v] for v in block), strict=True))
        n_all, records = len(records), [record for record in records if record != (None,) * len(block)]
        found, covariances = expected_moments(records, n_all, [self.leasts[v] for v in block], self.settings.beta)
        means.update(zip(block, found, strict=True))
        pairs = {}
        for i, u in enumerate(block):
            for j, v in enumerate(block):
                pairs[u, v] = self.pairs[u, u][0] if u == v else len(records), covariances[i][j]
        return pairs

    def _covariances(self, block, pairs):
        """Return the joint covariances, and what remains of each variance."""
        shrunk, beta = {}, self.settings.beta
        for u in block:
            for v in block:
                n, covariance, *_ = pairs[min(u, v), max(u, v)]
                least = self.leasts[u] * self.leasts[u]
                shrunk[u, v] = max(covariance, least) if u == v else covariance * (n / (n + beta))
        joint, residuals = {}, {}
        for place, v in enumerate(block):
            slopes, residuals[v] = self._regress(v, block[:place], shrunk, pairs[v, v][0])
            for u in [*block[:place], v]:
                total = residuals[v] if u == v else 0.0
                for parent, slope in slopes:
                    total += slope * joint[parent, u]
                joint[u, v] = joint[v, u] = total
        return joint, residuals

    def _shape(self, joint, block):
        """Return the groups of a block, and the factors of all sets of its numbers that matter."""
        groups = groups_of(block)
        sets = [block, *[[v for v in block if v not in group] for group in groups]]
        sets += [[u for u in group if u != v] for group in groups for v in group]
        factors = {tuple(sorted(each)): self._factor(joint, sorted(each)) for each in sets}
        return None if None in factors.values() else (groups, factors)

    def _factor(self, joint, variables):
        factor = cholesky([[joint[u, v] for v in variables] for u in variables])
        if factor is None:
            return None
        return [[self._step(v) * entry for entry in line] for v, line in zip(variables, factor, strict=True)]

    def _step(self, v):
        return self.columns[v].scale / STD

    def _value(self, v, feature):
        return self.columns[v].centre + self._step(v) * feature

    def given(self, labels, outcomes):
        """Return the first block's means by category, and the shape within; None if these do not pay.

        `labels` are the records' categories.
        """
        block = self.joined[0]
        groups = {outcome: [i for i, label in enumerate(labels) if label == outcome] for outcome in outcomes}
        groups = {outcome: group for outcome, group in groups.items() if group}
        pairs = {(u, v): self._pair_within(u, v, groups.values()) for u in block for v in block}
        if not LEAST_CATEGORIES <= len(groups) <= MOST_CATEGORIES or min(pairs[v, v][0] for v in block) < LEAST_VALUES:
            return None
        _, before = self._covariances(block, self.pairs)
        joint, after = self._covariances(block, pairs)
        growth = 0.0
        for v in block:
            growth += 0.5 * pairs[v, v][0] * log(before[v] / after[v])
        shape = self._shape(joint, block)
        if shape is None or not growth > self.settings.penalty * ((len(groups) - 1) * len(block)):
            return None
        return [[self._mean_within(v, group) for v in sorted(block)] for group in groups.values()], shape

    def _pair_within(self, u, v, groups):
        """Return how many records have both in groups with two of these or more, and their covariance within."""
        n, total = 0, 0.0
        for group in groups:
            both = [(self.features[u][i], self.features[v][i]) for i in group]
            both = [pair for pair in both if None not in pair]
            if len(both) > 1:
                n += len(both)
                total += central([x for x, _ in both], [y for _, y in both])
        return n, total / n if n >= LEAST_VALUES else 0.0

    def _mean_within(self, v, group):
        """Return the mean of a number in a group, drawn towards that of all."""
        known = [self.features[v][i] for i in group if self.features[v][i] is not None]
        drawn = float(sum(known)) + self.settings.beta * mean_of_known(self.features[v])
        return self._value(v, drawn / (len(known) + self.settings.beta))

    def _regress(self, v, before, shrunk, n):
        """Return the numbers that one depends on, with its slopes, and the variance that remains."""
        variances = {u: shrunk[u, u] for u in before}
        shared = {u: shrunk[u, v] for u in before}
        eliminated, chosen, left = {}, [], shrunk[v, v]
        least = self.leasts[v] * self.leasts[v]
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


def groups_of(block):
    """Divide a block, in the order of joining, into groups of which one number may stray."""
    n_groups = min(len(block), 8)
    size, larger = divmod(len(block), n_groups)
    starts = [g * size + min(g, larger) for g in range(n_groups + 1)]
    return [block[start:end] for start, end in pairwise(starts)]


def expected_moments(records, n_all, leasts, beta):
    """Return means and covariances of numbers by expectation maximisation; each record has something."""
    share, squares = len(records) / (len(records) + beta), [least * least for least in leasts]
    means, covariances = _first_moments(records, squares, share)
    n_rounds = ROUNDS if n_all * len(means) ** 3 <= MOST_STEPS else 1
    for rank in range(n_rounds):
        own_share = share if rank + 1 < n_rounds else 1.0
        means, covariances = _next_moments(records, means, covariances, squares, own_share)
    return means, covariances


def _first_moments(records, squares, share):
    """Return means, and covariances as if what is missing were at the mean, of numbers of deviation one."""
    numbers = range(len(squares))
    known = [[record[i] for record in records if record[i] is not None] for i in numbers]
    means = [Fraction(sum(values), len(values)) for values in known]
    covariances = [[0.0] * len(means) for _ in numbers]
    for i in numbers:
        for j in range(i + 1):
            both = [record for record in records if record[i] is not None and record[j] is not None]
            total = float(sum((record[i] - means[i]) * (record[j] - means[j]) for record in both))
            covariances[i][j] = total / math.sqrt(float(len(known[i])) * float(len(known[j])))
    return [float(mean) for mean in means], _bounded(covariances, squares, share)


def _next_moments(records, means, covariances, squares, share):
    """Return means and covariances anew."""
    numbers, n = range(len(means)), len(records)
    totals, products = [0 for _ in numbers], [[0 for _ in numbers] for _ in numbers]
    for record in records:
        values, left = _expected(record, means, covariances, squares)
        for i in numbers:
            totals[i] += values[i]
            for j in range(i + 1):
                products[i][j] += values[i] * values[j] + left.get((i, j), 0)
    found = [
        [float(products[i][j] / n - totals[i] / n * (totals[j] / n)) if j <= i else 0.0 for j in numbers]
        for i in numbers
    ]
    return [float(total / n) for total in totals], _bounded(found, squares, share)


def _bounded(covariances, squares, share):
    """Return covariances, drawn towards none, and variances that are large enough, from those with j up to i."""
    bounded = [[covariances[max(i, j)][min(i, j)] * share for j in range(len(squares))] for i in range(len(squares))]
    for i, square in enumerate(squares):
        bounded[i][i] = max(covariances[i][i], square)
    return bounded


def _on_grid(value, unit, limit):
    """Return an exact multiple of a unit, which is a power of two: the nearest, the upper of two, within limits."""
    return min(max(Fraction(math.floor(value / unit + 0.5)) * Fraction(unit), -limit), limit)


def _expected(record, means, covariances, squares):
    """Return a record's numbers, as known or expected, and what is left of what is missing, all exact."""
    known = [i for i, feature in enumerate(record) if feature is not None]
    missing = [i for i, feature in enumerate(record) if feature is None]
    distances = [None if feature is None else feature - mean for feature, mean in zip(record, means, strict=True)]
    values = [None if feature is None else Fraction(feature) for feature in record]
    if not missing:
        return values, {}
    lines, scores = [], []
    for i in known:
        line = []
        for place, j in enumerate(known[: len(lines)]):
            line.append(_less(covariances[i][j], line, lines[place]) / lines[place][place])
        line.append(math.sqrt(max(_less(covariances[i][i], line, line), squares[i] * LEAST_PIVOT)))
        scores.append(_less(distances[i], line[:-1], scores) / line[-1])
        lines.append(line)
    slopes, left = {}, {}
    for i in missing:
        slopes[i] = []
        for place, j in enumerate(known):
            slopes[i].append(_less(covariances[i][j], slopes[i], lines[place]) / lines[place][place])
        expected = means[i] - _less(0.0, slopes[i], scores)
        values[i] = _on_grid(expected, VALUE_UNIT, LARGEST_FEATURE)
        for j, others in slopes.items():
            left[i, j] = _on_grid(_less(covariances[i][j], slopes[i], others), LEFT_UNIT, MOST_LEFT)
    return values, left


def _less(value, one, other):
    """Return a value less the products of two lines, one after another, as long as both go on."""
    for x, y in zip(one, other, strict=False):
        value -= x * y
    return value


def mean_of_known(features):
    """Return the mean of the features that are known."""
    known = [f for f in features if f is not None]
    return float(sum(known)) / len(known)


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
