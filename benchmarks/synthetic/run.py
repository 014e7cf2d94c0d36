"""All sections, one after another."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.progress import Bar
from benchmarks.reports import Section
from benchmarks.synthetic.classes import measure_classes
from benchmarks.synthetic.gaps import measure_gaps
from benchmarks.synthetic.likelihood import measure_likelihood, measure_outliers
from benchmarks.synthetic.plan import Plan
from benchmarks.synthetic.samples import measure_correlation, measure_quality

NAME = "synthetic"


def measure(plan: Plan, bar: Bar) -> Iterator[Section]:
    """Measure samples, likelihood, gaps, classes and outliers."""
    if plan.sdv is not None:
        yield measure_quality(plan, plan.sdv, bar)
    yield measure_likelihood(plan, bar)
    yield measure_correlation(plan, bar)
    yield measure_gaps(plan, bar)
    yield measure_classes(plan, bar)
    yield measure_outliers(plan, bar)
