"""How kernels are compiled: machine code is made only of what Python calls, and what it calls is a part of it.

The compiler would otherwise optimise each function for itself, make machine code and a wrapper of it, and do so again
within whatever calls it. A kernel here has two faces: to Python a compiled function; to other kernels a part, which is
but translated, and optimised together with what it is a part of. Both are kept on disk. A late kernel has a third
face: the interpreter runs it as it is written until it pays to compile it. Inner kernels,
where most of its work is done, are compiled sooner.
"""

from unlearnspn.compiling.kernels import (
    as_written,
    compile_always,
    compile_for,
    inlined,
    inner_kernel,
    is_new,
    kernel,
    late_kernel,
    runs_as_written,
)
from unlearnspn.compiling.work import elements, per_element, per_row

__all__ = [
    "IN",
    "OUT",
    "as_written",
    "compile_always",
    "compile_for",
    "elements",
    "inlined",
    "inner_kernel",
    "is_new",
    "kernel",
    "late_kernel",
    "per_element",
    "per_row",
    "runs_as_written",
]

#: Whether rows are counted in or out.
IN, OUT = 1, -1
