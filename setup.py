"""Which modules are compiled, and how: every module that imports `cython`."""

import os
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

SOURCE = Path("src")
#: `UNLEARNSPN_BUILD=checked` checks the bounds of arrays, `UNLEARNSPN_BUILD=sanitize` also runs sanitizers.
KIND = os.environ.get("UNLEARNSPN_BUILD", "release")
#: The speed of the compiled code against the time that the compiler takes.
SPEED = {"release": ["-O3", "-g0"], "checked": ["-O0", "-g0"], "sanitize": ["-O0", "-g"]}[KIND]
IS_SANITIZED, IS_CHECKED = KIND == "sanitize", KIND != "release"
#: Each kind of build has a directory of its own: what is compiled in one is never taken for another's.
BUILD = f"build/{KIND}"
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"] if IS_SANITIZED else []
#: What all compiled modules share, the code of memoryviews, is a module of its own.
SHARED = "unlearnspn._shared"
DIRECTIVES = {
    "language_level": 3,
    "boundscheck": IS_CHECKED,
    "wraparound": False,
    "initializedcheck": IS_CHECKED,
    "cdivision": False,
    "freethreading_compatible": True,
    "autotestdict": False,  # pytest finds the doctests of compiled modules by itself
}
CORES = os.cpu_count() or 1


def choose_flags() -> list[str]:
    """Return the compiler's flags.

    No multiplication is fused with an addition: every machine gets the same bits. Nobody asks which operations have
    overflowed or the like, so that both sides of a choice may be computed, for several numbers at a time.
    """
    if os.name == "nt":
        return ["/O2", "/fp:precise"]
    return [*SPEED, "-ffp-contract=off", "-fno-trapping-math", *SANITIZERS]


def describe_module(name: str, source: str) -> Extension:
    """Return how a module is compiled."""
    return Extension(name, [source], extra_compile_args=choose_flags(), extra_link_args=SANITIZERS)


def find_modules() -> list[Extension]:
    """Return the modules that import `cython`."""
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        if "\nimport cython\n" in path.read_text(encoding="utf-8"):
            name = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
            found.append(describe_module(name, str(path)))
    return found


class Build(build_ext):
    """Builds on all cores."""

    def finalize_options(self) -> None:
        """Let as many compilers run as there are cores."""
        super().finalize_options()
        self.parallel = self.parallel or CORES

    def copy_extensions_to_source(self) -> None:
        """Replace compiled modules beside their sources, newer ones of another kind of build, too."""
        self.force = True
        super().copy_extensions_to_source()


if __name__ == "__main__":  # not in the processes that `cythonize` starts
    setup(
        cmdclass={"build_ext": Build},
        options={"build": {"build_base": BUILD}},
        ext_modules=cythonize(
            [*find_modules(), describe_module(SHARED, f"{SHARED}.c")],
            build_dir=BUILD,
            include_path=[str(SOURCE)],
            compiler_directives=DIRECTIVES,
            shared_utility_qualified_name=SHARED,
            nthreads=CORES,
        ),
    )
