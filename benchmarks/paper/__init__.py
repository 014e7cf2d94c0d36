"""The paper's experiment: removals one by one against retraining, and what other libraries take and reach."""

from benchmarks.paper.chart import draw
from benchmarks.paper.experiment import NAME, measure
from benchmarks.paper.plan import Plan

__all__ = ["NAME", "Plan", "draw", "measure"]
