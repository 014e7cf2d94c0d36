"""What a vault is and holds, in a few words and numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from unlearnspn.certificates import Digests
from unlearnspn.tables.names import Label
from unlearnspn.vault.home import Home


@dataclass(frozen=True)
class Info:
    """What a vault is and holds, without a single value."""

    path: str
    vault: str
    n_records: int
    columns: tuple[str, ...]
    #: What the values of each column are: numbers, texts, booleans.
    families: dict[str, str]
    id_column: Label
    subject_column: Label
    #: "texts" or "integers"; None before the first record.
    id_kind: str | None
    fitted: bool
    parameters: dict[str, Any] | None
    digests: Digests | None
    n_entries: int
    key_id: str
    guard: bool
    file_bytes: int


def describe(home: Home) -> Info:
    """Return what a vault is and holds."""
    contents = home.contents()
    form, learned = contents.form, contents.learned
    return Info(
        path=str(home.path),
        vault=contents.vault,
        n_records=len(contents),
        columns=() if form is None else tuple(column.name for column in form.columns),
        families={} if form is None else {column.name: column.family.value for column in form.columns},
        id_column=None if form is None else form.id_column,
        subject_column=None if form is None else form.subject_column,
        id_kind=None if form is None else "texts" if form.string_ids else "integers",
        fitted=learned is not None,
        parameters=None if learned is None else learned.parameters.by_name(),
        digests=contents.digests,
        n_entries=home.last_entry + 1,
        key_id=home.public_key.id,
        guard=contents.guard.is_on,
        file_bytes=home.path.stat().st_size,
    )
