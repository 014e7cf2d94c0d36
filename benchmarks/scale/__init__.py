"""How training, memory and removals grow with the table."""

from benchmarks.scale.chart import draw
from benchmarks.scale.plan import Plan
from benchmarks.scale.run import NAME, measure

__all__ = ["NAME", "Plan", "draw", "measure"]
