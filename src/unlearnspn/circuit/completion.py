"""Filling in what is missing: an exact sample, the maximum of max-product, or means.

A pass upwards evaluates every unit for what is known of a row; a descent arrives at the inputs of the columns that are
missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from unlearnspn.circuit.batches import Batch
from unlearnspn.circuit.conditioning import stacks
from unlearnspn.circuit.density import n_value_lines, unit_values
from unlearnspn.circuit.descent import Descent
from unlearnspn.circuit.distributions import NUMERIC
from unlearnspn.circuit.domains import Domains
from unlearnspn.circuit.expressions import Normal, Unit, numeric_parameters
from unlearnspn.circuit.grid_moments import grid_moments
from unlearnspn.circuit.inputs import Floats, Places, add_input
from unlearnspn.circuit.layout import Layout
from unlearnspn.circuit.normal_completion import conditionals, draw_missing, log_peaks
from unlearnspn.circuit.normal_densities import normal_values
from unlearnspn.circuit.spans import Bounded, Span, cut_to_spans
from unlearnspn.errors import ImpossibleEvidenceError

_LEAST_SHARE = 2.0**-54
#: How often numbers that are jointly normal are drawn again if some are outside of the span of their column.
_MOST_DRAWS = 64
#: A joint normal with a smaller share of a row is not asked: the expectation has not so many digits.
_LEAST_FLOW = 2.0**-60
#: About how many values of units are held at a time.
_CELLS = 1 << 22


class Completer:
    """A circuit prepared for filling in rows."""

    def __init__(self, layout: Layout, domains: Domains) -> None:
        self.layout = layout
        self.domains = domains
        self.slots = np.where(layout.variables < 0, 0, domains.slots[layout.variables]).astype(np.int32)
        self._n_values = n_value_lines(layout)
        #: The columns that joint normals are over, among those of numbers.
        self._normal_slots = domains.slots[layout.normal_variables].astype(np.int32)
        self._descent = Descent(layout, self.slots, self._normal_slots)
        self._nameless = _nameless(layout)
        self._known = _log_known(layout, self._nameless)
        self._last_bounded: tuple[Mapping[int, Span], Bounded] | None = None

    def sample(self, batch: Batch, rng: np.random.Generator) -> Batch:
        """Fill in what is missing by a sample from its distribution given the rest of the row."""
        return self._in_blocks(batch, lambda rows: self._sample(rows, rng))

    def sample_rows(self, n_rows: int, rng: np.random.Generator, spans: Mapping[int, Span]) -> Batch:
        """Sample whole rows: the pass upwards is the same for all of them, and done once.

        Numbers are within the spans of their variables, see `spans`.
        """
        bounded = self._bounded(spans) if spans else None
        absent = self._known if bounded is None else self._known + bounded.log_shares
        values = self._values(Batch.missing(self.domains, 1), absent, maximise=False)
        if values[len(self.layout) - 1, 0] == -np.inf:
            raise ImpossibleEvidenceError("no row has only categories that can be named, as the evidence says")
        size = max(1, _CELLS // max(len(self.domains), 1))
        sizes = [min(size, n_rows - start) for start in range(0, n_rows, size)]
        parts = [self._draw(Batch.missing(self.domains, each), values, rng, bounded) for each in sizes]
        return Batch.joined(parts) if parts else Batch.missing(self.domains, 0)

    def _bounded(self, spans: Mapping[int, Span]) -> Bounded:
        """Return the circuit within spans, which are nearly always those of the last time."""
        last = self._last_bounded  # another thread may exchange it
        if last is None or last[0] != spans:
            last = self._last_bounded = spans, cut_to_spans(self.layout, self.domains, spans)
        return last[1]

    def maximum(self, batch: Batch) -> Batch:
        """Fill in what is missing by max-product."""
        peaks, modes = _peaks(self.layout, self._nameless)
        return self._in_blocks(batch, lambda rows: self._maximum(rows, peaks, modes))

    def mean(self, batch: Batch, means: Floats) -> Batch:
        """Fill in means, given those of the inputs, and for categories the most probable one."""
        return self._in_blocks(batch, lambda rows: self._mean(rows, means))

    def _in_blocks(self, batch: Batch, fill: Any) -> Batch:
        size = max(1, _CELLS // self._n_values)
        starts = range(0, batch.n_rows, size)
        return Batch.joined([fill(batch.rows(start, min(start + size, batch.n_rows))) for start in starts])

    def _values(self, batch: Batch, absent: Floats, maximise: bool) -> Floats:
        layout = self.layout
        values = np.empty((self._n_values, batch.n_rows))
        values[layout.normals] = self._normal_values(batch, maximise)
        slots = self.slots, self._normal_slots
        unit_values(layout, *slots, batch.numbers, batch.places, absent, maximise, values)
        return values

    def _normal_values(self, batch: Batch, maximise: bool) -> Floats:
        """Return the log-density of each row under each joint normal, or its maximum over what is missing."""
        slots = self.domains.slots.astype(np.int32)
        values = normal_values(self.layout, slots, batch.numbers)
        if maximise and np.isnan(batch.numbers).any():
            for number, (normal, own) in enumerate(self._normals()):
                values[number] += log_peaks(normal, batch.numbers[own])
        return values

    def _normals(self) -> Iterator[tuple[Normal, Places]]:
        """Yield each joint normal, and the columns of numbers that it is over."""
        for number, (start, end) in enumerate(pairwise(self.layout.normal_starts.tolist())):
            yield self.layout.normal_at(number), self._normal_slots[start:end]

    def _sample(self, batch: Batch, rng: np.random.Generator) -> Batch:
        return self._draw(batch, self._values(batch, self._known, maximise=False), rng)

    def _draw(self, batch: Batch, values: Floats, rng: np.random.Generator, bounded: Bounded | None = None) -> Batch:
        chosen, places = self._nothing_chosen(batch), batch.places.copy()
        self._descent.choose_at_random(values, rng, chosen, places)
        # A share of exactly 0 would be at the very end of an unbounded distribution.
        shares = np.maximum(rng.random(batch.numbers.shape), _LEAST_SHARE)
        layout = self.layout if bounded is None else bounded.layout
        numbers = self._numbers(layout, batch, chosen, shares)
        if bounded is not None:
            self._draw_normals_again(numbers, chosen, rng, bounded)
            bounded.set_constants(numbers)
        return Batch(numbers, np.where(batch.places < 0, places, batch.places))

    def _draw_normals_again(self, numbers: Floats, chosen: Places, rng: np.random.Generator, bounded: Bounded) -> None:
        """Draw the numbers of whole rows again that are jointly normal, some of which are outside of their spans."""
        for unit, (normal, own) in zip(self.layout.normals.tolist(), self._normals(), strict=True):
            rows = np.flatnonzero(chosen[own[0]] == unit)
            for _ in range(_MOST_DRAWS):
                rows = rows[bounded.are_outside(numbers[:, rows], own)]
                if not rows.size:
                    break
                shares = np.maximum(rng.random((own.size, rows.size)), _LEAST_SHARE)
                numbers[np.ix_(own, rows)] = draw_missing(normal, np.full_like(shares, np.nan), shares)

    def _numbers(self, layout: Layout, batch: Batch, chosen: Places, shares: Floats) -> Floats:
        """Draw the missing numbers from the inputs chosen for them."""
        numbers = batch.numbers.copy()
        by_normal = self.layout.units[chosen] == Unit.NORMAL
        missing = np.isnan(numbers) & (chosen >= 0) & ~by_normal
        members = chosen[missing].astype(np.int64)
        drawn, own_shares = np.empty(members.size), shares[missing]
        for unit, positions, parameters in stacks(layout, members):
            drawn[positions] = NUMERIC[unit].quantile(parameters, own_shares[positions])
        numbers[missing] = drawn
        for unit, (normal, own) in zip(self.layout.normals.tolist(), self._normals(), strict=True):
            here = np.ix_(own, np.flatnonzero(chosen[own[0]] == unit))
            numbers[here] = draw_missing(normal, batch.numbers[here], shares[here])
        return numbers

    def _maximum(self, batch: Batch, peaks: Floats, modes: Floats) -> Batch:
        values = self._values(batch, peaks, maximise=True)
        chosen, best = self._nothing_chosen(batch), np.full_like(batch.places, -1)
        self._descent.choose_best(values, chosen, best)
        numbers = np.where(np.isnan(batch.numbers) & (chosen >= 0), modes[chosen], batch.numbers)
        for unit, (normal, own) in zip(self.layout.normals.tolist(), self._normals(), strict=True):
            here = np.ix_(own, np.flatnonzero(chosen[own[0]] == unit))
            numbers[here] = conditionals(normal, batch.numbers[here])[0]
        # A mode that is no place may be too large for one.
        best_places = np.where(best >= 0, modes[best], -1.0).astype(np.int32)
        places = np.where(batch.places < 0, best_places, batch.places)
        return Batch(numbers, places)

    def probabilities(self, batch: Batch, slot: int) -> Floats:
        """Return the probability of each category of a column given the rest of the row, [row, category]."""
        batch = Batch(batch.numbers, batch.places.copy())
        batch.places[slot] = -1
        means, starts = np.zeros(len(self.layout)), self._category_starts
        rows = max(1, _CELLS // max(self._n_values, int(starts[-1])))
        parts = [batch.rows(start, min(start + rows, batch.n_rows)) for start in range(0, batch.n_rows, rows)]
        shares = np.concatenate(
            [self._shares(part, means)[1][starts[slot] : starts[slot + 1]] for part in parts], axis=1
        )
        return np.asarray((shares / shares.sum(axis=0)).T)

    @cached_property
    def _category_starts(self) -> npt.NDArray[np.int64]:
        """Where the categories of each categorical column start, if they are put one after another."""
        return np.cumsum([0, *self.domains.n_categories[~self.domains.is_numeric]])

    def _shares(self, batch: Batch, means: Floats) -> tuple[Floats, Floats]:
        """Return the means of numbers and the probabilities of categories that are missing, given the rest of a row."""
        starts = self._category_starts
        values = self._values(batch, np.zeros(len(self.layout)), maximise=False)
        numbers, shares = np.zeros_like(batch.numbers), np.zeros((starts[-1], batch.n_rows))
        of_normals = np.zeros((len(self.layout.normals), batch.n_rows))
        self._descent.follow_all(values, means, starts, numbers, shares, of_normals)
        for flow, (normal, own) in zip(of_normals, self._normals(), strict=True):
            rows = np.flatnonzero(flow > _LEAST_FLOW)
            numbers[np.ix_(own, rows)] += flow[rows] * self._normal_means(normal, batch.numbers[np.ix_(own, rows)])
        return numbers, shares

    def _normal_means(self, normal: Normal, values: Floats) -> Floats:
        """Return the expectation of each variable of a joint normal given what is known of its row."""
        means, deviations = conditionals(normal, values)
        for line, variable in enumerate(normal.variables.tolist()):
            grid, missing = self.domains.columns[variable].grid, np.isnan(values[line])
            if grid is not None and missing.any():
                own_means, own_deviations = means[line, missing], deviations[line, missing]
                lines = np.array([numeric_parameters(*pair) for pair in zip(own_means, own_deviations, strict=True)])
                means[line, missing] = grid_moments(Unit.GAUSSIAN, lines, grid, 1, 0.0)
        return means

    def _mean(self, batch: Batch, means: Floats) -> Batch:
        numbers, shares = self._shares(batch, means)
        places = batch.places.copy()
        for slot, (start, end) in enumerate(pairwise(self._category_starts.tolist())):
            if end > start:
                own = shares[start:end]
                places[slot] = np.where(own.any(axis=0), own.argmax(axis=0), -1)
        numbers = np.where(np.isnan(batch.numbers), numbers, batch.numbers)
        return Batch(numbers, np.where(batch.places < 0, places, batch.places))

    def _nothing_chosen(self, batch: Batch) -> Places:
        return np.full(batch.numbers.shape, -1, np.int32)


def _nameless(layout: Layout) -> npt.NDArray[np.bool_]:
    """Tell which inputs are of columns none of whose categories is possible: what was never seen stays missing."""
    nameless = np.zeros(len(layout), np.bool_)
    for variable in np.unique(layout.variables[layout.units == Unit.CATEGORICAL]).tolist():
        named = layout.categories_of(variable)[:, :-1]
        nameless[layout.inputs_of(variable)] = not (named > -np.inf).any()
    return nameless


def _log_known(layout: Layout, nameless: npt.NDArray[np.bool_]) -> Floats:
    """Return for each input the log-probability that its value is one that can be named, unless none can be."""
    known = np.zeros(len(layout))
    categorical = np.flatnonzero((layout.units == Unit.CATEGORICAL) & ~nameless)
    last = layout.parameters[layout.parameter_starts[categorical + 1] - 1]
    with np.errstate(divide="ignore"):
        known[categorical] = np.log1p(-np.exp(last))
    return known


def _peaks(layout: Layout, nameless: npt.NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return the largest log-density of each input, and where it is: a number, or a place, -1 if it has no name."""
    peaks, modes = np.zeros(len(layout)), np.zeros(len(layout))
    place = np.zeros(1, np.int32)
    for unit, members, parameters in stacks(layout, layout.inputs):
        inputs = layout.inputs[members]
        if unit is Unit.CATEGORICAL:
            named, unnamed = np.pad(parameters[:, :-1], ((0, 0), (0, 1)), constant_values=-np.inf), parameters[:, -1]
            modes[inputs] = np.where(nameless[inputs], -1, named.argmax(axis=1))
            peaks[inputs] = np.where(nameless[inputs], unnamed, named.max(axis=1))
            continue
        modes[inputs] = NUMERIC[unit].mode(parameters)
        for member, line in zip(inputs, parameters, strict=True):
            add_input(int(unit), line, modes[member : member + 1], place, peaks[member : member + 1])
    return peaks, modes
