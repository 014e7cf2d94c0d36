"""Log-densities of many rows, on all cores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from unlearnspn.circuit.batches import ArrayReader, Batch
from unlearnspn.circuit.density import Evaluator
from unlearnspn.circuit.domains import Domains
from unlearnspn.circuit.expressions import Expression, Normal, Tree
from unlearnspn.circuit.inputs import Floats
from unlearnspn.circuit.layout import Outline, outline
from unlearnspn.circuit.normal_densities import NormalDensities, PreparedNormal
from unlearnspn.circuit.schedule import Schedule
from unlearnspn.circuit.tree_lookup import TreeLookup
from unlearnspn.circuit.tree_lookups import TreeLookups
from unlearnspn.tables import Family
from unlearnspn.tables.cells import EXACT
from unlearnspn.threads import n_cores

K = TypeVar("K")
P = TypeVar("P")

#: An array is read and scored so many rows at a time; no power of two, as columns would push each other out of the
#: processor's cache.
_ARRAY_ROWS = 2000
#: Fewer cells than this are not worth a second thread.
_LEAST_CELLS = 1 << 14


class Prepared(Generic[K, P]):
    """Parts of expressions that have been prepared: circuits that share one need not prepare it again."""

    def __init__(self) -> None:
        #: By identity, together with what was prepared, so that it is not another's.
        self._known: dict[int, tuple[K, P]] = {}

    def get(self, parts: Sequence[K], prepare: Callable[[K], P]) -> list[P]:
        """Return some parts prepared, and forget all others."""
        known = self._known
        found = {id(part): known.get(id(part)) or (part, prepare(part)) for part in parts}
        self._known = found
        return [found[id(part)][1] for part in parts]


class PreparedParts:
    """What circuits of the same columns share of what was prepared for log-densities."""

    def __init__(self) -> None:
        self.trees: Prepared[Tree, TreeLookup] = Prepared()
        self.normals: Prepared[Normal, PreparedNormal] = Prepared()
        #: Of the parts of mixtures.
        self.outlines: Prepared[Expression, Outline] = Prepared()

    def outline(self, root: Expression) -> Outline:
        """Write an expression into arrays but for what is inside trees and joint normals."""
        return outline(root, lambda parts: self.outlines.get(parts, outline))


class Scorer:
    """A circuit prepared for log-densities, given its outline."""

    def __init__(self, written: Outline, domains: Domains, prepared: PreparedParts) -> None:
        self.domains = domains
        layout, own = written.layout, domains.slots.astype(np.int32)
        slots = np.where(layout.variables < 0, 0, own[layout.variables]).astype(np.int32)
        slots[layout.trees] = np.arange(len(written.trees))
        slots[layout.normals] = np.arange(len(written.normals))
        normals = NormalDensities(prepared.normals.get(written.normals, PreparedNormal.of), own)
        self._evaluator = Evaluator(layout, slots, Schedule.of(layout), normals=normals)
        trees = prepared.trees.get(written.trees, lambda tree: TreeLookup(tree, own))
        self._trees = TreeLookups(trees, int((~domains.is_numeric).sum()))
        self._reader = ArrayReader(domains)
        #: Columns of joint normals, which have more to do for each set of them that rows lack.
        in_normals = np.zeros(len(domains), np.bool_)
        for normal in written.normals:
            in_normals[normal.variables] = True
        self._in_normals = np.flatnonzero(in_normals)

    def score(self, batch: Batch) -> Floats:
        """Return the log-density of each row."""
        densities, numbers, places = np.empty(batch.n_rows), batch.numbers, batch.places
        order = self._order(np.isnan(numbers[self.domains.slots[self._in_normals]].T))
        if order is not None:
            numbers, places = np.ascontiguousarray(numbers[:, order]), np.ascontiguousarray(places[:, order])

        def work(start: int, end: int) -> None:
            self._evaluator.log_density(self._trees, numbers, places, start, densities[start:end])

        _in_parallel(batch.n_rows, len(self.domains), work)
        return _put_back(densities, order)

    def score_array(self, array: npt.NDArray[Any]) -> Floats | None:
        """Return the log-density of each row of a numeric array, or None if it holds an infinity."""
        densities, finite = np.empty(len(array)), []
        order = self._order(np.isnan(array[:, self._in_normals])) if array.dtype.kind == "f" else None

        def work(start: int, end: int) -> None:
            batch = Batch.missing(self.domains, min(_ARRAY_ROWS, end - start))
            for first in range(start, end, _ARRAY_ROWS):
                own = slice(first, min(first + _ARRAY_ROWS, end))
                finite.append(self._reader.read(array[own if order is None else order[own]], batch))
                self._evaluator.log_density(self._trees, batch.numbers, batch.places, 0, densities[own])

        _in_parallel(len(array), len(self.domains), work)
        return _put_back(densities, order) if all(finite) else None

    @staticmethod
    def _order(gaps: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64] | None:
        """Return rows in an order in which those with the same gaps are beside each other; None if there are none."""
        if not gaps.any():
            return None
        bits = np.packbits(gaps[:, :64], axis=1)
        keys = np.zeros((len(gaps), 8), np.uint8)
        keys[:, : bits.shape[1]] = bits
        return np.argsort(keys.view(np.uint64).ravel(), kind="stable")

    def reads(self, X: Any) -> bool:
        """Tell whether X is an array that can be scored without a detour: numbers, for columns of numbers."""
        return (
            type(X) is np.ndarray
            and X.ndim == 2
            and len(X) > 0
            and X.dtype.kind in "fiu"
            and X.dtype.itemsize in (4, 8)
            and X.dtype.isnative
            and X.shape[1] == len(self.domains)
            and all(domain.family is Family.NUMBER for domain in self.domains.columns)
            and (bool(self.domains.is_numeric.all()) or not _has_far_integers(X))
        )


def _put_back(densities: Floats, order: npt.NDArray[np.int64] | None) -> Floats:
    """Return the densities of rows that were in some order in that of the rows."""
    if order is None:
        return densities
    restored = np.empty_like(densities)
    restored[order] = densities
    return restored


def _has_far_integers(array: npt.NDArray[Any]) -> bool:
    """Tell whether an array holds integers that compiled code, which knows doubles only, may take for others."""
    if array.dtype.kind == "f" or array.dtype.itemsize < 8:
        return False
    return bool(array.max() > EXACT or array.min() < -EXACT)


def _in_parallel(n_rows: int, n_columns: int, work: Callable[[int, int], None]) -> None:
    """Divide the rows among the cores: compiled code releases the lock that Python's threads share."""
    n_threads = min(n_cores(), 1 + n_rows * n_columns // _LEAST_CELLS)
    if n_threads == 1:
        work(0, n_rows)
        return
    bounds = np.linspace(0, n_rows, n_threads + 1).astype(int).tolist()
    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(work, bounds[:-1], bounds[1:]))
