"""Leaf distributions."""

from unlearnspn.leaves.base import Leaf, LearnedDistribution
from unlearnspn.leaves.bernoulli import Bernoulli
from unlearnspn.leaves.categorical import Categorical
from unlearnspn.leaves.chow_liu import ChowLiu
from unlearnspn.leaves.exponential import Exponential
from unlearnspn.leaves.gaussian import Gaussian
from unlearnspn.leaves.histogram import Histogram
from unlearnspn.leaves.log_normal import LogNormal
from unlearnspn.leaves.poisson import Poisson
from unlearnspn.leaves.support import Support, check_support

__all__ = [
    "Bernoulli",
    "Categorical",
    "ChowLiu",
    "Exponential",
    "Gaussian",
    "Histogram",
    "Leaf",
    "LearnedDistribution",
    "LogNormal",
    "Poisson",
    "Support",
    "check_support",
]
