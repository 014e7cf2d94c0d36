"""Figures: what was measured, how much it varies, and what it was meant to be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any


@dataclass(frozen=True)
class Target:
    """A bound that a figure is to keep.

    >>> str(Target(30.0)), str(Target(1.1, at_least=False))
    ('≥ 30', '≤ 1.1')
    """

    bound: float
    at_least: bool = True

    def is_reached_by(self, value: float) -> bool:
        """Tell whether a figure keeps the bound."""
        return value >= self.bound if self.at_least else value <= self.bound

    def __str__(self) -> str:
        return f"{'≥' if self.at_least else '≤'} {self.bound:.4g}"


def at_least(bound: float) -> Target:
    """Return the target of a figure that should be large."""
    return Target(bound)


def at_most(bound: float) -> Target:
    """Return the target of a figure that should be small."""
    return Target(bound, at_least=False)


@dataclass(frozen=True)
class Figure:
    """A number, its standard deviation over runs if there were several, and its target if it has one.

    >>> Figure.of([29.0, 31.0, 36.0], at_least(30.0)).reached
    True
    """

    value: float
    std: float | None = None
    target: Target | None = None

    @classmethod
    def of(cls, values: Sequence[float], target: Target | None = None) -> Figure:
        """Return the mean and the deviation of several runs."""
        return cls(fmean(values), stdev(values) if len(values) > 1 else None, target)

    @property
    def reached(self) -> bool | None:
        """Whether the target was reached; None without a target."""
        return None if self.target is None else self.target.is_reached_by(self.value)

    def as_json(self) -> dict[str, Any]:
        """Return what a file of results says about it."""
        document: dict[str, Any] = {"value": self.value}
        if self.std is not None:
            document["std"] = self.std
        if self.target is not None:
            document["target"] = {"bound": self.target.bound, "at_least": self.target.at_least}
            document["reached"] = self.reached
        return document


def times(numerators: Sequence[float], denominators: Sequence[float], target: Target | None = None) -> Figure:
    """Return how many times the first are the second, run by run.

    >>> times([4.0, 9.0], [2.0, 3.0]).value
    2.5
    """
    return Figure.of([above / below for above, below in zip(numerators, denominators, strict=True)], target)
