"""How training, memory and removals grow with the table."""

from unlearnspn.bench.scale.chart import draw
from unlearnspn.bench.scale.plan import Plan
from unlearnspn.bench.scale.run import NAME, measure

__all__ = ["NAME", "Plan", "draw", "measure"]
