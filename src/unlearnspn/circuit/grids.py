"""Columns whose values lie on a grid, as whole numbers and dates without a time do, or that end somewhere.

The inputs of a circuit are distributions of all numbers. A column on a grid has, by one rule for all questions, the
value of the grid that is nearest to the number drawn: so the probability of 2 is that of the numbers from 1.5 to 2.5.
The lowest value takes what is below, too, and the highest what is above. The lowest of numbers and durations is 0 where
no record is negative; times of day go from midnight to midnight.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_LARGE = 2.0**31 - 1
#: Up to so many steps doubles are finer than a thousandth of one.
_FINE = 2.0**42


@dataclass(frozen=True)
class Grid:
    """Multiples of a step, from the lowest to the highest; all numbers between these, if the step is 0.

    >>> counts = Grid(1.0, 0.0, math.inf)
    >>> counts.cell(2.0, 3.0), counts.cell(-math.inf, 0.0), counts.cell(2.2, 2.8)
    ((1.5, 3.4999999999999996), (-inf, 0.49999999999999994), (inf, -inf))
    >>> counts.nearest(np.array([2.6, -1.2]))
    array([3., 0.])
    """

    step: float
    lowest: float
    highest: float

    @property
    def described(self) -> str:
        """The numbers on the grid in words.

        >>> Grid(1.0, 0.0, math.inf).described, Grid(1.0, 0.0, 255.0).described
        ('whole numbers from 0 on', 'whole numbers from 0 to 255')
        """
        what = "whole numbers" if self.step == 1.0 else f"multiples of {self.step:g}" if self.step else "numbers"
        # The ends of large types say nothing to people.
        ends = [end if abs(end) < _LARGE else math.inf for end in (self.lowest, self.highest)]
        if math.isfinite(ends[0]):
            return f"{what} from {ends[0]:g} {f'to {ends[1]:g}' if math.isfinite(ends[1]) else 'on'}"
        return f"{what} to {ends[1]:g}" if math.isfinite(ends[1]) else what

    def within(self, low: float, high: float) -> tuple[float, float]:
        """Return the first and the last value between closed bounds; the first is above the last if there is none."""
        if self.step > 0.0:
            low, high = self.step * float(np.ceil(low / self.step)), self.step * float(np.floor(high / self.step))
        return max(low, self.lowest), min(high, self.highest)

    def cell(self, low: float, high: float) -> tuple[float, float]:
        """Return closed bounds of the numbers that are drawn for the values between closed bounds."""
        first, last = self.within(low, high)
        if first > last:
            return math.inf, -math.inf
        return (
            -math.inf if first == self.lowest else first - 0.5 * self.step,
            math.inf if last == self.highest else float(self.ends(last)),
        )

    def holds_inside(self, value: float) -> bool:
        """Tell whether a value has a density and no probability: it is between the ends, and nothing is nearest to it.

        Values have no step, or the value is so large that doubles lie no closer.
        """
        return self.step <= math.ulp(value) and self.lowest < value < self.highest

    def ends(self, values: Any) -> Any:
        """Return the largest numbers that are drawn for some values; of large ones, the next smaller is too small."""
        if self.step == 0.0:
            return values
        ends = values + 0.5 * self.step
        return np.where(np.abs(values) < _FINE * self.step, np.nextafter(ends, -math.inf), ends)

    def nearest(self, numbers: Floats, low: float = -math.inf, high: float = math.inf) -> Floats:
        """Return the values that are drawn for some numbers, of those within the bounds."""
        first, last = self.within(low, high)
        rounded = self.step * np.rint(numbers / self.step) if self.step > 0.0 else numbers
        return np.asarray(np.clip(rounded, first, last))

    def edges(self, numbers: Floats) -> Floats:
        """Return the largest number of each cell that one of some numbers is in, each once; none of the last cell."""
        values = np.unique(self.nearest(numbers))
        return np.asarray(self.ends(values[values < self.highest]))
