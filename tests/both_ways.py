"""Kernels run as they are written and compiled, side by side, and what they do is compared bit for bit."""

import sys
from contextlib import ExitStack, contextmanager
from unittest import mock

import numpy as np
from numba.core.registry import CPUDispatcher
from numba.experimental.structref import StructRefProxy

from unlearnspn.compiling import kernels
from unlearnspn.compiling.written import interpreted, run


def is_late(value):
    """Tell whether something is, or was before it became one like others, a late kernel."""
    return isinstance(value, kernels._Kernel) and hasattr(value, "_work")


def late_kernels():
    """Return the names of all late kernels that have been imported."""
    modules = [module for name, module in sys.modules.items() if name.startswith("unlearnspn.")]
    return {value.__name__ for module in modules for value in vars(module).values() if is_late(value)}


@contextmanager
def both_ways():
    """Run every late kernel both ways; yields a growing list of those called, with what the interpreter refused.

    Calls that a library leaves to compiled code are not among them.
    """
    calls = []

    def call(kernel, *arguments):
        if not is_late(kernel):
            return CPUDispatcher.__call__(kernel, *arguments)
        twins, refused = _copied(arguments), None
        try:
            meanwhile = kernel._meanwhile
            written = meanwhile(*twins) if meanwhile else run(interpreted(kernel.py_func, {}), twins)
        except NotImplementedError:
            assert kernel._meanwhile, f"{kernel.__name__} is written here, and leaves nothing to others"
            return CPUDispatcher.__call__(kernel, *arguments)
        except Exception as error:
            refused = error
            assert alike(arguments, twins), f"{kernel.__name__} left traces"
        compiled = CPUDispatcher.__call__(kernel, *arguments)
        if refused is None:
            assert alike(compiled, written), f"{kernel.__name__} returns {written}, compiled {compiled}"
            assert alike(arguments, twins), f"{kernel.__name__} changes its arguments otherwise when compiled"
        calls.append((kernel.__name__, refused))
        return compiled

    with ExitStack() as stack:
        for kind in (kernels._Kernel, kernels._LateKernel):
            stack.enter_context(mock.patch.object(kind, "__call__", call, create=True))
        yield calls


def alike(one, other):
    """Tell whether two values are the same to the last bit, and of the same types."""
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        return (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, StructRefProxy):
        return alike(tuple(vars(one).values()), tuple(vars(other).values()))
    return one == other or (one != one and other != other)


def _copied(value):
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, tuple):
        copied = [_copied(each) for each in value]
        return type(value)(*copied) if hasattr(value, "_fields") else tuple(copied)
    if isinstance(value, StructRefProxy):
        return type(value).of(*map(_copied, vars(value).values()))
    return value
