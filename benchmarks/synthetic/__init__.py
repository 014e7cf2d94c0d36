"""Samples, imputations and predictions of the default models, beside what others use, by other people's measures."""

from benchmarks.synthetic.plan import Plan
from benchmarks.synthetic.run import NAME, measure

__all__ = ["NAME", "Plan", "measure"]
