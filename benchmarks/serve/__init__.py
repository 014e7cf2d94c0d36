"""Log-densities of many rows, against SPFlow and deeprob-kit, on networks of the same size."""

from benchmarks.serve.chart import draw
from benchmarks.serve.plan import Plan
from benchmarks.serve.run import NAME, measure

__all__ = ["NAME", "Plan", "draw", "measure"]
