"""Samples stay between the smallest and the largest number that a record has: inputs are cut off there.

So rows are drawn given that their numbers are within: a wide input weighs as much as is left of it. One that is narrow
beside the span weighs as much as before, for then what lies outside is no more than a blurred end. A joint normal
cannot be cut off like that: its numbers are drawn again together for some times, and it weighs as much as before.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unlearnspn.circuit.conditioning import stacks
from unlearnspn.circuit.distributions import NUMERIC, cut_off, log_mass
from unlearnspn.circuit.domains import Domains
from unlearnspn.circuit.expressions import Unit
from unlearnspn.circuit.inputs import Floats
from unlearnspn.circuit.layout import Layout

Span = tuple[float, float]

#: An input less of which is within stays as it is: so it is where evidence leads far away from all records.
_LEAST_LOG_SHARE = -math.log(64.0)
#: An input is narrow if the middle two thirds of it are this share of the span at most.
_NARROW, _MIDDLE = 1.0 / 8.0, (1.0 / 6.0, 5.0 / 6.0)


class Bounded(NamedTuple):
    """A circuit the inputs of which are cut off at the spans of their columns."""

    layout: Layout
    #: The logs of what inputs weigh now.
    log_shares: Floats
    #: The bounds of each column of numbers, [slot, 1]; infinite without a span.
    low: Floats
    high: Floats

    def are_outside(self, numbers: Floats, slots: npt.NDArray[np.integer]) -> npt.NDArray[np.bool_]:
        """Tell which rows have a number outside, of some columns."""
        own = numbers[slots]
        return np.asarray(((own < self.low[slots]) | (own > self.high[slots])).any(axis=0))

    def set_constants(self, numbers: Floats) -> None:
        """Write the numbers of columns in which all records have the same."""
        constant = np.flatnonzero(self.low == self.high)
        numbers[constant] = self.low[constant]


def cut_to_spans(layout: Layout, domains: Domains, spans: Mapping[int, Span]) -> Bounded:
    """Cut inputs off at the span of their variable, if it has one."""
    parameters, log_shares = layout.parameters.copy(), np.zeros(len(layout))
    low, high = (np.full((int(domains.is_numeric.sum()), 1), end) for end in (-math.inf, math.inf))
    for variable, (first, last) in spans.items():
        low[domains.slots[variable]], high[domains.slots[variable]] = first, last
        members = layout.inputs_of(variable)
        for unit, positions, lines in stacks(layout, members):
            shares = log_mass(NUMERIC[unit], lines, np.full(len(lines), first), np.full(len(lines), last))
            fits = shares > _LEAST_LOG_SHARE
            own, n_fitting = members[positions[fits]], int(fits.sum())
            cut = cut_off(NUMERIC[unit], lines[fits], np.full(n_fitting, first), np.full(n_fitting, last))
            parameters[layout.parameter_starts[own][:, None] + np.arange(lines.shape[1])] = cut
            log_shares[own] = np.where(_are_narrow(unit, lines[fits], last - first), 0.0, shares[fits])
    return Bounded(layout.with_parameters(layout.parameter_starts, parameters), log_shares, low, high)


def _are_narrow(unit: Unit, lines: Floats, width: float) -> npt.NDArray[np.bool_]:
    """Tell which inputs are narrow beside a span."""
    low, high = (NUMERIC[unit].quantile(lines, np.full(len(lines), share)) for share in _MIDDLE)
    return np.asarray(0.5 * high - 0.5 * low <= 0.5 * _NARROW * width)
