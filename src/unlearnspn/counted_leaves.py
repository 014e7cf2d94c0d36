"""The leaves of nodes that follow from counts alone, as inputs of a circuit: all of them in one go."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from unlearnspn.blocks import MARGINALS, leaves_at, scope_at
from unlearnspn.circuit.expressions import Inputs, Unit
from unlearnspn.compiling import kernel, late_kernel, per_element
from unlearnspn.exact_sum import Words
from unlearnspn.leaves.level_counts import Smoothing, smooth
from unlearnspn.slices import Counts

_CATEGORICAL = int(Unit.CATEGORICAL)


def counted_leaves(words: Words, nodes: Words, sizes: Counts, smoothing: Smoothing) -> list[tuple[Inputs, int]]:
    """Return the leaves of each node that follow from its marginals, in order, and how many there are beside them."""
    variables, counts, parameters, starts, parameter_starts, others = _smooth_leaves(words, nodes, sizes, smoothing)
    units = np.full(variables.size, _CATEGORICAL, np.uint8)
    bounds, parameter_bounds = pairwise(starts.tolist()), pairwise(parameter_starts.tolist())
    # Parameters are copied: those of a node that goes must not stay behind for the sake of the others.
    return [
        (Inputs(units[a:b], variables[a:b], counts[a:b], parameters[c:d].copy()), n_others)
        for (a, b), (c, d), n_others in zip(bounds, parameter_bounds, others.tolist(), strict=True)
    ]


@kernel
def _is_counted(smoothing: Smoothing, variable: int) -> bool:
    return variable >= 0 and smoothing.applies[variable]


@late_kernel(per_element(100, 1))
def _smooth_leaves(
    words: Words, nodes: Words, sizes: Counts, smoothing: Smoothing
) -> tuple[npt.NDArray[np.int32], Counts, npt.NDArray[np.float64], Counts, Counts, Counts]:
    """Return variables, numbers of parameters and parameters of the inputs of one node after another.

    And where those of each node start among the inputs and among their parameters, with their numbers at the end; and
    how many leaves of each node need more than counts.
    """
    starts, parameter_starts = np.zeros(nodes.size + 1, np.int64), np.zeros(nodes.size + 1, np.int64)
    n_others = np.zeros(nodes.size, np.int64)
    for i in range(nodes.size):
        starts[i + 1], parameter_starts[i + 1] = starts[i], parameter_starts[i]
        for v in leaves_at(words, nodes[i])[::2]:
            if _is_counted(smoothing, v):
                starts[i + 1] += 1
                parameter_starts[i + 1] += smoothing.starts[v + 1] - smoothing.starts[v] + 1
            else:
                n_others[i] += 1
    variables, counts = np.empty(starts[-1], np.int32), np.empty(starts[-1], np.int64)
    parameters, offsets, n_inputs, n_parameters = np.empty(parameter_starts[-1]), np.empty(sizes.size, np.int64), 0, 0
    for node in nodes:
        end = node + words[node + MARGINALS]
        for v in scope_at(words, node):
            offsets[v] = end
            end += sizes[v]
        for v in leaves_at(words, node)[::2]:
            if _is_counted(smoothing, v):
                levels = smoothing.levels[smoothing.starts[v] : smoothing.starts[v + 1]]
                own = parameters[n_parameters : n_parameters + levels.size + 1]
                # The first count is of what is missing.
                by_level = words[offsets[v] + 1 : offsets[v] + sizes[v]]
                smooth(by_level, levels, smoothing.alphas[v], smoothing.unseen[v], own)
                variables[n_inputs], counts[n_inputs] = v, own.size
                n_inputs += 1
                n_parameters += own.size
    return variables, counts, parameters, starts, parameter_starts, n_others
