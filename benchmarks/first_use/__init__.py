"""What a user meets: each figure from a fresh process with default settings."""

from benchmarks.first_use.plan import Plan
from benchmarks.first_use.run import NAME, measure

__all__ = ["NAME", "Plan", "measure"]
