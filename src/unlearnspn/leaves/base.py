"""What a leaf distribution must offer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, TypeVar, runtime_checkable

from unlearnspn.circuit.expressions import Expression
from unlearnspn.leaves.support import Support
from unlearnspn.schema import Kind
from unlearnspn.slices import Rows, Slice
from unlearnspn.tables import Category

S = TypeVar("S")


@runtime_checkable
class LearnedDistribution(Protocol[S]):
    """A distribution of one variable or several, learned from exact statistics `S` that can be revised.

    The statistics are immutable and a pure function of the set of records: `revise(learn(A | B), B, C)` must equal
    `learn(A | C)`. Parameters are derived from them and from the encoding by one fixed formula whenever they are
    needed. `unlearnspn.checks.check_leaf` runs the contract.
    """

    @property
    def name(self) -> str:
        """The name under which the distribution is shown."""

    def learn(self, data: Slice, rows: Rows) -> S:
        """Gather the statistics of some rows."""

    def revise(self, statistics: S, data: Slice, minus: Rows, plus: Rows) -> S:
        """Take rows out and put others in."""

    def fingerprint(self, statistics: S, data: Slice) -> bytes:
        """Return bytes that are equal exactly if the statistics are, whatever codes the categories have."""

    def parameters(self, statistics: S, data: Slice) -> Mapping[str, Any]:
        """Return the parameters, for reading."""

    def express(self, statistics: S, data: Slice) -> Expression:
        """Return the distribution as part of a circuit; no bit of it may depend on codes or on the order of rows.

        Of the encoding it may use what the digest of the model covers: categories, centre and scale. Several leaves may
        be expressed at once, in threads.
        """


@runtime_checkable
class Leaf(LearnedDistribution[S], Protocol[S]):
    """A distribution of one variable."""

    @property
    def kind(self) -> Kind:
        """The kind of variable that it models."""

    @property
    def support(self) -> Support:
        """The values that it can model."""

    def categories(self, data: Slice) -> tuple[Category, ...]:
        """Return the categories that `express` gives probabilities to, in canonical order; none of a numeric leaf."""
