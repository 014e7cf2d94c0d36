"""Circuits evaluated the slow way, as an oracle: SciPy's distributions, sums over all categories, quadrature.

It shares nothing with what it checks but the arrays of the layout.
"""

import math
from collections import defaultdict
from itertools import pairwise

import numpy as np
from scipy import stats
from scipy.linalg import solve_triangular

from unlearnspn import Range
from unlearnspn.circuit.expressions import Unit
from unlearnspn.schema import Kind

LOW, HIGH, OWN = 0, 1, 3
#: Stands for all categories that a column never had, whatever it holds.
NEVER_SEEN = "never seen"
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)


class BruteForce:
    """One circuit, and the questions answered by hand."""

    def __init__(self, circuit):
        self.layout, self.columns = circuit.layout, circuit.domains.columns
        self.names = [column.name for column in self.columns]

    def score_rows(self, rows):
        """Return the log-density of each row of a table of Python objects."""
        return self.log_density(self._read(rows))

    def best_part(self, rows):
        """Return the largest value that max-product can reach in each row: every sum is its best part, at its mode."""
        known = self._read(rows)
        return self.log_density(known, _input_or_peak, lambda terms: np.max(terms, axis=0))

    def _read(self, rows):
        known = {}
        for v, column in enumerate(self.columns):
            values = [row[v] for row in rows]
            if column.kind is Kind.CATEGORICAL:
                known[v] = np.array([self.place(v, value) for value in values])
            else:
                known[v] = np.array([np.nan if value is None else value for value in values], float)
        return known

    def place(self, v, value):
        """Return the place of a category: the last for one never seen, -1 for a missing one."""
        if value is None or value != value:
            return -1
        categories = self.columns[v].categories
        alike = [c == value and isinstance(c, bool) == isinstance(value, bool) for c in categories]
        return alike.index(True) if True in alike else len(categories)

    def below(self, name, values):
        """Return the probability that a numeric column is at most each value."""
        return np.exp(self.log_density({self.names.index(name): np.asarray(values, float)}, _input_below))

    def log_density(self, known, input_value=None, mix=np.logaddexp.reduce):
        """Return log-densities, given arrays of numbers (NaN: missing) or places (-1) of some variables."""
        input_value = input_value or _input
        layout, shape = self.layout, np.broadcast_shapes(*(array.shape for array in known.values()), ())
        inputs = self._inputs(known, input_value)
        done = []
        for u in range(len(layout)):
            unit = Unit(layout.units[u])
            children = [done[child] for child in layout.children_of(u)]
            if unit is Unit.SUM:
                weights = layout.log_weights[layout.child_starts[u] : layout.child_starts[u + 1]]
                children = np.broadcast_arrays(*children)
                done.append(mix([child + weight for child, weight in zip(children, weights, strict=True)]))
            elif unit is Unit.PRODUCT:
                done.append(sum(children, np.zeros(())))
            elif unit is Unit.TREE:
                done.append(_Tree(layout, u, [np.broadcast_to(child, shape) for child in children], mix).value(0, 0))
            elif unit is Unit.NORMAL:
                done.append(self._normal(u).log_density(known, shape, input_value))
            else:
                done.append(inputs.get(u, np.zeros(())))
        return np.broadcast_to(done[-1], shape)

    def _inputs(self, known, input_value):
        """Return what each input says of what is known: SciPy is asked once for inputs of one kind and column."""
        alike = defaultdict(list)
        for u in np.flatnonzero(np.isin(self.layout.variables, list(known))).tolist():
            unit, line = Unit(self.layout.units[u]), self.layout.parameters_of(u)
            which = np.isfinite(line[[LOW, HIGH]]).any() if unit in _OF_SCIPY else u
            alike[unit, int(self.layout.variables[u]), int(which)].append((u, line))
        done = {}
        for (unit, v, _), members in alike.items():
            units, lines = zip(*members, strict=True)
            if unit in _OF_SCIPY:
                lines = np.array(lines).T.reshape(-1, len(units), *[1] * known[v].ndim)
                done.update(zip(units, input_value(unit, lines, known[v]), strict=True))
            else:
                done[units[0]] = input_value(unit, lines[0], known[v])
        return done

    # -- sums and integrals ----------------------------------------------------------------------------------------

    def total(self, wanted, function=lambda **values: 1.0):
        """Sum and integrate density times a function over what is wanted of some columns; the others are missing.

        A number stands for itself, so that what comes out is a density in it.
        """
        masses, named = self._masses(wanted)
        return math.fsum((masses * function(**named)).ravel().tolist())

    def mean(self, function, columns, given):
        """Return the expectation of a function of some columns, whose categories are known ones."""
        masses, named = self._masses({**given, **{name: self._known(name, given.get(name)) for name in columns}})
        return math.fsum((masses * function(**named)).ravel().tolist()) / math.fsum(masses.ravel().tolist())

    def _masses(self, wanted):
        """Return densities times weights on the grid of what is wanted, and by name the sides of the grid."""
        points = {self.names.index(name): each for name, each in wanted.items() if isinstance(each, int | float)}
        sides = [self._alternatives(self.names.index(name), each, points) for name, each in wanted.items()]
        grids = np.meshgrid(*(values for values, _ in sides), indexing="ij", sparse=True) if sides else []
        weights = np.ones(())
        for side, (_, own) in enumerate(sides):
            weights = weights * own.reshape([-1 if axis == side else 1 for axis in range(len(sides))])
        variables = [self.names.index(name) for name in wanted]
        densities = np.exp(self.log_density(dict(zip(variables, grids, strict=True))))
        named = {name: self._readable(v, grid) for name, v, grid in zip(wanted, variables, grids, strict=True)}
        return weights * densities, named

    def _known(self, name, wanted):
        column = self.columns[self.names.index(name)]
        if column.kind is Kind.NUMERIC:
            return Range() if wanted is None else wanted
        if wanted is None:
            return list(column.categories)
        named = set(range(len(column.categories)))
        places = self._places(self.names.index(name), wanted)
        return [column.categories[place] for place in sorted(named.intersection(places))]

    def _readable(self, v, grid):
        if self.columns[v].kind is Kind.NUMERIC:
            return grid
        categories = [0.0 if isinstance(c, str) else float(c) for c in self.columns[v].categories]
        return np.array([*categories, np.nan])[grid]

    def _places(self, v, wanted):
        several = wanted if isinstance(wanted, list | set | tuple) else [wanted]
        return sorted({self.place(v, category) for category in several})

    def _alternatives(self, v, wanted, points):
        """Return values of a column and the weight of each; `points` are the numbers that others are known to be."""
        if wanted is None:
            return (np.array([-1]) if self.columns[v].kind is Kind.CATEGORICAL else np.array([np.nan])), np.ones(1)
        if self.columns[v].kind is Kind.CATEGORICAL:
            places = self._places(v, wanted)
            return np.array(places, int), np.ones(len(places))
        if not isinstance(wanted, Range):
            return np.array([float(wanted)]), np.ones(1)
        return self.grid(v, *wanted.bounds(), points)

    def inputs_of(self, v):
        """Yield the kind and the parameters of each input of a column; a joint normal is a Gaussian of each of its."""
        for u in np.flatnonzero(self.layout.variables == v).tolist():
            yield Unit(self.layout.units[u]), self.layout.parameters_of(u)
        for normal in self._normals():
            if v in normal.variables:
                yield Unit.GAUSSIAN, np.array([-math.inf, math.inf, 0.0, *normal.given(v, {})])

    def _normals(self):
        return [self._normal(u) for u in np.flatnonzero(self.layout.units == Unit.NORMAL).tolist()]

    def _normal(self, unit):
        return _Normal(self.layout, unit)

    def grid(self, v, low, high, points=None):
        """Return points and weights that integrate the density of a numeric column between bounds.

        `points` are numbers that other columns are known to be: given them a column is much less spread.
        """
        known = {} if points is None else points
        units = [unit for unit, _ in self.inputs_of(v)]
        if Unit.POINT in units or Unit.POISSON in units:
            points = np.unique(np.concatenate([_atoms(unit, line) for unit, line in self.inputs_of(v)]))
            points = points[(low <= points) & (points <= high)]
            return points, np.ones(points.size)
        breaks = np.concatenate(
            [_breaks(unit, line) for unit, line in self.inputs_of(v)]
            + [normal.breaks(v, known) for normal in self._normals() if v in normal.variables]
        )
        breaks = np.unique(np.clip(breaks[np.isfinite(breaks)], low, high))
        points = [0.5 * (a + b) + 0.5 * (b - a) * _NODES for a, b in pairwise(breaks)]
        weights = [0.5 * (b - a) * _WEIGHTS for a, b in pairwise(breaks)]
        return np.concatenate([np.zeros(0), *points]), np.concatenate([np.zeros(0), *weights])


class _Tree:
    """A tree, from its first node on down: what a node is, given a state of its parent, is a mixture of its states."""

    def __init__(self, layout, unit, inputs, mix):
        number = np.flatnonzero(layout.units == Unit.TREE).tolist().index(unit)
        nodes = layout.tree_nodes[layout.tree_starts[number] : layout.tree_starts[number + 1]].tolist()
        inputs, entries = iter(inputs), iter(layout.parameters_of(unit).tolist())
        self.mix, self.nothing, self.done = mix, np.zeros(()), {}
        self.children = [[child for child, (parent, *_) in enumerate(nodes) if parent == v] for v in range(len(nodes))]
        self.inputs, self.tables = [], []
        for parent, n_states, n_inputs in nodes:
            n_lines = 1 if parent < 0 else nodes[parent][1]
            self.inputs.append([next(inputs) for _ in range(n_inputs)])
            self.tables.append([[next(entries) for _ in range(n_states)] for _ in range(n_lines)])

    def value(self, v, given):
        if not self.tables[v][given]:
            return self.inputs[v][given]
        return self.mix([self._of_state(v, state) + own for state, own in enumerate(self.tables[v][given])])

    def _of_state(self, v, state):
        if (v, state) not in self.done:
            own = self.inputs[v][state] if self.inputs[v] else self.nothing
            self.done[v, state] = sum((self.value(child, state) for child in self.children[v]), own)
        return self.done[v, state]


class _Normal:
    """Several numbers that are jointly normal, by their factor turned into another triangle."""

    def __init__(self, layout, unit):
        number = np.flatnonzero(layout.units == Unit.NORMAL).tolist().index(unit)
        start, end = layout.normal_starts[number : number + 2]
        self.variables = layout.normal_variables[start:end].tolist()
        n, own = len(self.variables), layout.parameters_of(unit)
        self.mean, self.factor, entries = own[:n], np.zeros((n, n)), iter(own[n:].tolist())
        for line in range(n):
            self.factor[line, : line + 1] = [next(entries) for _ in range(line + 1)]

    def turned(self, known):
        """Return the factor with the known positions first."""
        order = [*known, *(place for place in range(len(self.variables)) if place not in known)]
        factor = np.linalg.qr(self.factor[order].T, mode="r").T
        return factor * np.where(factor.diagonal() < 0.0, -1.0, 1.0)

    def log_density(self, known, shape, input_value):
        """Return the log-density of what is known, or at its largest over what is missing, or of at most a number."""
        missing = np.full(shape, np.nan)
        values = np.array([np.broadcast_to(known.get(v, missing), shape).ravel() for v in self.variables], float)
        result = np.zeros(values.shape[1])
        patterns = (~np.isnan(values)).T @ (1 << np.arange(len(values)))
        for pattern in np.unique(patterns).tolist():
            rows, own = np.flatnonzero(patterns == pattern), np.flatnonzero(pattern >> np.arange(len(values)) & 1)
            factor, n = self.turned(own.tolist()), own.size
            distances = values[np.ix_(own, rows)] - self.mean[own, None]
            scores = solve_triangular(factor[:n, :n], distances, lower=True, check_finite=False) if n else distances
            if input_value is _input_below:
                assert n <= 1
                result[rows] = stats.norm.logcdf(scores[0]) if n else 0.0
                continue
            counted = factor.diagonal() if input_value is _input_or_peak else factor.diagonal()[:n]
            constant = -np.log(counted).sum() - 0.5 * math.log(2.0 * math.pi) * counted.size
            result[rows] = constant - 0.5 * (scores**2).sum(axis=0)
        return result.reshape(shape)

    def given(self, v, points):
        """Return mean and deviation of a variable, given some numbers of others."""
        place = self.variables.index(v)
        own = [at for at, other in enumerate(self.variables) if other in points and at != place]
        factor = self.turned([*own, place])
        n = len(own)
        distances = np.array([points[self.variables[at]] for at in own]) - self.mean[own]
        scores = np.linalg.solve(factor[:n, :n], distances) if n else distances
        return self.mean[place] + factor[n, :n] @ scores, float(factor[n, n])

    def breaks(self, v, points):
        """Return numbers between which the density of a variable is smooth, also if more of the others get known."""
        mean, std = self.given(v, points)
        factor = self.turned([place for place, other in enumerate(self.variables) if other != v])
        step = 1.5 * max(factor[-1, -1], std / 8.0)
        return mean + step * np.arange(-math.ceil(9.0 * std / step), math.ceil(9.0 * std / step) + 1)


class _Bins:
    """A histogram, with the methods that SciPy's distributions have."""

    def logpdf(self, values, start, width, *densities):
        places = np.floor((values - start) / width)
        places = np.where(values == start + width * len(densities), len(densities) - 1, places)
        outside = (places < 0) | (places >= len(densities)) | np.isnan(places)
        return np.append(densities, -np.inf)[np.where(outside, -1, places).astype(int)]

    def logsf(self, value, start, width, *densities):
        edges = start + width * np.arange(len(densities) + 1)
        above = edges[1:] - np.clip(np.expand_dims(value, -1), edges[:-1], edges[1:])
        return np.log(above @ np.exp(densities))

    def logcdf(self, value, start, width, *densities):
        edges = start + width * np.arange(len(densities) + 1)
        below = np.clip(np.expand_dims(value, -1), edges[:-1], edges[1:]) - edges[:-1]
        return np.log(below @ np.exp(densities))


#: Inputs whose distribution SciPy has, so that it takes the parameters of several at once.
_OF_SCIPY = {Unit.GAUSSIAN, Unit.EXPONENTIAL, Unit.LOG_NORMAL, Unit.POISSON}


def _own(unit, line):
    """Return the distribution that an input had before it was cut off, and its parameters."""
    own = line[OWN:]
    if unit is Unit.GAUSSIAN:
        return stats.norm, (own[0], own[1])
    if unit is Unit.EXPONENTIAL:
        return stats.expon, (0.0, own[0])
    if unit is Unit.LOG_NORMAL:
        return stats.lognorm, (own[1], 0.0, np.exp(own[0]))
    if unit is Unit.POISSON:
        return stats.poisson, (own[0],)
    assert unit is Unit.HISTOGRAM
    return _Bins(), tuple(own)


def _input(unit, line, values):
    if unit is Unit.CATEGORICAL:
        return np.append(line, 0.0)[values]
    if unit is Unit.POINT:
        return np.where(np.isnan(values) | (values == line[LOW]), 0.0, -np.inf)
    (own, parameters), low, high = _own(unit, line), line[LOW], line[HIGH]
    with np.errstate(divide="ignore", invalid="ignore"):
        result = own.logpmf(values, *parameters) if unit is Unit.POISSON else own.logpdf(values, *parameters)
        if np.isfinite(low).any() or np.isfinite(high).any():
            below = np.nextafter(low, -np.inf) if unit is Unit.POISSON else low
            result = result - _log_between(own, parameters, below, high)
    result = np.where((values < low) | (values > high), -np.inf, result)
    return np.where(np.isnan(values), 0.0, result)


def _input_or_peak(unit, line, values):
    """Return the log-density of each value, or the largest where it is missing; of categories that can be named."""
    if unit is Unit.CATEGORICAL:
        return np.append(line, line[:-1].max() if line.size > 1 else line[0])[values]
    return _input(unit, line, np.where(np.isnan(values), _mode(unit, line), values))


def _mode(unit, line):
    low, high, own = line[LOW], line[HIGH], line[OWN:]
    if unit is Unit.HISTOGRAM:
        edges = own[0] + own[1] * np.arange(own.size - 1)
        left, right = np.clip(edges[:-1], low, high), np.clip(edges[1:], low, high)
        return (0.5 * (left + right))[np.argmax(np.where(left < right, own[2:], -np.inf))]
    modes = {
        Unit.GAUSSIAN: lambda: own[0],
        Unit.EXPONENTIAL: lambda: 0.0,
        Unit.LOG_NORMAL: lambda: np.exp(own[0] - own[1] ** 2),
        Unit.POISSON: lambda: np.floor(own[0]),
        Unit.POINT: lambda: low,
    }
    if unit is Unit.POISSON:
        low, high = np.ceil(np.maximum(low, 0.0)), np.floor(high)
    return np.clip(modes[unit](), low, high)


def _input_below(unit, line, values):
    """Return the log-probability that an input over numbers is at most each value."""
    if unit is Unit.POINT:
        return np.where(values >= line[LOW], 0.0, -np.inf)
    (own, parameters), low, high = _own(unit, line), line[LOW], line[HIGH]
    with np.errstate(divide="ignore", invalid="ignore"):
        if np.isinf(low).all() and np.isinf(high).all():
            return own.logcdf(values, *parameters)
        below = np.nextafter(low, -np.inf) if unit is Unit.POISSON else low
        part = _log_between(own, parameters, below, np.clip(values, low, high))
        return np.where(values < low, -np.inf, part) - _log_between(own, parameters, below, high)


def _log_between(own, parameters, below, high):
    """Return the log-probability between two numbers, from the smaller tail."""
    upper = own.logsf(below, *parameters), own.logsf(high, *parameters)
    lower = own.logcdf(high, *parameters), own.logcdf(below, *parameters)
    larger, smaller = (np.where(upper[0] < lower[0], *pair) for pair in zip(upper, lower, strict=True))
    return larger + np.log1p(-np.exp(np.where(larger > -np.inf, smaller - larger, 0.0)))


def _atoms(unit, line):
    if unit is Unit.POINT:
        return line[LOW : LOW + 1]
    assert unit is Unit.POISSON
    counts = np.arange(math.ceil(line[OWN] + 15.0 * math.sqrt(line[OWN]) + 40.0))
    return counts[(line[LOW] <= counts) & (counts <= line[HIGH])].astype(float)


def _breaks(unit, line):
    """Return numbers between which the density of an input is smooth, and beyond which there is nothing left of it."""
    own = line[OWN:]
    if unit is Unit.GAUSSIAN:
        breaks = own[0] + own[1] * np.arange(-9.0, 9.1, 1.5)
    elif unit is Unit.EXPONENTIAL:
        breaks = max(line[LOW], 0.0) + own[0] * np.append(np.arange(0.0, 12.0), np.arange(12.0, 60.0, 4.0))
    elif unit is Unit.LOG_NORMAL:
        step = min(1.0, 0.7 / own[1])
        breaks = np.append(0.0, np.exp(own[0] + own[1] * np.arange(-9.0, 9.0 + 4.0 * own[1], step)))
    else:
        assert unit is Unit.HISTOGRAM
        breaks = own[0] + own[1] * np.arange(own.size - 1)
    return np.clip(np.concatenate([breaks, line[[LOW, HIGH]]]), line[LOW], line[HIGH])


def assert_same_logs(actual, expected, tolerance=1e-12):
    """Compare logarithms: infinite where the others are, else close, relative to the larger of 1 and themselves."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    finite = np.isfinite(expected)
    assert np.array_equal(actual[~finite], expected[~finite])
    error = np.abs(actual[finite] - expected[finite])
    assert (error <= tolerance * np.maximum(1.0, np.abs(expected[finite]))).all(), (actual, expected)
