"""Pictures of a model, drawn with matplotlib: ``pip install 'unlearnspn[plot]'``.

Each function draws on the axes it is given, or on a figure of its own, and returns the axes.
"""

from unlearnspn.plots.joint import plot_joint
from unlearnspn.plots.marginal import plot_marginal
from unlearnspn.plots.network import plot_network
from unlearnspn.plots.removal import plot_removal

__all__ = ["plot_joint", "plot_marginal", "plot_network", "plot_removal"]
