"""Single numbers that hold all of the probability."""

from __future__ import annotations

import numpy as np

from unlearnspn.circuit.distributions.base import Floats
from unlearnspn.circuit.distributions.quadrature import shifted_moment
from unlearnspn.circuit.expressions import LOG_MASS, LOW


class Point:
    """No parameters but the bounds, which are the same."""

    discrete = True

    def raw_log_mass(self, parameters: Floats, low: Floats, high: Floats) -> Floats:
        """Return the log-probability between closed bounds: all or nothing."""
        point = parameters[:, LOW]
        return np.where((low <= point) & (point <= high), 0.0, -np.inf)

    def log_share(self, parameters: Floats, low: Floats, high: Floats) -> Floats:
        """Return the log of the share of what is left that is between closed bounds."""
        return self.raw_log_mass(parameters, low, high) - parameters[:, LOG_MASS]

    def quantile(self, parameters: Floats, shares: Floats) -> Floats:
        """Return the number, whatever the share."""
        return parameters[:, LOW].copy()

    def moment(self, parameters: Floats, order: int, centre: Floats) -> Floats:
        """Return (x - centre)**order."""
        nothing = np.zeros(len(parameters))
        return shifted_moment(parameters[:, LOW], centre, nothing, [1.0] * (order + 1), order)

    def mode(self, parameters: Floats) -> Floats:
        """Return the number."""
        return parameters[:, LOW].copy()
