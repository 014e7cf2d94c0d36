"""The paper's experiment: removals one by one against retraining, and what other libraries take and reach."""

from unlearnspn.bench.paper.chart import draw
from unlearnspn.bench.paper.experiment import NAME, measure
from unlearnspn.bench.paper.plan import Plan

__all__ = ["NAME", "Plan", "draw", "measure"]
