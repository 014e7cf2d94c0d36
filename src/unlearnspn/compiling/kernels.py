"""Kernels as Python and as other kernels see them."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from threading import current_thread, main_thread
from time import perf_counter
from typing import Any, TypeVar, cast

from numba.core.compiler import Compiler, Flags
from numba.core.registry import CPUDispatcher
from numba.core.sigutils import normalize_signature
from numba.core.typed_passes import NativeLowering
from numba.core.types import unliteral
from numba.experimental.structref import StructRefProxy

from unlearnspn.compiling.cache import KernelCache, PartCache, open_cache
from unlearnspn.compiling.calls import functions_of
from unlearnspn.compiling.lowering import KernelLowering
from unlearnspn.compiling.parts import PartLibrary, as_part
from unlearnspn.compiling.work import copying
from unlearnspn.compiling.written import interpreted, run

F = TypeVar("F", bound=Callable[..., object])
Work = Callable[..., int]

#: The environment variable that has all kernels compiled when they are first called.
_VARIABLE, _ALWAYS = "UNLEARNSPN_COMPILE", "always"
#: About how long it takes to compile a kernel, for each byte of what the interpreter makes of it, and how long to
#: interpret a step of it.
_SECONDS_A_KERNEL, _SECONDS_A_BYTE, _SECONDS_A_STEP = 0.2, 6e-4, 1e-6
#: As much of the time that it would take to compile it a kernel runs as it is written, in all processes together.
_PATIENCE = 0.5
#: So long a kernel may run as it is written in each process: to load compiled code would take no less. What exceeds it
#: is kept for other processes, and again when it has grown by as much.
_SECONDS_TO_LOAD = 0.3
#: Division by zero gives what NumPy gives, so that no division has to be watched. No C code calls kernels.
_OPTIONS = {"nopython": True, "nogil": True, "error_model": "numpy", "boundscheck": None, "no_cfunc_wrapper": True}


def kernel(function: F) -> F:
    """Compile a function when it is first called."""
    return cast(F, _Kernel(function, inline=False))


def late_kernel(work: Work, meanwhile: Callable[..., Any] | None = None) -> Callable[[F], F]:
    """Compile a function when that pays: as long as it has had little to do, it runs as it is written.

    How much it has to do is told by a function of its arguments. It must do the same either way, hence not call
    functions of C's mathematics, of which there are several, nor draw random numbers. If a library can do the same,
    what calls it runs meanwhile; should that fail half-way, the kernel must be able to begin again.
    """

    def decorate(function: F) -> F:
        return cast(F, _LateKernel(function, work, meanwhile))

    return decorate


def inner_kernel(work: Work) -> Callable[[F], F]:
    """Compile a function, and for late kernels that run as they are written as soon as that pays: long before them.

    It is where they do most of their work, takes arrays, numbers and tuples of them, and returns arrays, whether
    something is so, or nothing.
    """

    def decorate(function: F) -> F:
        return cast(F, _InnerKernel(function, work))

    return decorate


def compile_always() -> None:
    """Have all kernels compiled when they are first called, in processes started from now on, too: to take times."""
    os.environ[_VARIABLE] = _ALWAYS


def _compiles_always() -> bool:
    wanted = os.environ.get(_VARIABLE)
    if wanted and wanted != _ALWAYS:
        raise ValueError(f"{_VARIABLE} is {wanted!r}: set it to {_ALWAYS!r}, or leave it unset to compile what pays")
    return bool(wanted)


def compile_for(function: Callable[..., object], *arguments: Any) -> None:
    """Compile a kernel for arguments like these, without calling it."""
    compiled = cast(_Kernel, function)
    compiled.compile(tuple(compiled.typeof_pyval(argument) for argument in arguments))


def is_new(function: Callable[..., object]) -> bool:
    """Tell whether nothing is kept on disk of a kernel as it is now, though something could be."""
    cache = open_cache(KernelCache, cast(_Kernel, function).py_func)
    return isinstance(cache, KernelCache) and cache.is_empty()


def runs_as_written(function: Callable[..., object]) -> bool:
    """Tell whether it does not pay yet to compile a late kernel; in threads it would be compiled nonetheless."""
    return isinstance(function, _LateKernel) and not _compiles_always()


def inlined(function: F) -> F:
    """Compile a function, and put it wherever kernels call it: where to hand arrays over takes longer than the work."""
    return cast(F, _Kernel(function, inline=True))


def as_written(function: F) -> F:
    """Return the function that a kernel was made of: where it does next to nothing, Python is sooner done with it."""
    return cast(F, cast(_Kernel, function).py_func)


@contextmanager
def _without_collecting() -> Iterator[None]:
    """Leave rubbish where it is: to look for it among all that the compiler makes takes a twentieth of its time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class _Kernel(CPUDispatcher):
    """A kernel as Python sees it."""

    #: How long all kernels together have been compiled for in this process.
    seconds_compiling = 0.0

    def __init__(self, function: Callable[..., object], inline: bool) -> None:
        super().__init__(function, targetoptions=dict(_OPTIONS), pipeline_class=_KernelCompiler)
        self.inline = inline
        self._part = _Part(function, inline)

    def compile(self, sig: Any) -> object:
        """Return machine code."""
        # Not before: to find a folder for all kernels takes longer than to import them.
        self._cache = open_cache(KernelCache, self.py_func)
        started = perf_counter()
        try:
            with _without_collecting():
                return super().compile(sig)
        finally:
            _Kernel.seconds_compiling += perf_counter() - started

    def __reduce__(self) -> str:
        """Be pickled by name, as functions are."""
        return str(self.__qualname__)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Tell a kernel that calls this one what it returns; one part will do for all numbers of a type."""
        return self._part.get_call_template([unliteral(argument) for argument in args], kws)

    def get_overload(self, sig: Any) -> object:
        """Return what a kernel that calls this one is linked to."""
        return self._part.get_overload(sig)


class _PatientKernel(_Kernel):
    """A kernel of which is known how long it has run as it is written, and whether to compile it."""

    def __init__(
        self, function: Callable[..., object], work: Work, meanwhile: Callable[..., Any] | None = None
    ) -> None:
        super().__init__(function, inline=False)
        self._work = work
        self._meanwhile = meanwhile
        self._seconds = self._kept_seconds = 0.0
        self._looked_up: set[object] = set()

    @cached_property
    def _interpreted(self) -> Callable[..., Any]:
        return interpreted(self.py_func, {})

    def _run_as_written(self, arguments: tuple[Any, ...]) -> Any:
        """Have the interpreter do it, or what does the same meanwhile."""
        return self._meanwhile(*arguments) if self._meanwhile else run(self._interpreted, arguments)

    @contextmanager
    def _counting_seconds(self) -> Iterator[None]:
        # Inner kernels may be compiled meanwhile.
        started = perf_counter() - _Kernel.seconds_compiling
        try:
            yield
        finally:
            self._seconds += perf_counter() - _Kernel.seconds_compiling - started

    @cached_property
    def _seconds_before(self) -> float:
        """For how long processes before this one have run it as it is written."""
        cache = open_cache(KernelCache, self.py_func)
        return cache.read_seconds() if isinstance(cache, KernelCache) else 0.0

    def _keep_seconds(self) -> None:
        """Keep for other processes for how long it has run as it is written, if that is worth it."""
        if self._seconds <= self._kept_seconds + _SECONDS_TO_LOAD:
            return
        self._kept_seconds = self._seconds
        # Whatever may go wrong here, the kernel has done its work.
        with suppress(Exception):
            cache = open_cache(KernelCache, self.py_func)
            if isinstance(cache, KernelCache):
                cache.write_seconds(self._seconds_before + self._seconds - _SECONDS_TO_LOAD)

    @cached_property
    def _seconds_to_compile(self) -> float:
        n_bytes = sum(len(function.__code__.co_code) for function in functions_of(self.py_func))
        return _SECONDS_A_KERNEL + _SECONDS_A_BYTE * n_bytes

    def _is_due(self, n_steps: int, arguments: tuple[Any, ...]) -> bool:
        """Tell whether to compile, or to use what is on disk."""
        return (
            _compiles_always()
            or self._takes_long(n_steps)
            or self._is_cached(tuple(self._type_of(argument) for argument in arguments))
        )

    def _takes_long(self, n_steps: int) -> bool:
        seconds = self._seconds_before + self._seconds + _SECONDS_A_STEP * n_steps
        return seconds > _PATIENCE * self._seconds_to_compile

    def _type_of(self, argument: Any) -> Any:
        is_structure = isinstance(argument, StructRefProxy)
        return argument._type if is_structure else self.typeof_pyval(argument)

    def _is_cached(self, signature: tuple[Any, ...]) -> bool:
        if signature in self._looked_up:
            return False
        self._looked_up.add(signature)
        cache = open_cache(KernelCache, self.py_func)
        return isinstance(cache, KernelCache) and cache.has(signature, self.targetctx)


class _LateKernel(_PatientKernel):
    """A kernel that runs as it is written, until it becomes one that is compiled."""

    def __call__(self, *arguments: Any) -> Any:
        """Do as it is written, if that is likely to take less time than to compile."""
        # In a thread, others may work on the same arrays.
        n_steps = self._work(*arguments) + copying(*arguments)
        if current_thread() is main_thread() and not self._is_due(n_steps, arguments):
            try:
                with self._counting_seconds():
                    answer = self._run_as_written(arguments)
            except Exception:
                pass  # of no concern: the compiled function does what the interpreter can't, or fails in the same way
            else:
                self._keep_seconds()
                return answer
        # From now on Python calls the compiler's own method; what a call in another thread still needs stays.
        self.__class__ = _PatientKernel
        return self(*arguments)


class _InnerKernel(_PatientKernel):
    """A kernel that is compiled for Python, and once that pays for late kernels that run as they are written."""

    _was_due = False

    def within(self, written: Callable[..., Any]) -> Callable[..., Any]:
        """Return what kernels call that run as they are written, given this kernel as it is written."""

        def call(*arguments: Any) -> Any:
            self._was_due = self._was_due or self._is_due(self._work(*arguments), arguments)
            if self._was_due:
                return self(*arguments)
            with self._counting_seconds():
                answer = written(*arguments)
            self._keep_seconds()
            return answer

        return call


class _Part(CPUDispatcher):
    """A kernel as other kernels see it."""

    def __init__(self, function: Callable[..., object], inline: bool) -> None:
        options = {**_OPTIONS, "no_cpython_wrapper": True, "forceinline": inline}
        super().__init__(function, targetoptions=options, pipeline_class=_PartCompiler)

    def compile(self, sig: Any) -> object:
        """Return what stands for the part in the code of others."""
        arguments, return_type = normalize_signature(sig)
        if arguments not in self.overloads:
            cache = open_cache(PartCache, self.py_func)
            result = cache.load_overload(sig, self.targetctx)
            if result is None:
                result = as_part(self._compiler.compile(arguments, return_type))
                cache.save_overload(sig, result)
            self.targetctx.insert_user_function(result.entry_point, result.fndesc, [result.library])
            self.overloads[arguments] = result
        return self.overloads[arguments].entry_point


class _Options(Flags):
    """The compiler's options, told apart by those that are set: it compares them a hundred thousand times."""

    _HASH = hash(Flags())

    def __hash__(self) -> int:
        return self._HASH

    def __eq__(self, other: object) -> bool:
        if isinstance(other, _Options):
            return bool(self._values == other._values)
        return bool(super().__eq__(other))


class _KernelCompiler(Compiler):
    """The compiler, with options that it compares sooner."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.state.flags = _Options(self.state.flags)

    def define_pipelines(self) -> Any:
        """Use the default pipeline but for one of its stages."""
        (pipeline,) = super().define_pipelines()
        stages = [(KernelLowering if stage is NativeLowering else stage, name) for stage, name in pipeline.passes]
        pipeline.passes = stages
        pipeline.finalize()
        return [pipeline]


class _PartCompiler(_KernelCompiler):
    """The compiler, up to the translation."""

    def define_pipelines(self) -> Any:
        """Use the default pipeline, whose last stage heeds what is set here."""
        self.state.flags.no_compile = True
        self.state.library = PartLibrary(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        return super().define_pipelines()
