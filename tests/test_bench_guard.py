"""A guard against removals and training becoming slow: run it alone, `pytest -m guard tests/test_bench_guard.py`.

It compares times within one run, and asks for much less than is usual, so that only a real regression can fail it.
Removals are compared with training, which would pass for faster ones if training were slower; hence training is
compared with what does not change: sorting. Tests in parallel would share the processor with it, hence it is not among
the others.
"""

from statistics import median

import numpy as np
import pytest

from benchmarks.generated import generate
from benchmarks.timing import Stopwatch, one_thread
from unlearnspn import SPN

pytestmark = pytest.mark.guard

N_ROWS, N_COLUMNS, REMOVALS, REPEATS = 2000, 20, 30, 3
#: How many times as long as a removal a retraining takes at least.
LEAST_RATIO = 3.5
#: Of training; more rows than for removals, lest what does not grow with them hides what does.
TRAINED_ROWS, PAIRS, SORTS = 10_000, 7, 5
#: How many times as long as sorting each column some times over a training takes at most. It is 1.0 to 1.3.
MOST_SORTINGS = 2.0


def test_a_removal_is_much_faster_than_retraining():
    frame = generate(N_ROWS, N_COLUMNS).frame
    with one_thread():
        assert max(measure(frame) for _ in range(REPEATS)) >= LEAST_RATIO


def test_training_takes_no_longer_than_sorting_some_times_over():
    frame = generate(TRAINED_ROWS, N_COLUMNS).frame
    columns = np.random.default_rng(0).random((N_COLUMNS, TRAINED_ROWS))
    with one_thread():
        assert median(train_and_sort(frame, columns) for _ in range(PAIRS)) <= MOST_SORTINGS


def train_and_sort(frame, columns):
    """Return how many times as long as the sortings a training takes."""
    with Stopwatch() as training:
        SPN().fit(frame)
    with Stopwatch() as sorting:
        for column in [*columns] * SORTS:
            np.argsort(column, kind="stable")  # the other kinds depend on the processor's vectors
    return training.seconds / sorting.seconds


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
