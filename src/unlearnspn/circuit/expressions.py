"""Circuits as expressions: inputs, products and mixtures, pruned as they are made.

An expression is immutable and may share parts with others. `layout.lower` turns it into the flat arrays that are
executed. What is large and made in one go, as a tree is, is a fragment: in arrays from the beginning.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Parameters = npt.NDArray[np.float64]


class Unit(IntEnum):
    """The kinds of units: two inner ones, then the distributions of single variables."""

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


_NOTHING = np.zeros(0)


@dataclass(frozen=True, eq=False)
class Product:
    """Independent factors, over variables that no two of them share."""

    factors: tuple[Expression, ...]

    @cached_property
    def inner(self) -> tuple[Expression, ...]:
        """The factors that are no inputs."""
        return tuple(factor for factor in self.factors if not isinstance(factor, Input))

    @cached_property
    def inputs(self) -> Inputs:
        """The factors that are inputs; gathered once, because products are most often used again as they are."""
        return Inputs.pack([factor for factor in self.factors if isinstance(factor, Input)])


@dataclass(frozen=True, slots=True, eq=False)
class Sum:
    """A mixture; the weights are logarithms."""

    parts: tuple[Expression, ...]
    log_weights: tuple[float, ...]
    #: It occurs more than once, so that taking it apart would multiply it.
    shared: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Fragment:
    """Units in arrays, children before parents and each product right after its inputs, as `lower` puts them."""

    #: All units; those that are no inputs have the variable -1 and no parameters.
    units: Inputs
    #: For each unit that is no input, how many children it has; these are units of the fragment, by number.
    child_counts: npt.NDArray[np.int64]
    children: npt.NDArray[np.int32]
    log_weights: Parameters


@dataclass(frozen=True, slots=True, eq=False)
class Within:
    """A unit of a fragment: one that stands for itself, be it as part of a mixture or as a factor."""

    fragment: Fragment
    unit: int


Expression = Input | Product | Sum | Within

#: The distribution of no variable at all.
ONE = Product(())


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
    >>> product([ONE, x]) is x, len(product([product([x]), product([y, ONE])]).factors)
    (True, 2)
    """
    flat: list[Expression] = []
    for factor in factors:
        flat.extend(factor.factors if isinstance(factor, Product) else (factor,))
    if not flat:
        return ONE
    return flat[0] if len(flat) == 1 else Product(tuple(flat))


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
