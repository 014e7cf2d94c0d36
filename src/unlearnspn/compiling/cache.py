"""The cache of compiled kernels, which is valid as long as nothing has changed that they are made of.

The compiler's own cache looks at a function and its file, and would go on to use it when a function of another file,
which is a part of it, has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import sha256
from types import CodeType, ModuleType
from typing import Any

import numpy as np
from numba.core.caching import CompileResultCacheImpl, FunctionCache, NullCache

from unlearnspn.compiling.parts import pack, unpack

_PLAIN = (bool, int, float, str, tuple, np.generic)


class KernelCache(FunctionCache):
    """What is kept on disk of a kernel, for each type of its arguments."""

    def _index_key(self, sig: Any, codegen: Any) -> tuple[object, ...]:
        return (*super()._index_key(sig, codegen), fingerprint(self._py_func))


class _PartFiles(CompileResultCacheImpl):
    """The files of a part: others than those of the kernel."""

    def get_filename_base(self, fullname: str, abiflags: str) -> Any:
        return super().get_filename_base(f"{fullname}-part", abiflags)

    def reduce(self, cres: Any) -> tuple[object, ...]:
        return pack(cres)

    def rebuild(self, target_context: Any, payload: tuple[Any, ...]) -> Any:
        return unpack(target_context, payload)


class PartCache(KernelCache):
    """What is kept on disk of a kernel as a part of others."""

    _impl_class = _PartFiles


def open_cache(kind: type[KernelCache], function: Callable[..., object]) -> KernelCache | NullCache:
    """Open the cache of a function; where nothing can be written, nothing is kept."""
    try:
        return kind(function)
    except RuntimeError:
        return NullCache()


def fingerprint(function: Callable[..., object]) -> str:
    """Return a hash of a function, of all kernels that it calls, and of the constants they use."""
    seen, pending, parts = {function}, [function], []
    while pending:
        caller = pending.pop()
        parts.append(_describe_code(caller.__code__))
        for value in _named_values(caller.__code__, caller.__globals__):
            called = getattr(value, "py_func", None)
            if called is None:
                parts.append(_describe_value(value))
            elif called not in seen:
                seen.add(called)
                pending.append(called)
                parts.append(f"inlined: {getattr(value, 'inline', False)}")
    return sha256("\n".join(parts).encode()).hexdigest()


def _describe_code(code: CodeType) -> str:
    constants = [_describe_code(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts]
    return f"{code.co_qualname} {code.co_code.hex()} {code.co_names} {constants}"


def _named_values(code: CodeType, variables: dict[str, object]) -> Iterator[object]:
    """Yield what the global names in a function stand for, also as attributes of a module of this package."""
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _named_values(inner, variables)
    for name in code.co_names:
        value = variables.get(name)
        yield value
        if isinstance(value, ModuleType) and value.__name__.startswith("unlearnspn"):
            yield from (vars(value).get(attribute) for attribute in code.co_names)


def _describe_value(value: object) -> str:
    """Describe what a kernel may be compiled with: constants, arrays of them, and the fields of named tuples."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} {sha256(value.tobytes()).hexdigest()}"
    if isinstance(value, _PLAIN):
        return repr(value)
    return repr(getattr(value, "_fields", None))
