"""The serving circuit in a file, in the formats in which it can be taken."""

from __future__ import annotations

from typing import Literal

from unlearnspn.circuit import Circuit
from unlearnspn.storage.files import PathLike, write_file


def write_circuit(circuit: Circuit, path: PathLike, format: Literal["circuit", "json", "dot"]) -> None:
    """Write a circuit as it is loaded again, as JSON, or as Graphviz draws it."""
    match format:
        case "circuit":
            circuit.save(path)
        case "json":
            write_file(path, [circuit.to_json().encode()])
        case "dot":
            write_file(path, [circuit.to_graphviz().encode()])
        case _:
            raise ValueError(f"format={format!r} is neither 'circuit' nor 'json' nor 'dot'")
