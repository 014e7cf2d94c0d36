"""The service under load: scores for many clients while people are removed."""

from benchmarks.service.plan import Plan
from benchmarks.service.run import NAME, measure

__all__ = ["NAME", "Plan", "measure"]
