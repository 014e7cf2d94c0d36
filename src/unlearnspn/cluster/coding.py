"""How the columns are coded, found by what shards count: categories, moments, and the searches of numeric columns."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, NamedTuple, TypeVar

from unlearnspn.binning import Between, Cells, Search, heaviest_of
from unlearnspn.cluster.asking import Ask, Question, added
from unlearnspn.cluster.part_records import Counted
from unlearnspn.cluster.selections import Selection
from unlearnspn.coding import CategoricalCoder, NumericCoder
from unlearnspn.records import variable_key
from unlearnspn.schema import Kind, Schema
from unlearnspn.statistics.moments import Moments
from unlearnspn.tables import Category, Family, token
from unlearnspn.tables.times import DAY
from unlearnspn.totals import Totals

T = TypeVar("T")
#: Answers an ask from records that the coordinator holds itself.
Own = Callable[[Any], Any]


def search_column(search: Search[T], v: int, selection: Selection, own: Own | None = None) -> Question[T]:
    """Return what a search finds in a column, some values of which the coordinator may hold itself."""
    answer: Any = None
    while True:
        try:
            ask = search.send(answer)
        except StopIteration as stop:
            found: T = stop.value
            return found
        answers = yield Ask("answer_column", (v, ask, selection))
        answers = answers if own is None else [*answers, own(ask)]
        if isinstance(ask, Cells):
            answer = added(answers)
        elif isinstance(ask, Between):
            answer = any(answers)
        else:
            answer = yield from _find_heaviest(v, answers, selection, own)


def _find_heaviest(
    v: int, parts: list[tuple[list[float], int]], selection: Selection, own: Own | None
) -> Question[tuple[float, int, int]]:
    """Return the value that most have: what more than a third of all have, more than a third of some part's have."""
    values = sorted({value for candidates, _ in parts for value in candidates})
    counted = Counted(values)
    answers = yield Ask("answer_column", (v, counted, selection))
    answers = answers if own is None else [*answers, own(counted)]
    return heaviest_of(values, added(answers).tolist(), sum(n_values for _, n_values in parts))


class Survey(NamedTuple):
    """What shards tell of their values before these are coded."""

    coders: dict[int, CategoricalCoder]
    totals: Totals


def survey(schema: Schema, selection: Selection) -> Question[Survey]:
    """Return how categories are coded, and the totals of the numbers."""
    answers = yield Ask("survey", (selection,))
    categories, totals = zip(*answers, strict=True)
    kinds = enumerate(variable.kind for variable in schema.variables)
    coders = {
        v: CategoricalCoder.learn(variable_key(v), _distinct([part[v] for part in categories]))
        for v, kind in kinds
        if kind is Kind.CATEGORICAL
    }
    return Survey(coders, reduce(Totals.merge, totals))


def _distinct(parts: list[list[Category]]) -> list[Category]:
    """Return the categories of several parts, each once."""
    return list({token(category): category for part in parts for category in part}.values())


def learn_number(
    schema: Schema, n_bins: int, v: int, moments: Moments, selection: Selection, own: Own | None = None
) -> Question[tuple[NumericCoder, int]]:
    """Return how a numeric column is coded, and its slack."""
    unit = DAY if schema.variables[v].family is Family.DATE else 1.0
    search = NumericCoder.search(variable_key(v), n_bins, moments, unit)
    return (yield from search_column(search, v, selection, own))
