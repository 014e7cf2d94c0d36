"""How much late kernels have to do is foretold: about as many steps as lines are run, so that what pays is compiled."""

import sys

import numpy as np
import pytest

from both_ways import _copied
from unlearnspn import SPN, flat_network, revision
from unlearnspn.compiling.written import interpreted, run

#: A line takes a microsecond or less, one that NumPy sees to some more. Some hundredths of a second do not matter.
SHARE, LITTLE = 16, 20_000


def n_lines(function, arguments):
    """Count the lines that the interpreter runs; inner kernels are compiled."""
    count = 0

    def trace(frame, event, argument):
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run(function, arguments)
    finally:
        sys.settrace(before)
    return count


@pytest.fixture
def foretold(monkeypatch):
    """Return what is foretold and what is counted of each call of some kernels from now on."""
    calls = []

    def watch(module, name):
        kernel = getattr(module, name)
        function = interpreted(kernel.py_func, {})

        def call(*arguments):
            calls.append((name, kernel._work(*arguments), n_lines(function, _copied(arguments))))
            return kernel(*arguments)

        monkeypatch.setattr(module, name, call)

    for module, name in ((revision, "walk"), (revision, "walk_back"), (revision, "rebuild"), (flat_network, "grow")):
        watch(module, name)
    return calls


def depending(n_rows, n_columns):
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(n_rows, 4))
    return factors @ rng.normal(size=(4, n_columns)) + 0.7 * rng.normal(size=(n_rows, n_columns))


@pytest.mark.parametrize(
    ("shape", "n_removed", "parameters"),
    [
        ((150, 4), 1, {}),
        ((700, 8), 1, {}),
        ((700, 8), 30, {}),
        ((300, 60), 1, {}),
        ((700, 8), 30, {"min_rows": 20, "max_rounds": 5}),
        ((700, 8), 100, {"min_rows": 20, "max_rounds": 5}),
    ],
    ids=str,
)
def test_what_requests_take_is_foretold(shape, n_removed, parameters, foretold):
    spn = SPN(**parameters).fit(depending(*shape))
    foretold.clear()
    for start in range(0, 3 * n_removed, n_removed):
        spn.unlearn(range(start, start + n_removed), dry_run=True)
    walks = [(told, counted) for name, told, counted in foretold if name in ("walk", "walk_back")]
    assert walks
    for told, counted in walks:
        assert counted / SHARE - LITTLE < told < counted * SHARE + LITTLE
