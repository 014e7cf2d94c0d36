"""Test log-likelihood of tuned models on the binary density estimation sets."""

from unlearnspn.bench.quality.chart import draw
from unlearnspn.bench.quality.plan import Plan
from unlearnspn.bench.quality.run import NAME, measure

__all__ = ["NAME", "Plan", "draw", "measure"]
