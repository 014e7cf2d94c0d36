"""What the compiler knows of a part: its translation, and what it takes to call it."""

from __future__ import annotations

from typing import Any

from llvmlite.binding import parse_bitcode
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import compile_result


class PartLibrary(JITCodeLibrary):
    """A translation, neither optimised nor made into machine code: that is left to what it is linked to."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    @classmethod
    def from_bitcode(cls, codegen: Any, name: str, bitcode: bytes) -> PartLibrary:
        """Read a translation back."""
        library = cls(codegen, name)
        library._final_module = parse_bitcode(bitcode)
        library._finalize_final_module()
        return library


def as_part(result: Any) -> Any:
    """Give a part something to be known by: any object will do, but each part needs one of its own."""
    return result._replace(entry_point=object())


def pack(result: Any) -> tuple[object, ...]:
    """Return what can be kept on disk of a part."""
    library, descriptor = result.library, result.fndesc
    # Not needed any more, and not made to be kept.
    descriptor.typemap = descriptor.calltypes = None
    library._ensure_finalized()
    bitcode = library._final_module.as_bitcode()
    return library.name, bitcode, descriptor, result.environment, result.signature, result.reload_init


def unpack(target_context: Any, packed: tuple[Any, ...]) -> Any:
    """Return a part as the compiler would."""
    name, bitcode, descriptor, environment, signature, reload_init = packed
    for initialise in reload_init:
        initialise()
    result = compile_result(
        target_context=target_context,
        typing_context=target_context.typing_context,
        library=PartLibrary.from_bitcode(target_context.codegen(), name, bitcode),
        environment=environment,
        fndesc=descriptor,
        signature=signature,
        objectmode=False,
        lifted=(),
        reload_init=reload_init,
    )
    return as_part(result)
