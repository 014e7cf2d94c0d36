"""Leaf distributions."""

from unlearnspn.leaves.base import Leaf
from unlearnspn.leaves.categorical import Categorical
from unlearnspn.leaves.gaussian import Gaussian

__all__ = ["Categorical", "Gaussian", "Leaf"]
