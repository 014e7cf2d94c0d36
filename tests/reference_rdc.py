"""For the reference: the randomized dependence coefficient, and whether it exceeds a threshold."""

import math
from collections import Counter

from reference_coding import MASK, derive, log, mix

LEVELS, FEATURES = 32, 10
RIDGE_NUMBERS, RIDGE_CATEGORIES = 1e-6, 1e-9


def correlated(seed, left, right, rows, threshold):
    """Tell whether two variables, each given by number and column, have a canonical correlation above a threshold."""
    codes = [_codes(column, rows) for _, column in (left, right)]
    features = [_whitened(*_features(seed, *one, own), own) for one, own in zip((left, right), codes, strict=True)]
    if len(features[0]) > len(features[1]):
        codes, features = codes[::-1], features[::-1]
    both = Counter(pair for pair in zip(*codes, strict=True) if None not in pair)
    products = _products(_covariances(both, *features))
    squared = threshold**2
    if sum(products[i][i] for i in range(len(products))) <= squared:
        return False
    return not _all_below(products, squared)


def _codes(column, rows):
    """Return the code of each row: a category's fingerprint, or the level of a number's rank in the node, from 1."""
    if not column.is_numeric:
        return [None if column.codes[row] is None else column.name_of(column.codes[row]) for row in rows]
    values = [column.values[row] for row in rows]
    observed = [value for value in values if value is not None]
    level = {value: -(-LEVELS * sum(v <= value for v in observed) // len(observed)) for value in set(observed)}
    return [None if value is None else level[value] for value in values]


# -- features ----------------------------------------------------------------------------------------------------------


def sin(x):
    """Return sin x by the four operations: a series around the nearest whole turn."""
    x -= 6.283185307179586 * math.floor(x * 0.15915494309189535 + 0.5)
    series = 0.0
    for even in range(26, 0, -2):
        series = (series + 1.0) * (-(x * x) / (even * (even + 1.0)))
    return x * (1.0 + series)


def _normal(key):
    """Draw a standard normal number (Box and Muller)."""
    first = ((mix(key & MASK) >> 11) + 1.0) / 2.0**53
    second = (mix((key & MASK) ^ 0x5851F42D4C957F2D) >> 11) / 2.0**53
    return math.sqrt(-2.0 * log(first)) * sin(6.283185307179586 * second)


def _uniform(key):
    """Draw a number between -1 and 1."""
    return ((mix(key & MASK) >> 11) + 0.5) / 2.0**52 - 1.0


def _features(seed, v, column, codes):
    """Return the features of each code that occurs, codes in increasing order, and the ridge.

    Sines of levels; indicators of all categories but the first, or random numbers if there are too many.
    """
    occurring = sorted(set(codes) - {None})
    if len(occurring) < 2:
        return {code: [] for code in occurring}, 0.0
    if column.is_numeric:
        key = derive(seed, "projection", v.to_bytes(4, "little"))
        lines = [(_normal(key + 2 * j), _normal(key + 2 * j + 1)) for j in range(FEATURES)]
        ranks = {level: (level - 0.5) / LEVELS for level in occurring}
        return {level: [sin(w * rank + b) for w, b in lines] for level, rank in ranks.items()}, RIDGE_NUMBERS
    if len(occurring) > FEATURES + 1:
        return {code: [_uniform(code + j) for j in range(FEATURES)] for code in occurring}, RIDGE_CATEGORIES
    return {code: [float(code == other) for other in occurring[1:]] for code in occurring}, RIDGE_CATEGORIES


def _whitened(features, ridge, codes):
    """Make features uncorrelated and of variance 1 in the node, by the Cholesky factor of their covariances."""
    counts = Counter(code for code in codes if code is not None)
    total, width = sum(counts.values()), len(next(iter(features.values()), []))
    shares = {code: counts[code] / total for code in features}
    means = [sum(shares[code] * line[j] for code, line in features.items()) for j in range(width)]
    centred = {code: [x - mean for x, mean in zip(line, means, strict=True)] for code, line in features.items()}
    factor = [[0.0] * width for _ in range(width)]
    for i in range(width):
        for j in range(i + 1):
            rest = sum(shares[code] * line[i] * line[j] for code, line in centred.items())
            rest -= sum(factor[i][m] * factor[j][m] for m in range(j))
            factor[i][j] = math.sqrt(max(rest, 0.0) + ridge) if i == j else rest / factor[j][j]
    return {code: _solve(factor, line) for code, line in centred.items()}


def _solve(factor, line):
    solved = []
    for i, x in enumerate(line):
        solved.append((x - sum(factor[i][j] * solved[j] for j in range(i))) / factor[i][i])
    return solved


# -- the verdict -------------------------------------------------------------------------------------------------------


def _covariances(both, left, right):
    """Return the covariances of two variables' features over the rows that have both."""
    total = sum(both.values())
    widths = [len(next(iter(features.values()), [])) for features in (left, right)]
    if total == 0:
        return [[0.0] * widths[1] for _ in range(widths[0])]

    cells = [(count, left[a], right[b]) for (a, b), count in sorted(both.items())]
    lefts = [sum(count * x[i] for count, x, _ in cells) / total for i in range(widths[0])]
    rights = [sum(count * y[j] for count, _, y in cells) / total for j in range(widths[1])]
    return [
        [sum(count * x[i] * y[j] for count, x, y in cells) / total - lefts[i] * rights[j] for j in range(widths[1])]
        for i in range(widths[0])
    ]


def _products(cross):
    """Return a matrix times its transpose, from the side that gives the smaller one."""
    if cross and len(cross) > len(cross[0]):
        cross = [list(column) for column in zip(*cross, strict=True)]
    return [[sum(a * b for a, b in zip(one, other, strict=True)) for other in cross] for one in cross]


def _all_below(products, squared):
    """Tell whether squared·I - products is positive definite: so are all squared correlations below."""
    rest = [[squared * (i == j) - p for j, p in enumerate(line)] for i, line in enumerate(products)]
    for a, pivot_line in enumerate(rest):
        if pivot_line[a] <= 0.0:
            return False
        for line in rest[a + 1 :]:
            share = line[a] / pivot_line[a]
            for b in range(a, len(line)):
                line[b] -= share * pivot_line[b]
    return True
