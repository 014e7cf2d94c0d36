"""`Circuit`: a distribution over the columns of a table, compact, immutable, without a record or a state."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from unlearnspn.circuit import conditioning, exports, moments
from unlearnspn.circuit.batches import Batch
from unlearnspn.circuit.completion import Completer
from unlearnspn.circuit.domains import EVERYWHERE, Domain, Domains
from unlearnspn.circuit.evidence import Constraints, OneOf
from unlearnspn.circuit.expressions import HIGH, LOW, Expression, Unit
from unlearnspn.circuit.inputs import Floats
from unlearnspn.circuit.layout import Layout, lower, outline_of
from unlearnspn.circuit.queries import How, Queries
from unlearnspn.circuit.reading import read_batches
from unlearnspn.circuit.scoring import PreparedParts, Scorer
from unlearnspn.errors import ImpossibleEvidenceError, InvalidEvidenceError
from unlearnspn.hashing import fingerprint
from unlearnspn.identifying import warn_of
from unlearnspn.schema import Kind
from unlearnspn.storage import StorageError
from unlearnspn.storage.circuits import read_circuit, write_circuit
from unlearnspn.storage.files import PathLike
from unlearnspn.tables import token
from unlearnspn.tables.names import Label
from unlearnspn.tables.origins import CellType, Origin
from unlearnspn.tables.times import USUAL_TYPES, objects_of
from unlearnspn.tables.writing import Answer, Times, fill_table, write_table

#: Log-densities below this tell too little of differences between categories, which are small.
_FAR = -1e6


class Circuit(Queries):
    """A sum-product network as it is served: pruned, in flat arrays; it answers questions and nothing else.

    `SPN.circuit_` is one. It can be saved, loaded, and used in a process that never sees a record.

    >>> from sklearn.datasets import load_iris
    >>> from unlearnspn import SPN, Range
    >>> circuit = SPN(min_rows=30).fit(load_iris(as_frame=True).data).circuit_
    >>> circuit
    <Circuit: 4 columns, ...>
    >>> 0.3 < circuit.probability({"petal length (cm)": Range(above=4.5)}) < 0.6
    True
    """

    def __init__(
        self,
        written: Layout | Expression,
        domains: Domains,
        origin: Origin | None = None,
        prepared: PreparedParts | None = None,
    ) -> None:
        self._written = written
        #: What has been prepared for another circuit, and may be in this one.
        self._prepared = prepared or PreparedParts()
        #: What the table was like that the model was learned from.
        self.origin = origin or Origin.arrays(domains.names)
        self.domains = domains.described(self.origin.only(domains.names))

    @cached_property
    def layout(self) -> Layout:
        """The flat arrays; written when they are first asked for."""
        return self._written if isinstance(self._written, Layout) else lower(self._written)

    @property
    def circuit_(self) -> Circuit:
        """The circuit itself."""
        return self

    @property
    def columns(self) -> list[Any]:
        """The names of the columns, as their table has them."""
        return list(self.domains.column_names.shown)

    def categories(self, column: Label) -> list[Any]:
        """Return the categories that a column knows, in the order in which `predict_proba` gives them."""
        return list(self.domains.columns[self.domains.variable(column)].categories)

    def digest(self) -> str:
        """Return the digest of the circuit: of its columns, its structure and all of its parameters."""
        columns = [part for domain in self.domains.columns for part in _parts(domain)]
        arrays = [array.tobytes() for array in self.layout.arrays().values()]
        return fingerprint([b"unlearnspn circuit 1", *columns, *arrays]).hex()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Circuit) and self.digest() == other.digest()

    def __hash__(self) -> int:
        return hash(self.digest())

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.layout, self.domains, self.origin)

    def __repr__(self) -> str:
        layout, n_trees = self.layout, len(self.layout.trees)
        sums, products = (int((layout.units == kind).sum()) for kind in (Unit.SUM, Unit.PRODUCT))
        n_normals = len(layout.normals)
        trees = (f"{n_trees} trees, " if n_trees else "") + (f"{n_normals} joint normals, " if n_normals else "")
        return (
            f"<Circuit: {len(self.domains)} columns, {sums} sums, {products} products, {trees}"
            f"{len(layout.inputs)} inputs>"
        )

    def save(self, path: PathLike) -> None:
        """Write the circuit into one file, from which `load` makes the same again."""
        write_circuit(path, self.layout, self.domains, self._document())

    def _document(self) -> dict[str, Any]:
        """Return what a file says of the circuit beside the arrays; whoever asks for it exports the circuit."""
        self._warn_of_export()
        columns = self.domains.columns
        facts = {
            "identifying": [column.name for column in columns if column.identifies],
            "negative": [column.name for column in columns if column.has_negative],
            "fractional": [column.name for column in columns if column.has_fraction],
            "timed": [column.name for column in columns if column.has_time],
            "spans": {column.name: list(column.span) for column in columns if column.span != EVERYWHERE},
        }
        return {"origin": self.origin.to_dict(), **facts}

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read what `save` wrote; nothing that the file says is run, and whatever is wrong with it is refused."""
        layout, domains, document = read_circuit(path)
        try:
            facts = {key: _read_names(document.get(key, [])) for key in ("identifying", "fractional", "timed")}
            negative = _read_names(document.get("negative", domains.names))
            spans = _read_spans(document.get("spans", {}))
            columns = tuple(
                replace(
                    column,
                    identifies=column.name in facts["identifying"],
                    has_negative=column.name in negative,
                    has_fraction=column.name in facts["fractional"],
                    has_time=column.name in facts["timed"],
                    span=spans.get(column.name, EVERYWHERE),
                )
                for column in domains.columns
            )
            origin = Origin.from_dict(document.get("origin")).only(domains.names)
            return cls(layout, replace(domains, columns=columns), origin)
        except ValueError as error:
            raise StorageError(f"{path} cannot be read: {error}") from error

    def to_json(self) -> str:
        """Write the circuit as JSON: columns, and units with their children, weights and parameters."""
        self._warn_of_export()
        return exports.to_json(self)

    def to_networkx(self) -> Any:
        """Return the circuit as a networkx graph, parents to children."""
        self._warn_of_export()
        return exports.to_networkx(self)

    def to_graphviz(self) -> str:
        """Return the source of a picture for Graphviz's `dot`."""
        self._warn_of_export()
        return exports.to_graphviz(self)

    def _warn_of_export(self) -> None:
        warn_of(self.domains.identifying, "the exported circuit shows")

    # -- what queries need -----------------------------------------------------------------------------------------

    @cached_property
    def _scorer(self) -> Scorer:
        """The circuit prepared for log-densities."""
        written = self._written
        own = outline_of(written) if isinstance(written, Layout) else self._prepared.outline(written)
        return Scorer(own, self.domains, self._prepared)

    @cached_property
    def _completer(self) -> Completer:
        """The circuit prepared for filling in rows."""
        return Completer(self.layout, self.domains)

    def _known(self, variables: list[int]) -> Circuit:
        """Return the circuit given that the categories of some columns are ones that can be named, if any can be."""
        constraints: Constraints = {}
        for variable in variables:
            if not self.domains.is_numeric[variable]:
                table = self.layout.categories_of(variable)
                if (table[:, -1] > -np.inf).any() and (table[:, :-1] > -np.inf).any():
                    constraints[variable] = OneOf(np.arange(table.shape[1] - 1))
        return self._with_layout(conditioning.condition(self.layout, constraints))

    def _with_layout(self, layout: Layout) -> Circuit:
        """Return another circuit of the same columns."""
        return self if layout is self.layout else Circuit(layout, self.domains, self.origin)

    def _with_columns(self, layout: Layout, variables: list[int]) -> Circuit:
        """Return a circuit of some of the columns."""
        domains = self.domains.restricted(variables)
        return Circuit(layout, domains, self.origin.only(domains.names))

    def _read(self, X: Any, optional: int | None = None) -> Iterator[Batch]:
        """Read a table, some rows at a time."""
        return read_batches(X, self.domains, optional)

    def _write(self, batch: Batch) -> Any:
        """Write rows as the kind of table that the model was learned from."""
        return write_table(self._written_as, self.domains.names, list(self._answers(batch).values()))

    @cached_property
    def _written_as(self) -> Origin:
        """The kind of table that rows are written as: numbers with a fraction need another type than whole ones."""
        pairs = zip(self.origin.only(self.domains.names).columns, self.domains.columns, strict=True)
        columns = (replace(column, type=domain.written_as(column.type)) for column, domain in pairs)
        return replace(self.origin, columns=tuple(columns))

    def _require_writable(self) -> None:
        """Raise if a column is known to be where its type has no number."""
        for variable, column in enumerate(self._written_as.columns):
            # Evidence on values of a grid tells of none that are not there.
            if self.domains.is_numeric[variable] and self.domains.columns[variable].grid is None:
                low, high = self._bounds(variable)
                least, largest = column.type.limits
                if low > largest or high < least:
                    raise ImpossibleEvidenceError(
                        f"column {column.name!r} holds numbers from {least:.16g} to {largest:.16g}, and "
                        f"{_nothing_between(low, high)}: no row can be drawn"
                    )

    def _spans(self, constraints: Constraints) -> dict[int, tuple[float, float]]:
        """Return between which numbers the records are, of the columns of numbers that evidence does not speak of."""
        spans = {}
        for variable in np.flatnonzero(self.domains.is_numeric).tolist():
            column = self.domains.columns[variable]
            if variable not in constraints and column.span != EVERYWHERE:
                low, high = column.span
                spans[variable] = (
                    (low, high)
                    if column.grid is None
                    else (column.grid.cell(low, low)[0], column.grid.cell(high, high)[1])
                )
        return spans

    def _bounds(self, variable: int) -> tuple[float, float]:
        """Return the bounds that a numeric column is known to be within."""
        layout = self.layout
        if variable in layout.normal_variables:
            return -math.inf, math.inf
        starts = layout.parameter_starts[layout.inputs_of(variable)]
        return float(layout.parameters[starts + LOW].min()), float(layout.parameters[starts + HIGH].max())

    def _fill(self, X: Any, batch: Batch) -> Any:
        """Return a table like X in which what was missing is filled in."""
        return fill_table(X, self._answers(batch), without=self.domains.id_column)

    def _answers(self, batch: Batch) -> dict[str, Answer]:
        answers: dict[str, Answer] = {}
        for variable, (domain, slot) in enumerate(zip(self.domains.columns, self.domains.slots, strict=True)):
            if domain.kind is Kind.CATEGORICAL:
                answers[domain.name] = domain.categories, batch.places[slot]
                continue
            numbers = batch.numbers[slot]
            if domain.grid is not None:
                numbers = domain.grid.nearest(numbers, *self._bounds(variable))
            answers[domain.name] = Times(numbers, self._time_type(variable)) if domain.family.is_time else numbers
        return answers

    def _time_type(self, variable: int) -> CellType:
        """Return the type of dates, times or durations that a column holds."""
        own = self._written_as.columns[variable].type.time
        return USUAL_TYPES[self.domains.columns[variable].family] if own is None else own

    def _value(self, variable: int, number: float) -> Any:
        """Return what a number of a column stands for: a date has a mean as numbers have."""
        domain = self.domains.columns[variable]
        if not domain.family.is_time:
            return number
        own = self._time_type(variable)
        return objects_of(
            replace(own, name="datetime", details=("us", "")) if own.name == "date" else own, np.array([number])
        )[0]

    def _complete(self, batch: Batch, how: How, rng: np.random.Generator) -> Batch:
        """Fill in what is missing in some rows."""
        if how == "sample":
            return self._completer.sample(batch, rng)
        return self._completer.maximum(batch) if how == "mpe" else self._completer.mean(batch, self._input_means)

    @cached_property
    def _input_means(self) -> Floats:
        means = np.zeros(len(self.layout))
        for variable in np.flatnonzero(self.domains.is_numeric).tolist():
            members = self.layout.inputs_of(variable)
            means[members] = moments.input_moments(self.layout, members, self.domains.columns[variable], 1, 0.0)
        return means

    def _posterior(self, batch: Batch, variable: int) -> Floats:
        """Return the probability of each category of a column, given the other columns of some rows."""
        domain = self.domains.columns[variable]
        if not domain.categories:
            kind = "is numeric" if domain.kind is Kind.NUMERIC else "knows no category"
            raise InvalidEvidenceError(f"column {domain.name!r} {kind}, so there are no categories to predict")
        places = batch.places.copy()
        scores = np.empty((batch.n_rows, len(domain.categories)))
        for place in range(len(domain.categories)):
            places[self.domains.slots[variable]] = place
            scores[:, place] = self._scorer.score(Batch(batch.numbers, places))
        shares = _normalised(scores)
        far = np.flatnonzero(np.isfinite(scores).any(axis=1) & (scores.max(axis=1) < _FAR))
        if far.size:
            rows = Batch(np.ascontiguousarray(batch.numbers[:, far]), np.ascontiguousarray(batch.places[:, far]))
            shares[far] = self._completer.probabilities(rows, self.domains.slots[variable])
        return shares


def _nothing_between(low: float, high: float) -> str:
    """Say that there is no number within bounds; where these are open, what is given are the numbers next to them."""
    # Rounded to what was meant.
    first, last = (f"{bound if abs(bound) > 1e-300 else 0.0:.15g}" for bound in (low, high))
    if low == high:
        return f"{first} is none"
    if math.isinf(low):
        return f"there is none below {last}"
    return f"there is none above {first}" if math.isinf(high) else f"there is none between {first} and {last}"


def _normalised(scores: Floats) -> Floats:
    """Turn log-densities into probabilities along each row; alike, if all of them are 0."""
    largest = scores.max(axis=1, keepdims=True)
    shares = np.exp(np.where(largest == -np.inf, 0.0, scores - np.where(largest == -np.inf, 0.0, largest)))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def _read_names(names: Any) -> set[str]:
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError("it does not say which columns identify")
    return set(names)


def _read_spans(spans: Any) -> dict[str, tuple[float, float]]:
    fits = isinstance(spans, dict) and all(
        isinstance(span, list) and len(span) == 2 and all(isinstance(end, float) for end in span) and span[0] <= span[1]
        for span in spans.values()
    )
    if not fits:
        raise ValueError("it does not say between which numbers its columns are")
    return {name: (low, high) for name, (low, high) in spans.items()}


def _parts(domain: Domain) -> list[bytes]:
    # Not the family: it tells what a column once held, even when the records that held it have gone.
    texts = [domain.name, domain.kind, str(len(domain.categories))]
    return [text.encode("utf-8", "surrogatepass") for text in texts] + [token(item) for item in domain.categories]
