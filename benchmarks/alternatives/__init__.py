"""What exact removal buys: beside retraining, sharding, differential privacy, and doing nothing."""

from benchmarks.alternatives.chart import draw
from benchmarks.alternatives.plan import Plan
from benchmarks.alternatives.run import NAME, measure

__all__ = ["NAME", "Plan", "draw", "measure"]
