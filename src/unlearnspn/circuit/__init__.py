"""The serving circuit: a compact, immutable form of the network that holds no record and no state."""

from unlearnspn.circuit.circuit import Circuit
from unlearnspn.circuit.evidence import Range

__all__ = ["Circuit", "Range"]
