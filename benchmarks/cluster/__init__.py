"""The same fit on the workers of a cluster as in one process: time, bytes and memory beside it."""

from benchmarks.cluster.chart import draw
from benchmarks.cluster.plan import Plan
from benchmarks.cluster.run import NAME, measure

__all__ = ["NAME", "Plan", "draw", "measure"]
