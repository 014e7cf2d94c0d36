"""A guard against removals becoming slow: run it alone, `pytest -m guard tests/test_bench_guard.py`.

It compares times within one run, the best of several, and asks for much less than is usual, so that only a real
regression can fail it. Tests in parallel would share the processor with it, hence it is not among the others.
"""

import pytest

from unlearnspn import SPN
from unlearnspn.bench.generated import generate
from unlearnspn.bench.timing import Stopwatch, one_thread

pytestmark = pytest.mark.guard

N_ROWS, N_COLUMNS, REMOVALS, REPEATS = 2000, 20, 30, 3
#: How many times as long as a removal a retraining takes at least.
LEAST_RATIO = 3.5


def test_a_removal_is_much_faster_than_retraining():
    frame = generate(N_ROWS, N_COLUMNS).frame
    with one_thread():
        measure(frame)  # compiles
        assert max(measure(frame) for _ in range(REPEATS)) >= LEAST_RATIO


def measure(frame):
    """Return how many times as long as one of some removals, on average, a retraining after them takes."""
    spn = SPN().fit(frame)
    with Stopwatch() as unlearning:
        for name in range(REMOVALS):
            spn.unlearn([name])
    rest = frame.iloc[REMOVALS:]
    with Stopwatch() as retraining:
        retrained = SPN().fit(rest, ids=rest.index)
    assert spn.digest() == retrained.digest()
    return retraining.seconds / (unlearning.seconds / REMOVALS)
