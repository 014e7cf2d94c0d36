"""Builds as setuptools does; where no C compiler works, with that of the package `ziglang`."""

import os
import shlex
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import (
    build_sdist,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]
#: Without `-mcpu` it would compile for this very processor.
ZIG = shlex.join([sys.executable, "-m", "ziglang", "cc", "-mcpu=baseline"])


def works(compiler: str) -> bool:
    """Return whether a compiler is there, and the headers of C with it."""
    command = [*shlex.split(compiler), "-E", "-x", "c", "-"]
    try:
        return subprocess.run(command, input=b"#include <stdlib.h>", capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def find_compiler() -> str | None:
    """Return the first C compiler that works: the one asked for, Python's own, or one by its usual names."""
    if os.environ.get("CC"):
        return os.environ["CC"]
    return next(filter(works, filter(None, [sysconfig.get_config_var("CC"), "cc", "gcc", "clang"])), None)


def needs_zig() -> bool:
    """Return whether to compile with `ziglang`; on Windows setuptools finds the compiler, or says what is missing."""
    return os.name != "nt" and find_compiler() is None


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    """Return what building needs besides setuptools and Cython."""
    return [*build_meta.get_requires_for_build_wheel(config_settings), *(["ziglang"] if needs_zig() else [])]


def get_requires_for_build_editable(config_settings: Any = None) -> list[str]:
    """Return what an editable install needs besides setuptools and Cython."""
    return [*build_meta.get_requires_for_build_editable(config_settings), *(["ziglang"] if needs_zig() else [])]


def with_compiler(build: Callable[..., str]) -> Callable[..., str]:
    """Return a build that uses the compiler found."""

    def build_with_compiler(*arguments: Any, **settings: Any) -> str:
        if os.name != "nt":
            os.environ["CC"] = find_compiler() or ZIG
        return build(*arguments, **settings)

    return build_with_compiler


build_wheel = with_compiler(build_meta.build_wheel)
build_editable = with_compiler(build_meta.build_editable)
