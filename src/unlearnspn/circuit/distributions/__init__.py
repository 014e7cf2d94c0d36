"""Distributions of numbers, one file for each family."""

from __future__ import annotations

from unlearnspn.circuit.distributions.base import Distribution, cut_off, log_mass
from unlearnspn.circuit.distributions.exponential import Exponential
from unlearnspn.circuit.distributions.gaussian import Gaussian
from unlearnspn.circuit.distributions.histogram import Histogram
from unlearnspn.circuit.distributions.log_normal import LogNormal
from unlearnspn.circuit.distributions.point import Point
from unlearnspn.circuit.distributions.poisson import Poisson
from unlearnspn.circuit.expressions import Unit

#: The distribution that each kind of input over numbers has.
NUMERIC: dict[Unit, Distribution] = {
    Unit.GAUSSIAN: Gaussian(),
    Unit.EXPONENTIAL: Exponential(),
    Unit.LOG_NORMAL: LogNormal(),
    Unit.POISSON: Poisson(),
    Unit.HISTOGRAM: Histogram(),
    Unit.POINT: Point(),
}

__all__ = ["NUMERIC", "Distribution", "cut_off", "log_mass"]
