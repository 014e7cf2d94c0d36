"""Kernels as they are written: the interpreter does what compiled code would do, word for word.

To compile takes seconds, to interpret little work far less. What compiled code would do is done with the types that it
has: numbers of 64 bits, whatever an array keeps them in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
from numba.experimental.structref import StructRefProxy

from unlearnspn.compiling.calls import is_own

Array = npt.NDArray[Any]

#: What kernels calculate with, whole numbers or not.
_WIDE = {"i": np.int64, "u": np.int64, "f": np.float64}

#: The global names of a module as functions of the interpreter see them, by those that kernels see.
_Globals = dict[int, dict[str, Any]]


def interpreted(function: Callable[..., Any], known: _Globals) -> Callable[..., Any]:
    """Return a function that calls other kernels as they are written, too."""
    variables = _variables(function.__globals__, known)
    return FunctionType(function.__code__, variables, function.__name__, function.__defaults__)


def _variables(variables: dict[str, Any], known: _Globals) -> dict[str, Any]:
    """Return global names, those of kernels standing for what they are made of; inner kernels may be compiled."""
    if id(variables) not in known:
        # Known before it is complete, as kernels of two modules may call each other.
        known[id(variables)] = copy = dict(variables)
        for name, value in variables.items():
            function = getattr(value, "py_func", None)
            if function is not None:
                written = interpreted(function, known)
                copy[name] = value.within(written) if hasattr(value, "within") else written
            elif is_own(value):
                copy[name] = SimpleNamespace(**_variables(vars(value), known))
    return known[id(variables)]


def run(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Call a function as if it were compiled; if that fails, arrays are left as they were."""
    arrays = _changeable(arguments)
    before = [array.copy() for array in arrays]
    wide: dict[int, Array] = {}
    try:
        with np.errstate(all="ignore"):
            answer = function(*(_given(argument, wide) for argument in arguments))
        for array in arrays:
            if id(array) in wide:
                array[...] = wide[id(array)]
    except BaseException:
        for array, values in zip(arrays, before, strict=True):
            array[...] = values
        raise
    return _returned(answer)


def n_copied(arguments: tuple[Any, ...]) -> int:
    """Return how many elements are copied before a function is called."""
    narrow = sum(array.size for array in arrays_of(arguments) if _is_narrow(array))
    return narrow + sum(array.size for array in _changeable(arguments))


def _changeable(arguments: tuple[Any, ...]) -> list[Array]:
    # Structures are only read, see `Ground`.
    own = (argument for argument in arguments if not isinstance(argument, StructRefProxy))
    return [array for array in arrays_of(own) if array.flags.writeable]


def _is_narrow(array: Array) -> bool:
    return array.dtype.kind in _WIDE and array.itemsize < 8


def arrays_of(values: Iterable[Any]) -> Iterator[Array]:
    """Yield all arrays among some values, and in tuples and structures of them."""
    for value in values:
        if isinstance(value, np.ndarray):
            yield value
        elif isinstance(value, tuple):
            yield from arrays_of(value)
        elif isinstance(value, StructRefProxy):
            yield from arrays_of(vars(value).values())


def _given(value: Any, wide: dict[int, Array]) -> Any:
    """Return an argument as a kernel sees it: all numbers have 64 bits."""
    if isinstance(value, np.ndarray):
        if not _is_narrow(value):
            return value
        return wide.setdefault(id(value), value.astype(_WIDE[value.dtype.kind]))
    if isinstance(value, tuple):
        given = [_given(each, wide) for each in value]
        return type(value)(*given) if hasattr(value, "_fields") else tuple(given)
    if isinstance(value, StructRefProxy):
        return SimpleNamespace(**{name: _given(field, wide) for name, field in vars(value).items()})
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return np.int64(value)
    return np.float64(value) if isinstance(value, float) else value


def _returned(value: Any) -> Any:
    """Return an answer as Python gets it: with numbers of Python's own."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, tuple):
        returned = [_returned(each) for each in value]
        return type(value)(*returned) if hasattr(value, "_fields") else tuple(returned)
    return value
