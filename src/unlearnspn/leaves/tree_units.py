"""A Chow-Liu tree as units of a circuit: given its outcome, a variable's children are independent.

A variable may be one of several things, on which all that follows depends: every outcome that some record has, and all
others together if there are any. These are its parts. Each is a product of what the variable is then, and of the
sub-tree of each child given that, which is a sum over the child's parts; or of the child's own distribution, if nothing
depends on the child. What follows from an outcome is the same whatever led to it, and one part of the circuit.

Units stand where `lower` would put them: below the first part of a variable the sub-trees of its children, each with
the sum over its parts, then the inputs; below all other parts only sums and inputs of their own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unlearnspn.circuit.expressions import Expression, Fragment, Inputs, Parameters, Sum, Unit, Within
from unlearnspn.circuit.layout import lift, lower
from unlearnspn.compiling import inlined, kernel, late_kernel
from unlearnspn.leaves.tree import Tree, TreeData, steps_of_tree, tree_of
from unlearnspn.portable_math import log
from unlearnspn.slices import Counts, Flags

#: What units are, their variables, how many parameters each has, and all parameters.
_Lines = tuple[npt.NDArray[np.uint8], npt.NDArray[np.int32], Counts, Parameters]
#: Inner units have no variable.
_NOBODY = -1
_SUM, _PRODUCT, _CATEGORICAL, _GAUSSIAN = int(Unit.SUM), int(Unit.PRODUCT), int(Unit.CATEGORICAL), int(Unit.GAUSSIAN)


class _Plan(NamedTuple):
    """Where the units of each variable are."""

    #: Whether nothing depends on a category: then each part of its parent has its distribution among the inputs.
    is_simple: Flags
    #: How many children a variable has that are not simple, and that are.
    n_sums: Counts
    n_simple: Counts
    #: The number of a child among those of its parent that are simple, or among those that are not.
    ranks: Counts
    #: Where the inputs of the first part are, and how far from there those of the next.
    inputs: Counts
    strides: Counts
    #: Where the sum over a variable's parts is that belongs to its parent's first part.
    sums: Counts
    n_units: int


def express_tree(data: TreeData) -> Expression:
    """Return a tree as part of a circuit."""
    lines, child_counts, children, log_weights, parts, root_weights, needs_pruning = write_tree(data)
    fragment = Fragment(Inputs(*lines), child_counts, children, log_weights)
    expression = Sum(tuple([Within(fragment, part) for part in parts.tolist()]), tuple(root_weights.tolist()))
    return lift(lower(expression)) if needs_pruning else expression


@late_kernel(steps_of_tree)
def write_tree(
    data: TreeData,
) -> tuple[_Lines, Counts, npt.NDArray[np.int32], Parameters, Counts, Parameters, bool]:
    """Return the units of a tree, their children with weights, and the parts of the first variable with theirs.

    And whether something of it is to be pruned.
    """
    tree = tree_of(data)
    plan = _plan(tree)
    units, variables = np.zeros(plan.n_units, np.uint8), np.full(plan.n_units, _NOBODY, np.int32)
    n_parameters, n_children = np.zeros(plan.n_units, np.int64), np.zeros(plan.n_units, np.int64)
    for v in tree.order:
        _write_kinds(tree, plan, v, units, variables, n_parameters, n_children)
    first_parameter, first_child = _sums_before(n_parameters), _sums_before(n_children)
    parameters = np.empty(first_parameter[-1])
    children, log_weights = np.empty(first_child[-1], np.int32), np.zeros(first_child[-1])
    for v in tree.order:
        _write_inputs(tree, plan, v, first_parameter, parameters)
        _write_children(tree, plan, v, first_child, children, log_weights)
    child_counts = n_children[units <= _PRODUCT]
    parts, root_weights = _root_parts(tree, plan)
    lines, needs_pruning = (units, variables, n_parameters, parameters), _needs_pruning(tree, log_weights, root_weights)
    return lines, child_counts, children, log_weights, parts, root_weights, needs_pruning


@kernel
def _sums_before(counts: Counts) -> Counts:
    """Return for each number the sum of those before, and at the end that of all."""
    sums = np.zeros(counts.size + 1, np.int64)
    for i in range(counts.size):
        sums[i + 1] = sums[i] + counts[i]
    return sums


@kernel
def _plan(tree: Tree) -> _Plan:
    n = tree.parents.size
    parents, order, n_parts = tree.parents, tree.order, tree.tables.n_lines
    is_simple, n_sums, n_simple = ~tree.is_numeric, np.zeros(n, np.int64), np.zeros(n, np.int64)
    for v in order[1:]:
        is_simple[parents[v]] = False
    ranks, lengths = np.zeros(n, np.int64), np.zeros(n, np.int64)
    for v in order[1:]:
        numbers = n_simple if is_simple[v] else n_sums
        ranks[v] = numbers[parents[v]]
        numbers[parents[v]] += 1
    strides = n_sums + n_simple + 1
    for i in range(n - 1, -1, -1):  # children before parents
        v = order[i]
        strides[v] += n_sums[v] + n_simple[v] > 0
        lengths[v] += n_parts[v] * strides[v]
        if i > 0 and not is_simple[v]:
            lengths[parents[v]] += lengths[v]
    inputs, sums = np.zeros(n, np.int64), np.zeros(n, np.int64)
    for v in order[1:]:
        if not is_simple[v]:
            # The parent's inputs come after all that is below its first part.
            sums[v] = inputs[parents[v]] + lengths[v]
            inputs[v] = inputs[parents[v]]
            inputs[parents[v]] = sums[v] + 1
    return _Plan(is_simple, n_sums, n_simple, ranks, inputs, strides, sums, lengths[order[0]])


@inlined
def _inputs(plan: _Plan, v: int, j: int) -> int:
    """Return where the inputs of a variable's part start: what it is itself, then its simple children."""
    return int(plan.inputs[v] + j * plan.strides[v])


@inlined
def _part(plan: _Plan, v: int, j: int) -> int:
    """Return where a variable's part is: its product after the inputs, or its only input."""
    is_product = plan.n_sums[v] + plan.n_simple[v] > 0
    return _inputs(plan, v, j) + (plan.n_simple[v] + 1 if is_product else 0)


@inlined
def _sum(tree: Tree, plan: _Plan, v: int, j: int) -> int:
    """Return where the sum over a variable's parts is, given a part of its parent."""
    if j == 0:
        return int(plan.sums[v])
    parent = tree.parents[v]
    return int(_inputs(plan, parent, j) - plan.n_sums[parent] + plan.ranks[v])


@kernel
def _write_kinds(
    tree: Tree,
    plan: _Plan,
    v: int,
    units: npt.NDArray[np.uint8],
    variables: npt.NDArray[np.int32],
    n_parameters: Counts,
    n_children: Counts,
) -> None:
    """Write what the units of a variable are: inputs, products of its parts, and sums over these."""
    parent, n_outcomes = tree.parents[v], tree.alphabets.starts[v + 1] - tree.alphabets.starts[v]
    if parent >= 0:
        for j in range(tree.tables.n_lines[parent]):
            if plan.is_simple[v]:
                at = _inputs(plan, parent, j) + 1 + plan.ranks[v]
                units[at], variables[at], n_parameters[at] = _CATEGORICAL, tree.scope[v], n_outcomes + 1
            else:
                at = _sum(tree, plan, v, j)
                units[at], n_children[at] = _SUM, tree.tables.n_lines[v]
    if plan.is_simple[v]:
        return
    n_factors = 1 + plan.n_simple[v] + plan.n_sums[v]
    for j in range(tree.tables.n_lines[v]):
        at = _inputs(plan, v, j)
        units[at] = _GAUSSIAN if tree.is_numeric[v] else _CATEGORICAL
        variables[at] = tree.scope[v]
        n_parameters[at] = tree.in_bins.shape[1] if tree.is_numeric[v] else n_outcomes + 1
        if n_factors > 1:
            product = _part(plan, v, j)
            units[product], n_children[product] = _PRODUCT, n_factors


@inlined
def _table(tree: Tree, v: int) -> Parameters:
    """Return the lines of a variable's table, as `EdgeTables.table` does."""
    width = tree.alphabets.starts[v + 1] - tree.alphabets.starts[v] + 2
    return tree.tables.logs[tree.tables.starts[v] : tree.tables.starts[v + 1]].reshape(-1, width)


@kernel
def _write_inputs(tree: Tree, plan: _Plan, v: int, first_parameter: Counts, parameters: Parameters) -> None:
    """Write the parameters of a variable's inputs."""
    first, end = tree.alphabets.starts[v], tree.alphabets.starts[v + 1]
    if plan.is_simple[v]:
        table = _table(tree, v)
        for j in range(len(table)):
            start = first_parameter[_inputs(plan, tree.parents[v], j) + 1 + plan.ranks[v]]
            for k in range(end - first + 1):
                parameters[start + k] = table[j, k]
    elif tree.is_numeric[v]:
        for j in range(tree.tables.n_lines[v]):
            line = tree.in_bins[tree.first_bins[v] + j]
            start = first_parameter[_inputs(plan, v, j)]
            for k in range(line.size):
                parameters[start + k] = line[k]
    else:
        _write_certainties(tree, plan, v, tree.tables.counts[first:end], first_parameter, parameters)


@kernel
def _write_certainties(
    tree: Tree, plan: _Plan, v: int, counts: Counts, first_parameter: Counts, parameters: Parameters
) -> None:
    """Write the log-probabilities of a variable's categories given each part: certainty, or alike among the others."""
    n_parts, j, others = tree.tables.n_lines[v], 0, tree.alphabets.unseen[v]
    for k in range(counts.size):
        others += counts[k] == 0
    for k in range(counts.size):
        if counts[k]:
            start = first_parameter[_inputs(plan, v, j)]
            parameters[start : start + counts.size + 1] = -np.inf
            parameters[start + k] = 0.0
            j += 1
    if j < n_parts:
        start = first_parameter[_inputs(plan, v, j)]
        for k in range(counts.size):
            parameters[start + k] = -np.inf if counts[k] else log(1.0 / others)
        unseen = tree.alphabets.unseen[v]
        parameters[start + counts.size] = log(unseen / others) if unseen > 0.0 else -np.inf


@kernel
def _write_children(
    tree: Tree, plan: _Plan, v: int, first_child: Counts, children: npt.NDArray[np.int32], log_weights: Parameters
) -> None:
    """Write the factors of a variable's parts, and what the sums over them mix."""
    parent, n_parts = tree.parents[v], tree.tables.n_lines[v]
    if plan.is_simple[v]:
        return
    if plan.n_sums[v] + plan.n_simple[v] > 0:
        for j in range(n_parts):
            start, inputs = first_child[_part(plan, v, j)], _inputs(plan, v, j)
            for i in range(1 + plan.n_simple[v]):
                children[start + i] = inputs + i
    if parent < 0:
        return
    first, end = tree.alphabets.starts[v], tree.alphabets.starts[v + 1]
    table = _table(tree, v)
    for j in range(len(table)):
        at = _sum(tree, plan, v, j)
        children[first_child[_part(plan, parent, j)] + 1 + plan.n_simple[parent] + plan.ranks[v]] = at
        start = first_child[at]
        for part in range(n_parts):
            children[start + part] = _part(plan, v, part)
        _write_weights(tree.tables.counts[first:end], table[j], log_weights[start : start + n_parts])


@inlined
def _write_weights(counts: Counts, line: Parameters, log_weights: Parameters) -> None:
    """Write the weights of a variable's parts: those of what some record has, and of all else if there is such."""
    part = 0
    for k in range(counts.size):
        if counts[k]:
            log_weights[part] = line[k]
            part += 1
    if part < log_weights.size:
        log_weights[part] = line[counts.size + 1]


@kernel
def _root_parts(tree: Tree, plan: _Plan) -> tuple[Counts, Parameters]:
    """Return where the parts of the first variable are, and their weights."""
    root = tree.order[0]
    parts, log_weights = np.empty(tree.tables.n_lines[root], np.int64), np.empty(tree.tables.n_lines[root])
    for j in range(parts.size):
        parts[j] = _part(plan, root, j)
    counts = tree.tables.counts[tree.alphabets.starts[root] : tree.alphabets.starts[root + 1]]
    _write_weights(counts, _table(tree, root)[0], log_weights)
    return parts, log_weights


@kernel
def _needs_pruning(tree: Tree, log_weights: Parameters, root_weights: Parameters) -> bool:
    """Tell whether there is a sum of a single part, or a part without any probability."""
    return tree.tables.n_lines.min() < 2 or _has_none(log_weights) or _has_none(root_weights)


@kernel
def _has_none(log_weights: Parameters) -> bool:
    for weight in log_weights:
        if weight == -np.inf:
            return True
    return False
