"""Stops a process at a system call of its own, whichever it is: by the system's tracing, as debuggers do."""

import ctypes
import os
import signal
from collections.abc import Callable

_TRACE_ME, _GO_ON = 0, 24  # to the next beginning or end of a system call

_libc = ctypes.CDLL(None, use_errno=True)


def _trace(request: int, process: int, argument: int = 0) -> None:
    if _libc.ptrace(request, process, None, ctypes.c_void_p(argument)) != 0:
        raise OSError(ctypes.get_errno(), "cannot be traced")


def kill_before(number: int, prepare: Callable[[], object], act: Callable[[object], object]) -> bool:
    """Do something in a process of its own, and kill it before the system call with a number; tell whether it was.

    What is prepared first is not counted. It was not killed if it has made fewer system calls than that.
    """
    child = os.fork()
    if child == 0:
        try:
            prepared = prepare()
            _trace(_TRACE_ME, 0)
            os.kill(os.getpid(), signal.SIGSTOP)
            act(prepared)
        except BaseException:
            os._exit(1)
        os._exit(0)
    os.waitpid(child, os.WUNTRACED)
    for _ in range(2 * number + 1):
        _trace(_GO_ON, child)
        _, status = os.waitpid(child, 0)
        if os.WIFEXITED(status):
            assert os.WEXITSTATUS(status) == 0
            return False
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return True


def can_trace() -> bool:
    """Tell whether the system lets processes be traced here."""
    child = os.fork()
    if child == 0:
        os._exit(int(_libc.ptrace(_TRACE_ME, 0, None, None) != 0))
    return os.waitpid(child, 0)[1] == 0
