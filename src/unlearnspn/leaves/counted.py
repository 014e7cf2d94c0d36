"""The leaves of nodes that follow from counts alone, as inputs of a circuit."""

from __future__ import annotations

from collections.abc import Sequence

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.unlearnspn.const_types import const_float64, const_int64, const_uint8
from cython.cimports.unlearnspn.leaves.smoothing import smooth

from unlearnspn.circuit.expressions import Inputs, Unit
from unlearnspn.leaves.level_counts import Smoothing
from unlearnspn.slices import Counts, Scope

_CATEGORICAL = int(Unit.CATEGORICAL)
_NOTHING = Inputs.pack([])


def counted_inputs(
    counts: Sequence[Counts], scopes: Sequence[Scope], leaves: Sequence[Scope], sizes: Counts, smoothing: Smoothing
) -> list[Inputs]:
    """Return the leaves of each node that follow from its counts, in order.

    A node has a count for each code of each variable of its scope, one variable after another; the first code is that
    of what is missing. Its leaves are some of these variables. Those to which the smoothing does not apply are left
    out. `sizes` says how many codes each variable of the table has.
    """
    writer: _Writer = _Writer(sizes, smoothing)
    # All are of the same kind.
    units = np.full(max(map(len, leaves), default=0), _CATEGORICAL, np.uint8)
    nodes = zip(counts, scopes, leaves, strict=True)
    return [writer.inputs(own, scope, those, units) if those.size else _NOTHING for own, scope, those in nodes]


@cython.cclass
class _Writer:
    """Writes the inputs of one node after another."""

    sizes: const_int64[::1]
    # What becomes of counts, see `Smoothing`.
    applies: const_uint8[::1]
    outcomes: const_int64[::1]
    levels: const_int64[::1]
    alphas: const_float64[::1]
    unseen: const_float64[::1]
    # Where the counts of each variable of a node start.
    starts: cython.longlong[::1]

    def __init__(self, sizes: Counts, smoothing: Smoothing) -> None:
        self.sizes, self.applies = sizes, smoothing.applies.view(np.uint8)
        self.outcomes, self.levels = smoothing.starts, smoothing.levels
        self.alphas, self.unseen = smoothing.alphas, smoothing.unseen
        self.starts = np.empty(sizes.size, np.int64)

    def inputs(
        self,
        counts: const_int64[::1],
        scope: const_int64[::1],
        leaves: const_int64[::1],
        units: npt.NDArray[np.uint8],
    ) -> Inputs:
        """Return the inputs of a node."""
        n_inputs: cython.Py_ssize_t = 0
        n_parameters: cython.Py_ssize_t = 0
        i: cython.Py_ssize_t
        for i in range(leaves.shape[0]):
            if self.applies[leaves[i]]:
                n_inputs += 1
                n_parameters += self.n_outcomes(leaves[i]) + 1
        variables, parameter_counts = np.empty(n_inputs, np.int32), np.empty(n_inputs, np.int64)
        parameters = np.empty(n_parameters)
        if n_inputs:
            self.write(counts, scope, leaves, variables, parameter_counts, parameters)
        return Inputs(units[:n_inputs], variables, parameter_counts, parameters)

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def n_outcomes(self, v: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Return how many outcomes a variable has."""
        return self.outcomes[v + 1] - self.outcomes[v]

    @cython.cfunc
    def write(
        self,
        counts: const_int64[::1],
        scope: const_int64[::1],
        leaves: const_int64[::1],
        variables: cython.int[::1],
        parameter_counts: cython.longlong[::1],
        parameters: cython.double[::1],
    ) -> cython.void:
        """Write the variables of inputs, how many parameters each has, and all parameters."""
        end: cython.Py_ssize_t = 0
        number: cython.Py_ssize_t = 0
        i: cython.Py_ssize_t
        v: cython.Py_ssize_t
        for i in range(scope.shape[0]):
            self.starts[scope[i]] = end
            end += self.sizes[scope[i]]
        end = 0
        for i in range(leaves.shape[0]):
            v = leaves[i]
            if not self.applies[v]:
                continue
            smooth(
                counts,
                self.starts[v] + 1,
                self.sizes[v] - 1,
                self.levels,
                self.outcomes[v],
                self.n_outcomes(v),
                self.alphas[v],
                self.unseen[v],
                parameters,
                end,
            )
            variables[number], parameter_counts[number] = v, self.n_outcomes(v) + 1
            end += self.n_outcomes(v) + 1
            number += 1
