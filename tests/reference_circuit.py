"""For the reference: the distributions of leaves, Chow-Liu trees, and the pruned circuit that a network becomes."""

import math
from collections import Counter
from fractions import Fraction
from operator import mul

from reference import half_g
from reference_coding import log, mean_of, std_of, token
from reference_normals import Normals

#: The share of one category's smoothing that all categories never seen get together.
UNSEEN = 0.01
INPUTS = ("gaussian", "categorical")
#: Where numbers are jointly normal: the share of records that lie farther, and how many times; of those with a number
#: that strays; of those unlike all. How many times as wide as its column's scale a number is then.
FAR, FARTHER, STRAY, UNLIKE, WIDE = 1.0 / 64.0, 3.0, 1.0 / 32.0, 1.0 / 1024.0, 8.0


class Units:
    """Units of circuits by number; what is equal to the last bit has one number, in all circuits made here."""

    def __init__(self):
        self.units, self._numbers = [], {}

    def unit(self, *parts):
        """Return the number of a unit: its kind, then its variable and parameters, or its children and weights."""
        number = self._numbers.setdefault(repr(parts), len(self.units))
        if number == len(self.units):
            self.units.append(parts)
        return number

    def product(self, factors):
        """Multiply: a product of products is one, its inputs come first, and a single factor is itself."""
        flat = []
        for factor in factors:
            flat += self.units[factor][1] if self.units[factor][0] == "product" else [factor]
        flat.sort(key=lambda factor: self.units[factor][0] not in INPUTS)
        return flat[0] if len(flat) == 1 else self.unit("product", flat)

    def mixture(self, parts, log_weights):
        """Mix: a mixture of mixtures is one, and a single part is itself."""
        flat, weights = [], []
        for part, weight in zip(parts, log_weights, strict=True):
            kind, *rest = self.units[part]
            if kind == "sum":
                flat += rest[0]
                weights += [weight + inner for inner in rest[1]]
            else:
                flat.append(part)
                weights.append(weight)
        return flat[0] if len(flat) == 1 else self.unit("sum", flat, weights)

    def log_density(self, root, record, columns):
        """Return the log-density of a record in a circuit."""
        found = {}
        for number in self._below(root):
            kind, *rest = self.units[number]
            if kind == "sum":
                found[number] = _log_sum([found[child] + weight for child, weight in zip(*rest, strict=True)])
            elif kind == "product":
                found[number] = math.fsum(found[child] for child in rest[0])
            elif kind == "tree":
                found[number] = _tree_density(rest[1], found, 0, 0)
            elif kind == "normal":
                found[number] = _normal_density(*rest, record)
            else:
                found[number] = _input_density(kind, rest, record, columns)
        return found[root]

    def _below(self, root):
        """Return the units of a circuit; children have smaller numbers than parents."""
        seen, pending = {root}, [root]
        while pending:
            kind, *rest = self.units[pending.pop()]
            if kind not in (*INPUTS, "normal"):
                pending += [child for child in rest[0] if child not in seen]
                seen.update(rest[0])
        return sorted(seen)

    def tree(self, nodes):
        """Return the number of a tree, see `_Tree.express`."""
        return self.unit("tree", [unit for _, _, inputs in nodes for unit in inputs], nodes)


def _log_sum(terms):
    largest = max(terms)
    return largest + math.log(math.fsum(math.exp(t - largest) for t in terms)) if largest > -math.inf else largest


def _tree_density(nodes, found, v, state):
    """Return the log-density of a node and all below it, given the state of its parent."""
    _, lines, inputs = nodes[v]
    if lines is None:
        return found[inputs[state]]
    children = [child for child, (parent, *_) in enumerate(nodes) if parent == v]
    return _log_sum(
        [
            weight + found[unit] + math.fsum(_tree_density(nodes, found, child, own) for child in children)
            for own, (weight, unit) in enumerate(zip(lines[state], inputs, strict=True))
        ]
    )


def _normal_density(variables, mean, factor, record):
    """Return the log-density of what a record has of some numbers, by fractions: eliminate one after another."""
    known = [place for place, v in enumerate(variables) if record[v] is not None]
    lines = [[Fraction(entry) for entry in line] for line in factor]
    matrix = [[sum(map(mul, lines[i], lines[j])) for j in known] for i in known]
    shifts, total = [Fraction(record[variables[i]]) - Fraction(mean[i]) for i in known], Fraction(0)
    result = 0.0
    for k in range(len(known)):
        variance = matrix[k][k]
        total += shifts[k] ** 2 / variance
        result -= (math.log(variance.numerator) - math.log(variance.denominator) + math.log(2.0 * math.pi)) / 2.0
        for i in range(k + 1, len(known)):
            share = matrix[i][k] / variance
            shifts[i] -= share * shifts[k]
            for j in range(k + 1, len(known)):
                matrix[i][j] -= share * matrix[k][j]
    return result - (float(total) if total < 2**1000 else math.inf) / 2.0


def _input_density(kind, rest, record, columns):
    variable, *parameters = rest
    value = record[variable]
    if value is None:
        return 0.0
    if kind == "gaussian":
        mean, std = parameters
        score = (value - mean) / std if math.isfinite(value - mean) else value / std - mean / std
        return -math.log(std) - math.log(2.0 * math.pi) / 2.0 - score * score / 2.0
    names = [token(category) for category in columns[variable].outcomes]
    return parameters[0][names.index(token(value)) if token(value) in names else -1]


def derive_circuit(reference, units):
    """Return the number of the circuit that a reference's network becomes."""
    return _derive(reference, reference.root, units)


def _derive(reference, node, units):
    if node.operation == "create leaf":
        column = reference.columns[node.scope[0]]
        is_usual = column.is_numeric and column.usual is not None
        if len(node.scope) > 1 or (is_usual and reference.settings.factorization != "naive"):
            return joint_leaf(reference, node, units)
        return leaf(reference, node.scope[0], node.rows, units)
    parts = [_derive(reference, child, units) for child in node.children]
    if node.operation == "split data":
        return units.mixture(parts, [log(len(child.rows) / len(node.rows)) for child in node.children])
    return units.product(parts)


# -- leaves ------------------------------------------------------------------------------------------------------------


def leaf(reference, v, rows, units):
    """Return the distribution of one variable."""
    column, settings = reference.columns[v], reference.settings
    values = [column.values[row] for row in rows if column.values[row] is not None]
    if column.is_numeric:
        return units.unit("gaussian", v, *gaussian(column, values, settings))
    counts = Counter(map(token, values))
    shares = smoothed([counts[token(outcome)] for outcome in column.outcomes], settings.alpha)
    return units.unit("categorical", v, [log(share) for share in shares])


def gaussian(column, values, settings):
    """Return mean and deviation."""
    if not values:
        return column.centre, column.scale
    return mean_of(values), max(std_of(values), settings.min_std * column.scale, 5e-324)


def smoothed(counts, alpha, beta=0.0, alone=None):
    """Return the probability of each outcome and of all never seen, as if `beta` more records knew these alone."""
    alone = alone or [0.0] * (len(counts) + 1)
    total = sum(counts) + alpha * (len(counts) + UNSEEN) + beta
    shares = [(count + alpha + beta * p) / total for count, p in zip(counts, alone[:-1], strict=True)]
    return [*shares, (alpha * UNSEEN + beta * alone[-1]) / total]


def joint_leaf(reference, node, units):
    """Return the distribution of several variables: a tree, and numbers that are jointly normal."""
    columns = {v: reference.columns[v] for v in node.scope}
    labels = {v: _labels(column) for v, column in columns.items()}

    def told(u, v):
        return half_g([(labels[u][row], labels[v][row]) for row in node.rows])

    normals = Normals(columns, node.rows, reference.settings, told)
    given = None
    if normals.stands_back:
        normals.find([])
        (only,) = normals.others
        if len(normals.variables) == len(columns) - 1:
            outcomes = [token(outcome) for outcome in columns[only].outcomes]
            given = normals.given([labels[only][row] for row in node.rows], outcomes)
    if given is None:
        normals.find(normals.others)
    rest = [v for v in node.scope if v not in normals.variables]
    blocks = list(normals.blocks)
    tree = _Tree(reference, rest, node.rows, units) if rest else None
    if given is not None:
        factors = [_given_category(columns, tree, blocks.pop(0), *given, units)]
    else:
        factors = [tree.express()] if rest else []
    return units.product(factors + [_joint_normal(columns, *normal, units) for normal in blocks])


def _joint_normal(columns, variables, means, stds, shape, units, own_means=None):
    """Return a block: numbers that are jointly normal, but for records in which one strays, or all do.

    Where they are, they have the means `own_means`, if these are given.
    """
    groups, factors = shape
    centres = dict(zip(variables, own_means or means, strict=True))
    apart = {}
    for v, mean, std in zip(variables, means, stds, strict=True):
        wide = WIDE * columns[v].scale
        apart[v] = units.unit("gaussian", v, mean, math.sqrt(std * std + wide * wide))

    def together(chosen, times=1.0):
        own = sorted(chosen)
        factor = [[times * entry for entry in line] for line in factors[tuple(own)]] if own else []
        if len(own) == 1:
            return [units.unit("gaussian", own[0], centres[own[0]], factor[0][0])]
        return [units.unit("normal", own, [centres[v] for v in own], factor)] if own else []

    parts, log_weights = (
        [*together(variables), *together(variables, FARTHER)],
        [log(1.0 - FAR - STRAY - UNLIKE), log(FAR)],
    )
    for group in groups:
        strays = [units.product([apart[v], *together([u for u in group if u != v])]) for v in group]
        inside = units.mixture(strays, [log(1.0 / len(group))] * len(group))
        parts.append(units.product([inside, *together([v for v in variables if v not in group])]))
        log_weights.append(log(STRAY * (len(group) / len(variables))))
    return units.mixture([*parts, units.product(list(apart.values()))], [*log_weights, log(UNLIKE)])


def _given_category(columns, tree, normal, means_given, shape, units):
    """Return a category and a block whose means depend on it; given what no record has they are those of all."""
    variables, means, stds, _ = normal
    categories, log_weights = tree.states_of_only()
    parts = []
    for category, own_means in zip(categories, [*means_given, means], strict=False):
        block = _joint_normal(columns, variables, means, stds, shape, units, own_means)
        parts.append(units.product([category, block]))
    return units.mixture(parts, log_weights)


def _labels(column):
    """Return which outcome each row has: a category, or a bin."""
    return column.codes if column.is_numeric else [None if value is None else token(value) for value in column.values]


# -- Chow-Liu trees ----------------------------------------------------------------------------------------------------


#: More contexts of one length are not told apart, and more siblings not tried.
MOST_CONTEXTS, MOST_SIBLINGS = 128, 8


class _Tree:
    """The joint distribution of the variables of a leaf, each of which depends on its parent, or on more ancestors."""

    def __init__(self, reference, scope, rows, units):
        self.settings, self.units, self.rows, self.scope = reference.settings, units, rows, scope
        self.columns = {v: reference.columns[v] for v in scope}
        self.labels = {v: _labels(column) for v, column in self.columns.items()}
        self.outcomes = {
            v: column.outcomes if column.is_numeric else [token(outcome) for outcome in column.outcomes]
            for v, column in self.columns.items()
        }
        self.counts = {v: Counter(labels[row] for row in rows) for v, labels in self.labels.items()}
        self.seen = {v: [o for o in self.outcomes[v] if self.counts[v][o]] for v in scope}
        self.gains = {(u, v): self._gain(u, v) for u in self.scope for v in self.scope if u != v}
        parents, self.joined = self._spanning_tree()
        #: The ancestors that each variable depends on, the nearest first.
        self.ancestors = {self.scope[0]: []}
        for v in self.joined[1:]:
            self.ancestors[v] = self._depend(v, [parents[v]])
        self.children = {u: [v for v in self.joined if self.ancestors[v][:1] == [u]] for u in self.scope}
        self.kept = {}
        for v in reversed(self.joined):
            lengths = [max(len(self.ancestors[c]), self.kept[c] - 1) for c in self.children[v]]
            self.kept[v] = max([1, *lengths])

    def _spanning_tree(self):
        """Return the parent of each variable, and all in the order in which they join (Prim, from the first on).

        Of equal gains the first variable joins, at the parent that was there first.
        """
        inside, parents = [self.scope[0]], {}
        while len(inside) < len(self.scope):
            outside = [v for v in self.scope if v not in inside]
            best = max(self.gains[u, v] for u in inside for v in outside)
            child = next(v for v in outside if any(self.gains[u, v] == best for u in inside))
            parents[child] = next(u for u in inside if self.gains[u, child] == best)
            inside.append(child)
        return parents, inside

    # -- contexts --

    def _values(self, chain, row):
        return tuple(self.labels[u][row] for u in chain)

    def _contexts(self, chain):
        """Return the values that some record has of all variables of a chain, in the order of their outcomes."""
        found = {values for row in self.rows if None not in (values := self._values(chain, row))}
        return sorted(found, key=lambda values: [self.seen[u].index(o) for u, o in zip(chain, values, strict=True)])

    def _is_told_apart(self, chain):
        """Tell whether there are contexts of a chain of categories, and not too many, of every part of it as well."""
        if len(chain) == 1:
            return not self.columns[chain[0]].is_numeric
        parts = self._is_told_apart(chain[:-1]) and self._is_told_apart(chain[1:])
        return parts and 0 < len(self._contexts(chain)) <= MOST_CONTEXTS

    def _depend(self, v, chain):
        """Return the ancestors that a variable depends on, given the first: one more as long as that pays."""
        if self.columns[v].is_numeric:
            return chain
        while len(chain) < self.settings.order:
            above = self.ancestors[chain[-1]][:1]
            siblings = [u for u in self.ancestors if self.ancestors[u][:1] == chain[:1]]
            siblings.sort(key=lambda u: -self.gains[u, v])
            longer = [[*chain, u] for u in above] + [[u, *chain] for u in siblings[:MOST_SIBLINGS]]
            scores = [self._score(v, chain, other) for other in longer]
            if not scores or max(scores) <= 0:
                break
            chain = longer[scores.index(max(scores))]
        return chain

    def _score(self, v, chain, longer):
        """Return by how much the log-likelihood grows, after the penalty, if a variable depends on one more."""
        if not self._is_told_apart(longer):
            return 0
        (more,) = set(longer) - set(chain)
        groups = {}
        for row in self.rows:
            if None not in self._values([v, *longer], row):
                pair = self.labels[more][row], self.labels[v][row]
                groups.setdefault(self._values(chain, row), []).append(pair)
        found = [half_g(pairs) for pairs in groups.values()]
        penalty = int(min(self.settings.penalty * 2**24 + 0.5, 2.0**50))
        return sum(growth - penalty * freedom for growth, freedom in found)

    def _chain(self, v, length):
        """Return a variable and its nearest ancestors."""
        chain = [v]
        while len(chain) < length:
            chain.append(self.ancestors[chain[-1]][0])
        return chain

    def _states(self, v):
        """Return the states of a variable: its contexts, shorter ones first, and None for what no record has."""
        lengths = range(1, self.kept[v] + 1)
        return [context for length in lengths for context in self._contexts(self._chain(v, length))] + [None]

    def _next_state(self, v, outcome, given):
        """Return the state of a variable with an outcome, given the state of its parent: the longest context."""
        state = (outcome, *(given or ()))[: self.kept[v]]
        while len(state) > 1 and state not in self._contexts(self._chain(v, len(state))):
            state = state[:-1]
        return state

    # -- gains and probabilities --

    def _gain(self, u, v):
        return half_g([(self.labels[u][row], self.labels[v][row]) for row in self.rows])[0]

    def express(self):
        """Return the tree: a node for each variable, in the order in which they joined.

        A node is the number of its parent; for each state of that how likely its own states are, None if it has none;
        and its distribution in each of its states, or in each of its parent's.
        """
        if len(self.scope) == 1:
            return self._alone(self.scope[0])
        numbers, nodes = {v: number for number, v in enumerate(self.joined)}, []
        for v in self.joined:
            parent = self.ancestors[v][0] if self.ancestors[v] else None
            above = [None] if parent is None else self._states(parent)
            given = [self._given(v, (state or ())[: len(self.ancestors[v])]) for state in above]
            if parent is not None and self._is_simple(v):
                inputs = [self.units.unit("categorical", v, [log(p) for p in line]) for line in given]
                nodes.append((numbers[parent], None, inputs))
            else:
                lines = [self._line(v, state, line) for state, line in zip(above, given, strict=True)]
                inputs = [self._own(v, state and state[0]) for state in self._states(v)]
                nodes.append((numbers.get(parent, -1), lines, inputs))
        return self.units.tree(nodes)

    def _alone(self, v):
        """Return the distribution of the only variable."""
        probabilities = self._given(v, ())
        if self._is_simple(v):
            return self.units.unit("categorical", v, [log(p) for p in probabilities])
        parts, log_weights = self.states_of_only()
        return parts[0] if len(parts) == 1 else self.units.mixture(parts, log_weights)

    def states_of_only(self):
        """Return what the only variable is like in each of its states, and how likely these are."""
        (v,) = self.scope
        inputs = [self._own(v, state and state[0]) for state in self._states(v)]
        return inputs, self._line(v, None, self._given(v, ()))

    def _given(self, v, context):
        """Return the probabilities of a variable given values of its nearest ancestors, or by itself."""
        chain = self.ancestors[v][: len(context)]
        joint = Counter(self.labels[v][row] for row in self.rows if self._values(chain, row) == context)
        counts, settings = [joint[outcome] for outcome in self.outcomes[v]], self.settings
        if not context:
            return smoothed(counts, settings.alpha)
        alpha = settings.alpha if len(context) == 1 else 0.0
        return smoothed(counts, alpha, settings.beta, self._given(v, context[:-1]))

    def _line(self, v, given, probabilities):
        """Return how likely states are, given that of the parent; the last is for all outcomes that no record has."""
        *known, unseen = probabilities
        states, rest = dict.fromkeys(self._states(v), -math.inf), 0.0
        for outcome, probability in zip(self.outcomes[v], known, strict=True):
            if self.counts[v][outcome]:
                states[self._next_state(v, outcome, given)] = log(probability)
            else:
                rest += probability
        states[None] = log(rest + unseen)
        return list(states.values())

    def _is_simple(self, v):
        """Tell whether a variable needs no states: a category on which nothing depends."""
        return not self.columns[v].is_numeric and not self.children[v]

    def _own(self, v, outcome):
        """Return what a variable is like given its own outcome."""
        column = self.columns[v]
        if column.is_numeric:
            if outcome is None:
                wide = 4.0 * column.scale
                return self.units.unit("gaussian", v, column.centre, wide if math.isfinite(wide) else column.scale)
            values = [column.values[row] for row in self.rows if self.labels[v][row] == outcome]
            mean, std = gaussian(column, values, self.settings)
            if column.is_on_grid and set(values) == {column.usual}:
                std = min(std, 0.25 * column.unit)
            return self.units.unit("gaussian", v, mean, std)
        if outcome is not None:
            certain = [0.0 if other == outcome else -math.inf for other in self.outcomes[v]]
            return self.units.unit("categorical", v, [*certain, -math.inf])
        unknown = [not self.counts[v][o] for o in self.outcomes[v]]
        others = UNSEEN
        for is_unknown in unknown:
            others += is_unknown
        each = [log(1.0 / others) if is_unknown else -math.inf for is_unknown in unknown]
        return self.units.unit("categorical", v, [*each, log(UNSEEN / others)])
