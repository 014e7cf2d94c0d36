"""The cache of compiled kernels, which is valid as long as nothing has changed that they are made of.

Beside each it keeps how long processes have run the kernel as it is written.

The compiler's own cache looks at a function and its file, and would go on to use it when a function of another file,
which is a part of it, has changed.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType
from typing import Any

import numpy as np
from numba.core.caching import CompileResultCacheImpl, FunctionCache, NullCache

from unlearnspn.compiling.calls import functions_of, named_values
from unlearnspn.compiling.parts import pack, unpack

_PLAIN = (bool, int, float, str, tuple, np.generic)


class KernelCache(FunctionCache):
    """What is kept on disk of a kernel, for each type of its arguments."""

    def _index_key(self, sig: Any, codegen: Any) -> tuple[object, ...]:
        return (*super()._index_key(sig, codegen), fingerprint(self._py_func))

    def has(self, sig: Any, target_context: Any) -> bool:
        """Tell whether something is kept for these types, without reading it."""
        return self._index_key(sig, target_context.codegen()) in self._cache_file._load_index()

    def is_empty(self) -> bool:
        """Tell whether nothing is kept of the kernel as it is now."""
        present = fingerprint(self._py_func)
        return all(key[-1] != present for key in self._cache_file._load_index())

    @property
    def _seconds_file(self) -> Path:
        return Path(self._cache_path, f"{self._impl.filename_base}.seconds")

    def read_seconds(self) -> float:
        """Return for how long other processes have run the kernel as it is written."""
        try:
            present, seconds = self._seconds_file.read_text().split()
            return float(seconds) if present == fingerprint(self._py_func) else 0.0
        except (OSError, ValueError):
            return 0.0

    def write_seconds(self, seconds: float) -> None:
        """Keep for other processes for how long the kernel has run as it is written."""
        with TemporaryDirectory(dir=self._cache_path) as folder:
            file = Path(folder, "seconds")
            file.write_text(f"{fingerprint(self._py_func)} {seconds}")
            file.replace(self._seconds_file)


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
    parts = []
    for part in functions_of(function):
        parts.append(_describe_code(part.__code__))
        for value in named_values(part):
            is_kernel = hasattr(value, "py_func")
            parts.append(f"inlined: {getattr(value, 'inline', False)}" if is_kernel else _describe_value(value))
    return sha256("\n".join(parts).encode()).hexdigest()


def _describe_code(code: CodeType) -> str:
    constants = [_describe_code(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts]
    return f"{code.co_qualname} {code.co_code.hex()} {code.co_names} {constants}"


def _describe_value(value: object) -> str:
    """Describe what a kernel may be compiled with: constants, arrays of them, and the fields of named tuples."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} {sha256(value.tobytes()).hexdigest()}"
    if isinstance(value, _PLAIN):
        return repr(value)
    return repr(getattr(value, "_fields", None))
