"""The serving circuit in a file, in the formats in which it can be taken."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Literal

from unlearnspn.circuit import Circuit
from unlearnspn.storage.circuits import pack_circuit
from unlearnspn.storage.container import pack
from unlearnspn.storage.errors import explained
from unlearnspn.storage.files import PathLike, replacing

CircuitFormat = Literal["circuit", "json", "dot"]


def write_circuit(circuit: Circuit, path: PathLike, format: CircuitFormat) -> None:
    """Write a circuit as it is loaded again, as JSON, or as Graphviz draws it."""
    with writing_circuit(circuit, path, format):
        pass


@contextmanager
def writing_circuit(circuit: Circuit, path: PathLike, format: CircuitFormat) -> Iterator[None]:
    """Write a circuit as `write_circuit` does, into a file that is in its place once the block has ended.

    If the block fails, what was there before stays.
    """
    with ExitStack() as stack:
        with explained("write", path):
            stack.enter_context(replacing(path, _parts(circuit, format)))
        yield
        with explained("write", path):
            stack.close()


def _parts(circuit: Circuit, format: CircuitFormat) -> Iterable[bytes | memoryview]:
    match format:
        case "circuit":
            return pack(pack_circuit(circuit.layout, circuit.domains, circuit._document()))
        case "json":
            return [circuit.to_json().encode("utf-8", "surrogatepass")]
        case "dot":
            return [circuit.to_graphviz().encode("utf-8", "surrogatepass")]
        case _:
            raise ValueError(f"format={format!r} is neither 'circuit' nor 'json' nor 'dot'")
