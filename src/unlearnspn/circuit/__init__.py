"""The serving circuit: a compact, immutable form of the network that holds no record and no state."""
