"""Circuits as expressions: inputs, products, mixtures, trees and joint normals, pruned as they are made.

An expression is immutable and may share parts with others. `layout.lower` turns it into the flat arrays that are
executed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import groupby, pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Parameters = npt.NDArray[np.float64]


class Unit(IntEnum):
    """The kinds of units: sums and products, then the inputs, distributions of single variables, and last trees."""

    SUM = 0
    PRODUCT = 1
    #: Log-probability of each category, then of all those never seen together.
    CATEGORICAL = 2
    #: Mean, standard deviation.
    GAUSSIAN = 3
    #: Mean.
    EXPONENTIAL = 4
    #: Mean and standard deviation of the logarithm.
    LOG_NORMAL = 5
    #: Rate.
    POISSON = 6
    #: Where the first bin starts, how wide bins are, and the log-density in each.
    HISTOGRAM = 7
    #: Nothing: all of the probability is at one number, the bounds' common value.
    POINT = 8
    #: The log-probabilities along its edges, see `Tree`.
    TREE = 9
    #: Means, then the lines of the factor up to the diagonal, see `Normal`.
    NORMAL = 10


#: Numeric distributions start with these parameters: bounds that a value must be within, and the log of the
#: probability that the distribution had between them before it was cut off there.
LOW, HIGH, LOG_MASS, OWN = 0, 1, 2, 3


@dataclass(frozen=True, slots=True, eq=False)
class Input:
    """A distribution of one variable."""

    unit: Unit
    variable: int
    parameters: Parameters


class Inputs(NamedTuple):
    """Several inputs in arrays."""

    units: npt.NDArray[np.uint8]
    variables: npt.NDArray[np.int32]
    parameter_counts: npt.NDArray[np.int64]
    parameters: Parameters

    @property
    def number(self) -> int:
        """How many there are."""
        return self.units.size

    @classmethod
    def pack(cls, inputs: Sequence[Input]) -> Inputs:
        """Gather inputs."""
        parameters = [part.parameters for part in inputs]
        return cls(
            np.array([part.unit for part in inputs], np.uint8),
            np.array([part.variable for part in inputs], np.int32),
            np.array([len(line) for line in parameters], np.int64),
            np.concatenate([_NOTHING, *parameters]),
        )

    @classmethod
    def join(cls, several: Sequence[Inputs]) -> Inputs:
        """Put inputs after others."""
        return several[0] if len(several) == 1 else cls(*map(np.concatenate, zip(*several, strict=True)))

    def unpack(self) -> list[Input]:
        """Return each of the inputs."""
        bounds = pairwise([0, *self.parameter_counts.cumsum().tolist()])
        lines = zip(self.units.tolist(), self.variables.tolist(), bounds, strict=True)
        return [Input(Unit(unit), variable, self.parameters[start:end]) for unit, variable, (start, end) in lines]


_NOTHING = np.zeros(0)


@dataclass(frozen=True, slots=True, eq=False)
class Product:
    """Independent factors, over variables that no two of them share: inputs, and what are none."""

    inputs: Inputs
    inner: tuple[Expression, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Sum:
    """A mixture; the weights are logarithms."""

    parts: tuple[Expression, ...]
    log_weights: tuple[float, ...]
    #: It occurs more than once, so that taking it apart would multiply it.
    shared: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """Nodes in a tree, parents before children: the state of a node depends on that of its parent.

    A node has states, and for each of them the distribution that its variable then has. A node without states of its
    own has a distribution for each state of its parent; it is no parent itself. A node without a distribution is
    hidden: nothing but what its children say is known of it.
    """

    #: A line for each node: its parent, -1 for the first; its number of states; its number of inputs.
    nodes: npt.NDArray[np.int32]
    #: For each node with states the log-probability of each, a line for every state of its parent (the first node: one
    #: line); node after node.
    log_tables: Parameters
    #: Node after node, state after state.
    inputs: Inputs


@dataclass(frozen=True, slots=True, eq=False)
class Normal:
    """Several numbers that are jointly normal."""

    #: The variables, in increasing order.
    variables: npt.NDArray[np.int32]
    mean: Parameters
    #: The Cholesky factor of the covariances: a lower triangle L with covariances L·Lᵀ, and a positive diagonal.
    factor: Parameters


#: The columns of `Tree.nodes`.
PARENT, N_STATES, N_INPUTS = 0, 1, 2

Expression = Input | Product | Sum | Tree | Normal

#: The distribution of no variable at all.
ONE = Product(Inputs.pack([]), ())


def categorical(variable: int, log_probabilities: Sequence[float] | Parameters) -> Input:
    """Return a distribution over a variable's categories; the last entry is for those never seen."""
    return Input(Unit.CATEGORICAL, variable, np.asarray(log_probabilities, np.float64))


def numeric(unit: Unit, variable: int, *own: float) -> Input:
    """Return a distribution over numbers that is not cut off anywhere."""
    return Input(unit, variable, np.array(numeric_parameters(*own)))


def numeric_parameters(*own: float) -> list[float]:
    """Return the parameters of a distribution over numbers that is not cut off anywhere."""
    return [-math.inf, math.inf, 0.0, *own]


def numeric_point(value: float) -> Parameters:
    """Return the parameters of a distribution that is at one number."""
    return np.array([value, value, 0.0])


def product(factors: Sequence[Expression]) -> Expression:
    """Multiply; factors that are products are taken apart, and a single factor is itself.

    >>> x, y = numeric(Unit.GAUSSIAN, 0, 0.0, 1.0), numeric(Unit.GAUSSIAN, 1, 0.0, 1.0)
    >>> product([ONE, x]) is x, product([product([x]), product([y, ONE])]).inputs.variables.tolist()
    (True, [0, 1])
    """
    several = [factor for factor in factors if factor is not ONE]
    if len(several) <= 1:
        return several[0] if several else ONE
    inputs: list[Inputs] = []
    inner: list[Expression] = []
    for is_input, same in groupby(several, lambda factor: isinstance(factor, Input)):
        if is_input:
            inputs.append(Inputs.pack([factor for factor in same if isinstance(factor, Input)]))
            continue
        for factor in same:
            if isinstance(factor, Product):
                inputs.append(factor.inputs)
                inner.extend(factor.inner)
            else:
                inner.append(factor)
    return Product(Inputs.join(inputs) if inputs else ONE.inputs, tuple(inner))


def mixture(parts: Sequence[Expression], log_weights: Sequence[float]) -> Expression:
    """Mix; parts that are mixtures are taken apart, impossible ones left out, and a single part is itself.

    >>> x, y = numeric(Unit.GAUSSIAN, 0, 0.0, 1.0), numeric(Unit.GAUSSIAN, 0, 5.0, 1.0)
    >>> mixture([x, y], [0.0, -math.inf]) is x
    True
    """
    flat: list[Expression] = []
    weights: list[float] = []
    for part, weight in zip(parts, log_weights, strict=True):
        if weight == -math.inf:
            continue
        if isinstance(part, Sum) and not part.shared:
            flat.extend(part.parts)
            weights.extend(weight + inner for inner in part.log_weights)
        else:
            flat.append(part)
            weights.append(weight)
    if flat and all(part is ONE for part in flat):
        return ONE
    return flat[0] if len(flat) == 1 else Sum(tuple(flat), tuple(weights))
