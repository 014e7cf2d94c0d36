"""How much late kernels have to do is foretold: about as many steps as lines are run, so that what pays is compiled."""

import sys

import numpy as np
import pytest

from both_ways import _copied
from unlearnspn import SPN, Range, flat_network, revision
from unlearnspn.circuit import conditioning
from unlearnspn.clustering import qkmeans
from unlearnspn.compiling import kernels
from unlearnspn.compiling.work import copying
from unlearnspn.compiling.written import interpreted, run
from unlearnspn.growing import grow
from unlearnspn.independence import rdc

#: A line takes a microsecond or less, one that NumPy sees to some more. To foretell too much is better than too little,
#: and some hundredths of a second do not matter.
LESS, MORE, LITTLE = 3, 16, 20_000


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
            run(function, _copied(arguments))  # lines of the compiler, which inner kernels may need, do not count
            calls.append((name, kernel._work(*arguments), n_lines(function, _copied(arguments))))
            return kernel(*arguments)

        monkeypatch.setattr(module, name, call)

    for name in ("walk", "walk_back", "rebuild"):
        watch(revision, name)
    watch(flat_network, "grow")
    watch(conditioning, "combine")
    watch(qkmeans, "learn_rounds")
    for name in ("learn_dependence", "revise_dependence"):
        watch(rdc, name)
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
        assert counted / LESS - LITTLE < told < counted * MORE + LITTLE


@pytest.mark.parametrize(
    ("shape", "parameters"), [((150, 4), {}), ((1000, 15), {}), ((300, 60), {}), ((300, 8), {"n_bins": 120})], ids=str
)
def test_what_learning_takes_is_foretold(shape, parameters, foretold):
    SPN(**parameters).fit(depending(*shape))
    ((_, told, counted),) = foretold
    assert counted / 6 < told < counted * 2


@pytest.mark.parametrize(("n_rows", "is_compiled"), [(150, False), (30_000, False), (100_000, False), (500_000, True)])
def test_of_many_records_learning_is_compiled(n_rows, is_compiled):
    spn = SPN().fit(depending(250, 15))
    network, scope, rows = spn._model.network, np.arange(15), np.arange(n_rows)
    n_steps = grow._work(network.words, 0, spn._model.learner.ground, scope, np.uint64(0), (False, False), rows)
    copied = copying(np.empty((n_rows, 15)), np.empty((n_rows, 15)))
    patience = kernels._PATIENCE * grow._seconds_to_compile
    assert (kernels._SECONDS_A_STEP * (n_steps + copied) > patience) == is_compiled


def test_what_the_papers_setting_takes_is_foretold(foretold):
    spn = SPN.from_paper().fit(depending(700, 15))
    for name in range(3):
        spn.unlearn([name])
    spn.unlearn(range(10, 40))
    calls = [call for call in foretold if call[0] in ("learn_dependence", "revise_dependence", "learn_rounds")]
    assert len({name for name, _, _ in calls}) == 3
    for _, told, counted in calls:
        assert counted / 6 < told < counted * 6


def test_what_changes_much_is_soon_rebuilt(foretold):
    spn = SPN(min_rows=20, max_rounds=5, n_bins=5).fit(depending(700, 8))
    spn.unlearn(range(30), dry_run=True)
    told = [told for name, told, counted in foretold if name == "rebuild" and counted < 500]
    assert told
    assert max(told) < LITTLE


def test_what_probabilities_take_is_foretold(foretold):
    spn = SPN(min_rows=20).fit(depending(700, 8))
    foretold.clear()
    spn.probability({"x0": Range(above=0.0)}, given={"x1": Range(below=1.0)})
    assert {name for name, _, _ in foretold} == {"combine"}
    for _, told, counted in foretold:
        assert counted / 3 < told < counted * 3
