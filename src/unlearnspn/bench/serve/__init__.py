"""Log-densities of many rows, against SPFlow and deeprob-kit, on networks of the same size."""

from unlearnspn.bench.serve.chart import draw
from unlearnspn.bench.serve.plan import Plan
from unlearnspn.bench.serve.run import NAME, measure

__all__ = ["NAME", "Plan", "draw", "measure"]
