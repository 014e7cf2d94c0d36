"""Records as the fields of a form, each according to the kind of its column, and what was changed in them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from unlearnspn.circuit.domains import Domain
from unlearnspn.schema import Kind
from unlearnspn.service.console.records import shown
from unlearnspn.service.errors import InvalidInputError
from unlearnspn.tables import Family
from unlearnspn.tables.times import is_day, written
from unlearnspn.vault import HeldRecords, Vault

#: So many categories are offered as a list; so many fields have all records of a form together.
_MOST_OPTIONS, _MOST_FIELDS = 60, 1500
#: What stands before a category in a list, so that none of them is taken for the other choices.
KNOWN, OTHER, MISSING = "=", "other", "missing"


@dataclass(frozen=True)
class Field:
    """One cell of a record in a form."""

    name: str
    column: str
    family: Family
    #: "number", "date", "text" or "select".
    input: str
    held: Any
    text: str
    is_missing: bool
    options: tuple[str, ...] = ()
    #: Whether a select has a field for other categories beside it, and what was typed there.
    has_other: bool = False
    other: str | None = None

    @property
    def chosen(self) -> str:
        """Which choice of a list it is."""
        if self.other is not None:
            return OTHER
        return MISSING if self.is_missing else KNOWN + self.text

    def filled(self, typed: Mapping[str, Any]) -> Field:
        """Return the field with what was typed."""
        text = _plain(str(typed.get(self.name, "")))
        if self.input != "select":
            return replace(self, text=text, is_missing=f"{self.name}.missing" in typed)
        if text == OTHER:
            return replace(self, other=_plain(str(typed.get(f"{self.name}.other", ""))), is_missing=False)
        if text == MISSING:
            return replace(self, is_missing=True, text="")
        text = text.removeprefix(KNOWN)
        return replace(self, text=next((each for each in self.options if _plain(each) == text), text), is_missing=False)

    def value(self) -> Any:
        """Return the value as JSON has it; what was not changed is as it is held."""
        if self.is_missing:
            return None
        text = self.text if self.other is None else self.other
        if _plain(text) == _plain(shown(self.held) or ""):
            return written(self.held)
        if not text:
            raise InvalidInputError(f"column {self.column!r} has no value: type one, or say that it is missing")
        match self.family:
            case Family.NUMBER:
                return _read_number(self.column, text)
            case Family.BOOLEAN:
                return text == "true"
            case Family.MIXED:
                return _as_it_was(self.held, text)
            case _:
                return text

    @property
    def is_changed(self) -> bool:
        """Whether it has another value than the one that is held."""
        return shown(self.value()) != shown(self.held)


@dataclass(frozen=True)
class RecordFields:
    """A record in a form."""

    place: int
    id: Any
    fields: tuple[Field, ...]


@dataclass(frozen=True)
class CorrectionForm:
    """All records of a person in a form, or as many as fit."""

    id_column: str
    records: tuple[RecordFields, ...]
    n_left_out: int

    @classmethod
    def of(cls, vault: Vault, held: HeldRecords) -> CorrectionForm:
        """Return the form for some records."""
        info = vault.info()
        n_before = len(held.columns) - len(info.columns)
        domains = {domain.name: domain for domain in vault.circuit_.domains.columns} if info.fitted else {}
        columns = list(zip(range(n_before, len(held.columns)), info.columns, strict=True))
        most = max(_MOST_FIELDS // max(len(columns), 1), 1)
        kept = held.rows[:most]
        makers = {
            name: _Maker(name, Family(info.families[name]), domains.get(name), [row[at] for row in held.rows])
            for at, name in columns
        }
        records = tuple(
            RecordFields(
                place,
                row[0],
                tuple(
                    makers[name].make(f"value.{place}.{number}", row[at]) for number, (at, name) in enumerate(columns)
                ),
            )
            for place, row in enumerate(kept)
        )
        return cls(held.columns[0] if held.columns else "id", records, len(held.rows) - len(kept))

    def filled(self, typed: Mapping[str, Any]) -> CorrectionForm:
        """Return the form with what was typed."""
        records = []
        for record in self.records:
            if typed.get(f"id.{record.place}") != str(record.id):
                raise InvalidInputError("the records have changed since the form was shown: open it again")
            records.append(replace(record, fields=tuple(field.filled(typed) for field in record.fields)))
        return replace(self, records=tuple(records))

    def changes(self, typed: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the records of which something was changed, with the columns of which something was changed."""
        filled = self.filled(typed)
        columns = {field.column for record in filled.records for field in record.fields if field.is_changed}
        changed = [record for record in filled.records if any(field.is_changed for field in record.fields)]
        return [
            {self.id_column: record.id}
            | {field.column: field.value() for field in record.fields if field.column in columns}
            for record in changed
        ]


class _Maker:
    """Makes the fields of a column."""

    def __init__(self, name: str, family: Family, domain: Domain | None, held: list[Any]) -> None:
        self._name = name
        self._family = family
        self._options = _options(family, domain, held)
        days = [value for value in held if value is not None]
        self._is_day = family is Family.DATE and bool(days) and all(map(is_day, days))

    def make(self, name: str, held: Any) -> Field:
        """Make the field of one record."""
        text = shown(held)
        return Field(
            name,
            self._name,
            self._family,
            self._input(),
            held,
            text or "",
            text is None,
            self._options,
            self._family is not Family.BOOLEAN,
        )

    def _input(self) -> str:
        if self._options:
            return "select"
        if self._family is Family.NUMBER:
            return "number"
        return "date" if self._is_day else "text"


def _options(family: Family, domain: Domain | None, held: list[Any]) -> tuple[str, ...]:
    """Return the categories to choose from, if these are few."""
    if family is Family.BOOLEAN:
        return ("true", "false")
    if domain is None or domain.kind is not Kind.CATEGORICAL or len(domain.categories) > _MOST_OPTIONS:
        return ()
    # A category that is rare may be in no circuit.
    texts = [*map(shown, domain.categories), *map(shown, held)]
    return tuple(dict.fromkeys(text for text in texts if text is not None))


def _plain(text: str) -> str:
    """Return a text as it comes from a form, which does not keep all spaces and ends of lines."""
    return " ".join(text.split())


def _read_number(column: str, text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise InvalidInputError(f"column {column!r}: {text!r} is no number")
    return number


def _as_it_was(held: Any, text: str) -> Any:
    """Return a value of a column of several kinds: a number if there was one before."""
    if isinstance(held, int | float) and not isinstance(held, bool):
        try:
            return float(text)
        except ValueError:
            return text
    return text
