"""How a source is to be read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from unlearnspn.sources.formats import Format
from unlearnspn.tables import Family

#: Is told how many bytes of how many have been read.
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Options:
    """How a source is to be read; what is not said is found out, never guessed from single values.

    `known` says what columns hold, if that is known from before; `texts` are columns that are texts whatever they
    look like: ids, subjects, and numbers that are codes.
    """

    format: Format | None = None
    delimiter: str = ","
    encoding: str | None = None
    #: Cells that stand for nothing, besides empty ones.
    missing: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()
    numbers: frozenset[str] = frozenset()
    #: Those among the columns named here that the source may lack.
    optional: frozenset[str] = frozenset()
    known: Mapping[str, Family] = field(default_factory=dict)
    #: Columns of whole numbers, such as ids, that must not become floats.
    integers: frozenset[str] = frozenset()
    table: str | None = None
    query: str | None = None
