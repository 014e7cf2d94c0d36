"""The questions that a circuit answers; whatever has a `circuit_` offers them all under the same names."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from unlearnspn.circuit import conditioning, dependence, moments
from unlearnspn.circuit.batches import Batch
from unlearnspn.circuit.domains import Domain, Domains
from unlearnspn.circuit.evidence import Constraints, read_evidence
from unlearnspn.errors import ImpossibleEvidenceError, InvalidEvidenceError, listing
from unlearnspn.identifying import warn_of
from unlearnspn.tables.dask_frames import is_dask, lazy_columns, lazy_numbers, lazy_table
from unlearnspn.tables.names import Label

if TYPE_CHECKING:
    from unlearnspn.circuit.circuit import Circuit

Evidence = Mapping[Any, Any]
Densities = npt.NDArray[np.float64]
How = Literal["mpe", "mean", "sample"]

#: The largest power that is answered for. Moments of standard distributions have factorials of it, and that of 171 is
#: larger than any float.
_MOST_POWER = 100


class Queries:
    """Questions to a circuit.

    Evidence and events say by column name what is known or asked: a value, a set of categories, or a `Range` of
    numbers or dates, as in ``{"age": Range(above=60), "sex": "F"}``. A column is meant by its name exactly as the table
    has it, be it a string, a number or a tuple; those of arrays are called "x0", "x1" and so on, or by their positions.
    """

    @property
    def circuit_(self) -> Circuit:
        """The circuit that answers."""
        raise NotImplementedError

    def score_samples(self, X: Any) -> Densities:
        """Return the log-density of each row; missing values are marginalised.

        Of a table of Dask, this and other questions about tables are answered lazily, partition by partition.
        """
        circuit = self.circuit_
        if is_dask(X):
            densities: Densities = lazy_numbers(circuit.score_samples, X, "log_density")
            return densities
        if circuit._scorer.reads(X):
            known = circuit._scorer.score_array(X)
            if known is not None:
                return known
        parts = [circuit._scorer.score(batch) for batch in circuit._read(X)]
        return np.concatenate(parts)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log-density of the rows."""
        return float(self.score_samples(X).mean())

    def marginal(self, columns: Label | Sequence[Label]) -> Circuit:
        """Return the circuit of some columns alone, in the order in which they are listed."""
        circuit = self.circuit_
        variables = circuit.domains.variables(columns)
        if not variables:
            raise InvalidEvidenceError("a marginal needs at least one column")
        layout = conditioning.marginal(circuit.layout, variables)
        return circuit._with_columns(layout, variables)

    def condition(self, evidence: Evidence | None) -> Circuit:
        """Return the circuit given the evidence; it still has all columns."""
        circuit = self.circuit_
        return _condition(circuit, read_evidence(evidence, circuit.domains), evidence)

    def log_probability(self, event: Evidence, given: Evidence | None = None) -> float:
        """Return the log of `probability`, for events too improbable for a float."""
        constraints = read_evidence(event, self.circuit_.domains)
        circuit, places = self._about(constraints, given)
        constraints = {places[variable]: each for variable, each in constraints.items()}
        return min(0.0, float(conditioning.log_probabilities(circuit.layout, [constraints])[0]))

    def probability(self, event: Evidence, given: Evidence | None = None) -> float:
        """Return the probability of an event, given evidence or not."""
        return math.exp(self.log_probability(event, given))

    def expectation(self, columns: Label | Sequence[Label], given: Evidence | None = None) -> Any:
        """Return the expectation of a column; of several columns, a dictionary of them.

        That of a date is a date, that of a duration a duration.
        """
        domains = self.circuit_.domains
        circuit, places = self._about(domains.variables(columns), given)

        def mean(name: Label) -> Any:
            place = places[domains.variable(name)]
            return circuit._value(place, _moment(circuit, {place: 1}, central=False))

        return _by_name(domains, columns, mean)

    def variance(self, columns: Label | Sequence[Label], given: Evidence | None = None) -> Any:
        """Return the variance of a column; of several columns, a dictionary of them. Dates and times are in seconds."""
        domains = self.circuit_.domains
        circuit, places = self._about(domains.variables(columns), given)
        return _by_name(
            domains, columns, lambda name: _moment(circuit, {places[domains.variable(name)]: 2}, central=True)
        )

    def moment(self, powers: Mapping[Any, int], given: Evidence | None = None, central: bool = False) -> float:
        """Return the expectation of a product of powers of columns, about their means if `central`.

        ``moment({"a": 1, "b": 1}, central=True)`` is the covariance of a and b. Dates, times and durations are numbers
        of seconds here, dates from 1970 on. Categories never seen have no number, so those of these columns are taken
        to be known ones. Powers are whole numbers from 0 to 100.
        """
        domains = self.circuit_.domains
        by_variable = {domains.variable(name): power for name, power in _powers(powers).items()}
        circuit, places = self._about(by_variable, given)
        return _moment(circuit, {places[variable]: power for variable, power in by_variable.items()}, central)

    def _about(self, variables: Iterable[int], given: Evidence | None) -> tuple[Circuit, Mapping[int, int]]:
        """Return a circuit given the evidence that has some columns at least, and where each stands in it.

        What is left of joint normals given ranges is costly: the fewer of their columns, the less.
        """
        circuit = self.circuit_
        constraints = read_evidence(given, circuit.domains)
        if not constraints or not len(circuit.layout.normals):
            return _condition(circuit, constraints, given), {variable: variable for variable in variables}
        kept = sorted({*variables, *constraints})
        places = {variable: place for place, variable in enumerate(kept)}
        restricted = circuit._with_columns(conditioning.marginal(circuit.layout, kept), kept)
        known = {places[variable]: each for variable, each in constraints.items()}
        try:
            return restricted._with_layout(conditioning.condition(restricted.layout, known)), places
        except ImpossibleEvidenceError as error:
            raise _explained(error, circuit, constraints, given) from None

    def sample(
        self, n: int = 1, given: Evidence | None = None, random_state: Any = None, *, within_span: bool = True
    ) -> Any:
        """Draw n rows from the distribution given the evidence, as the kind of table that was learned from.

        Numbers are drawn between the smallest and the largest that a record has, but for columns that the evidence
        speaks of, and where it leads far away from all records. With `within_span=False` rows are drawn exactly from
        the distribution, tails and all.

        Categories never seen cannot be named, so the rows are drawn given that all categories are known ones. Where no
        row agrees with the evidence, because a category was never seen or a column of whole numbers has none within a
        range, an `ImpossibleEvidenceError` says so.
        `random_state` is an integer, a `numpy.random.Generator`, or None for other rows each time.
        """
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0:
            raise ValueError(f"n={n!r} must be a number of rows, 0 or more")
        circuit = self.circuit_
        constraints = read_evidence(given, circuit.domains)
        circuit = _condition(circuit, constraints, given)
        _require_names(circuit, constraints)
        circuit._require_writable()
        warn_of(circuit.domains.identifying, "the sample shows")
        spans = circuit._spans(constraints) if within_span else {}
        rows = circuit._completer.sample_rows(int(n), np.random.default_rng(random_state), spans)
        return circuit._write(rows)

    def mpe(self, X: Any) -> Any:
        """Fill in what is missing by max-product: the most probable explanation if every sum were its best part."""
        return self.impute(X, how="mpe")

    def impute(self, X: Any, how: How = "mean", random_state: Any = None) -> Any:
        """Fill in what is missing in a table, and leave the rest as it is.

        "mean" gives the expectation of each number and the most probable category, each given the rest of the row;
        "mpe" one consistent explanation of the whole row; "sample" draws one.
        """
        circuit = self.circuit_
        if how not in ("mpe", "mean", "sample"):
            raise ValueError(f"how={how!r} is none of 'mpe', 'mean', 'sample'")
        if is_dask(X):
            if how == "sample":
                raise ValueError("how='sample' is not supported for a table of Dask: pass X.compute()")
            return lazy_table(partial(circuit.impute, how=how), X)
        rng = np.random.default_rng(random_state)
        filled, first_row = [], 0
        for batch in circuit._read(X):
            _require_possible(circuit, batch, first_row)
            filled.append(circuit._complete(batch, how, rng))
            first_row += batch.n_rows
        return circuit._fill(X, Batch.joined(filled))

    def predict_proba(self, X: Any, *, target: Label) -> Densities:
        """Return the probabilities of a column's categories given the other columns, in the order of its categories.

        X may have the column, whose values are then ignored, or not.
        """
        circuit = self.circuit_
        variable = circuit.domains.variable(target)
        if is_dask(X):
            columns = circuit.categories(target)
            probabilities: Densities = lazy_columns(partial(circuit.predict_proba, target=target), X, columns)
            return probabilities
        return np.concatenate([circuit._posterior(batch, variable) for batch in circuit._read(X, optional=variable)])

    def mutual_information(self, a: Label, b: Label, n_parts: int = 32) -> float:
        """Return how much two columns tell about each other, in nats.

        Categories enter as they are. Numbers are divided into `n_parts` parts of equal probability; the result is
        exact for the parts, and never above the mutual information of the numbers themselves. Columns of so many
        categories that it would take longer than some seconds are refused.
        """
        if isinstance(n_parts, bool) or not isinstance(n_parts, int | np.integer) or n_parts < 2:
            raise ValueError(f"n_parts={n_parts!r} must be a number of parts, 2 or more")
        circuit = self.circuit_
        first, second = circuit.domains.variables([a, b])
        circuit = circuit._known([first, second])
        return dependence.mutual_information(circuit.layout, circuit.domains, first, second, n_parts)


def _moment(circuit: Circuit, powers: Mapping[int, int], central: bool) -> float:
    """Return the expectation of a product of powers of variables, about their means if `central`."""
    variables = list(powers)
    circuit = circuit._known(variables)
    centres = dict.fromkeys(variables, 0.0)
    if central:
        means = moments.means(circuit.layout, circuit.domains, variables)
        centres = dict(zip(variables, means.tolist(), strict=True))
    return moments.moment(circuit.layout, circuit.domains, powers, centres)


def _by_name(domains: Domains, columns: Any, answer: Callable[[Label], Any]) -> Any:
    """Return the answer for one column, or a dictionary of them for several."""
    names = domains.column_names
    if names.means_one(columns):
        return answer(columns)
    return {name: answer(name) for name in names.listed(columns)}


def _condition(circuit: Circuit, constraints: Constraints, evidence: Evidence | None) -> Circuit:
    """Return the circuit given constraints, which were read from the evidence."""
    try:
        return circuit._with_layout(conditioning.condition(circuit.layout, constraints))
    except ImpossibleEvidenceError as error:
        raise _explained(error, circuit, constraints, evidence) from None


def _explained(
    error: ImpossibleEvidenceError, circuit: Circuit, constraints: Constraints, evidence: Evidence | None
) -> ImpossibleEvidenceError:
    """Say which columns make evidence impossible; none of them, if only all of it together is."""
    impossible = set(conditioning.impossible(circuit.layout, constraints))
    known = {name: value for name, value in (evidence or {}).items() if circuit.domains.variable(name) in impossible}
    said = [
        _refusal(circuit.domains.columns[circuit.domains.variable(name)], name, value) for name, value in known.items()
    ]
    return ImpossibleEvidenceError(f"{error} ({', '.join(said)})" if said else str(error))


def _refusal(domain: Domain, name: Any, value: Any) -> str:
    """Say that a column cannot have some value, and what it holds if that explains it."""
    if domain.grid is None or domain.family.is_time:
        return f"column {name!r} cannot be {value!r}"
    return f"column {name!r} holds {domain.grid.described}, and none is {value!r}"


def _powers(powers: Any) -> dict[Any, int]:
    """Return the powers of columns, or raise unless they are given by column."""
    if not isinstance(powers, Mapping):
        raise InvalidEvidenceError(
            f"powers must be given by column, as in {{'age': 2, 'cost': 1}}, not {type(powers).__name__}"
        )
    return {name: _power(name, power) for name, power in powers.items()}


def _power(name: Any, power: Any) -> int:
    if isinstance(power, bool) or not isinstance(power, int | np.integer) or power < 0:
        raise ValueError(f"the power {power!r} of column {name!r} must be a whole number, 0 or more")
    if power > _MOST_POWER:
        size = "" if power > 10**20 else f" {power}"
        raise ValueError(f"the power{size} of column {name!r} is too large: {_MOST_POWER} is the most")
    return int(power)


def _require_names(circuit: Circuit, constraints: Constraints) -> None:
    """Raise if a column is known to have a category that cannot be named; the circuit is given the constraints."""
    for variable in np.flatnonzero(~circuit.domains.is_numeric).tolist():
        domain = circuit.domains.columns[variable]
        is_known = bool(domain.categories) or variable in constraints
        if is_known and not (circuit.layout.categories_of(variable)[:, :-1] > -np.inf).any():
            raise ImpossibleEvidenceError(
                f"no record has what the evidence says of column {domain.name!r}, so no row can be drawn; "
                f"its categories are {listing(domain.categories) or 'none'}"
            )


def _require_possible(circuit: Circuit, batch: Batch, first_row: int) -> None:
    # A row that lacks nothing stays as it is, whatever it holds: so filling in twice changes nothing.
    incomplete = batch.lacks_something(circuit.domains)
    impossible = np.flatnonzero(incomplete & (circuit._scorer.score(batch) == -np.inf))
    if impossible.size:
        rows = listing((impossible + first_row + 1).tolist())
        raise ImpossibleEvidenceError(
            f"rows {rows} have density 0 under the model, so nothing can be filled in: "
            "correct their values, or mark those that cannot be as missing"
        )
