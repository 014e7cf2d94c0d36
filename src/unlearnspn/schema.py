"""What the variables are: names and kinds, declared or read off the table's types, never off its values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np

from unlearnspn.errors import InvalidTableError, TextDatesWarning, listing, warn_outside
from unlearnspn.hashing import fingerprint
from unlearnspn.tables import Column, Family, Table, empty_column
from unlearnspn.tables.names import ColumnNames, Label
from unlearnspn.tables.times import are_dates


class Kind(StrEnum):
    """How a variable is modelled."""

    NUMERIC = "numeric"
    CATEGORICAL = "categorical"


@dataclass(frozen=True)
class Variable:
    """One column: its name, its kind, and the family of values it was given with."""

    name: str
    kind: Kind
    family: Family


@dataclass(frozen=True)
class Schema:
    """The variables of a model, in order, and the column that holds ids, if one does."""

    variables: tuple[Variable, ...]
    id_column: Label = None

    @classmethod
    def of(cls, table: Table, categorical_features: Any, id_column: Label) -> Schema:
        """Derive the schema of a table, as scikit-learn's histogram boosting does, plus `"all"`."""
        chosen = _categorical_mask(table, categorical_features)
        variables = []
        for column, categorical in zip(table.columns, chosen, strict=True):
            if column.family is Family.MIXED and isinstance(categorical_features, str) and not categorical:
                raise InvalidTableError(
                    f"column {column.name!r} mixes kinds of values ({column.odd_value()}): correct them, convert the "
                    "column to strings, or list it in categorical_features"
                )
            if categorical and isinstance(categorical_features, str) and categorical_features == "from_dtype":
                _warn_of_dates(column)
            if categorical and column.family.is_time:
                raise column.no_categories()
            if not categorical and not column.family.is_numeric and column.family is not Family.EMPTY:
                raise InvalidTableError(
                    f"column {column.name!r} holds {column.family} values but is not among the categorical "
                    "features: list it in categorical_features, or use categorical_features='from_dtype'"
                )
            if categorical:
                # Nothing is known of a column without values, so it must take whatever comes.
                family = Family.MIXED if column.family is Family.EMPTY else column.family
                variables.append(Variable(column.name, Kind.CATEGORICAL, family))
            else:
                variables.append(
                    Variable(column.name, Kind.NUMERIC, column.family if column.family.is_time else Family.NUMBER)
                )
        return cls(tuple(variables), id_column)

    def with_target(self, name: str, family: Family) -> Schema:
        """Return the schema with one more variable: the classes that are to be predicted."""
        return Schema((*self.variables, Variable(name, Kind.CATEGORICAL, family)), self.id_column)

    def without_target(self) -> Schema:
        """Return the schema of the features alone, which come before the classes."""
        return Schema(self.variables[:-1], self.id_column)

    @property
    def names(self) -> list[str]:
        """The names of the variables, in order."""
        return [variable.name for variable in self.variables]

    def digest(self) -> bytes:
        """Fingerprint names and kinds."""
        return fingerprint(part.encode("utf-8", "surrogatepass") for v in self.variables for part in (v.name, v.kind))

    def only(self, names: Sequence[str]) -> Schema:
        """Return the schema of some of the variables, in order."""
        return Schema(tuple(variable for variable in self.variables if variable.name in names), self.id_column)

    def arranged(self, table: Table) -> Table:
        """Return a table with its columns in order, or raise unless it has the columns and kinds of the schema."""
        if table.named and table.names != self.names and sorted(table.names) == sorted(self.names):
            table = table.in_order(self.names)
        if len(table.columns) == len(self.variables):
            pairs = zip(self.variables, table.columns, strict=True)
            table = replace(table, columns=[_empty_if_alien(column, variable) for variable, column in pairs])
        self.check(table)
        return table

    def check(self, table: Table) -> None:
        """Raise unless the table has the columns and kinds of the schema."""
        if table.named and table.names != self.names:
            raise InvalidTableError(_names_mismatch(self.names, table.names))
        if len(table.columns) != len(self.variables):
            raise InvalidTableError(
                f"X has {len(table.columns)} features, but SPN is expecting {len(self.variables)} features as input"
            )
        for variable, column in zip(self.variables, table.columns, strict=True):
            if not variable.family.accepts(column.family):
                raise InvalidTableError(
                    f"column {variable.name!r} held {variable.family} values at fit and now holds "
                    f"{column.family} values ({column.odd_value(variable.family)}): convert it to the kind it had"
                )


def _empty_if_alien(column: Column, variable: Variable) -> Column:
    """Return a column that has no value as one of no kind: most libraries call it one of numbers."""
    is_alien = not variable.family.accepts(column.family)
    return empty_column(column.name, len(column)) if is_alien and column.missing().all() else column


def _warn_of_dates(column: Column) -> None:
    """Warn of dates in a column that is categorical because it holds texts: nobody has said that they are."""
    if column.family is Family.TEXT and column.distinct is not None and are_dates(column.distinct):
        warn_outside(
            f"column {column.name!r} holds dates or times as texts, such as {column.distinct[0]!r}, and each is a "
            "category of its own: convert it to dates, with pandas.to_datetime for one, or list it in "
            "categorical_features",
            TextDatesWarning,
        )


def _names_mismatch(expected: list[str], given: list[str]) -> str:
    lines = ["The feature names should match those that were passed during fit."]
    missing = [name for name in expected if name not in given]
    extra = [name for name in given if name not in expected]
    if missing:
        lines.append(f"Missing columns: {listing(missing)}.")
    if extra:
        lines.append(f"Columns unseen at fit: {listing(extra)}.")
    if not missing and not extra:
        lines.append(f"They must be in the same order: {listing(expected)}.")
    return " ".join(lines)


def _categorical_mask(table: Table, categorical_features: Any) -> list[bool]:
    n_columns = len(table.columns)
    if categorical_features is None:
        return [False] * n_columns
    if isinstance(categorical_features, str):
        if categorical_features == "all":
            return [True] * n_columns
        if categorical_features == "from_dtype":
            return [column.categorical for column in table.columns]
        raise ValueError(
            f"categorical_features={categorical_features!r} is none of 'from_dtype', 'all', None, "
            "a boolean mask or a list of column names"
        )
    return _listed_mask(table.column_names, categorical_features)


def _listed_mask(names: ColumnNames, categorical_features: Any) -> list[bool]:
    listed = categorical_features.tolist() if hasattr(categorical_features, "tolist") else categorical_features
    if not isinstance(listed, Iterable) or any(isinstance(item, list | np.ndarray) for item in listed):
        raise ValueError(f"categorical_features={listed!r} must be a list: a mask, or names of columns")
    listed = list(listed)
    if listed and all(isinstance(item, bool | np.bool_) for item in listed):
        if len(listed) != len(names.called):
            raise ValueError(
                f"categorical_features is a mask of shape ({len(listed)},), expected ({len(names.called)},)"
            )
        return list(map(bool, listed))
    unknown = [name for name in listed if names.find(name) is None]
    if unknown:
        raise ValueError(
            f"categorical_features names columns {listing(unknown)}, out of {len(names.called)}: there are "
            f"{listing(names.shown)}"
            if all(isinstance(name, int) for name in unknown)
            else f"categorical_features names unknown columns: {listing(unknown)}; there are {listing(names.shown)}"
        )
    wanted = {names.find(name) for name in listed}
    return [place in wanted for place in range(len(names.called))]
