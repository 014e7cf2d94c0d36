"""Test log-likelihood of tuned models on the binary density estimation sets."""

from benchmarks.quality.chart import draw
from benchmarks.quality.plan import Plan
from benchmarks.quality.run import NAME, measure

__all__ = ["NAME", "Plan", "draw", "measure"]
