"""What a kernel is made of: its code, that of all kernels it calls, and what else they name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import CodeType, ModuleType

Function = Callable[..., object]


def functions_of(kernel: Function) -> list[Function]:
    """Return the function of a kernel and, each once, those of all kernels that it calls."""
    found = {kernel: None}
    pending = [kernel]
    while pending:
        function = pending.pop()
        called = [value.py_func for value in named_values(function) if hasattr(value, "py_func")]
        new = [each for each in called if each not in found]
        found.update(dict.fromkeys(new))
        pending.extend(new)
    return list(found)


def named_values(function: Function) -> Iterator[object]:
    """Yield what the global names in a function stand for, also as attributes of a module of this package."""
    yield from _named_values(function.__code__, function.__globals__)


def is_own(value: object) -> bool:
    """Tell whether something is a module of this package."""
    return isinstance(value, ModuleType) and value.__name__.startswith("unlearnspn")


def _named_values(code: CodeType, variables: dict[str, object]) -> Iterator[object]:
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _named_values(inner, variables)
    for name in code.co_names:
        value = variables.get(name)
        yield value
        if is_own(value):
            yield from (vars(value).get(attribute) for attribute in code.co_names)
