"""The serving circuit in a file, in the formats in which it can be taken."""

from __future__ import annotations

from typing import Literal

from unlearnspn.circuit import Circuit
from unlearnspn.storage.errors import explained
from unlearnspn.storage.files import PathLike, write_file


def write_circuit(circuit: Circuit, path: PathLike, format: Literal["circuit", "json", "dot"]) -> None:
    """Write a circuit as it is loaded again, as JSON, or as Graphviz draws it."""
    match format:
        case "circuit":
            circuit.save(path)
        case "json":
            _write(path, circuit.to_json())
        case "dot":
            _write(path, circuit.to_graphviz())
        case _:
            raise ValueError(f"format={format!r} is neither 'circuit' nor 'json' nor 'dot'")


def _write(path: PathLike, text: str) -> None:
    with explained("write", path):
        write_file(path, [text.encode("utf-8", "surrogatepass")])
