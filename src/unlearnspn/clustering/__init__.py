"""Clusterings."""

from unlearnspn.clustering.base import Clustering
from unlearnspn.clustering.qkmeans import QKMeans

__all__ = ["Clustering", "QKMeans"]
