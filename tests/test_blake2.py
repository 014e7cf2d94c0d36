"""Digests of many lines at once are those of the library."""

from hashlib import blake2b

import numpy as np
import pytest
from numba.core.registry import CPUDispatcher

from unlearnspn.blake2 import total_by_library, total_digest


def compiled(lines):
    return CPUDispatcher.__call__(total_digest, lines)


def random_lines(n_lines, width):
    return np.random.default_rng(width).integers(-(2**63), 2**63 - 1, (n_lines, width))


@pytest.mark.parametrize("width", [1, 9, 15, 16, 17, 32, 33, 100])
def test_a_line_has_the_digest_of_its_bytes(width):
    line = random_lines(1, width)
    assert compiled(line).tobytes() == blake2b(line.tobytes()).digest()


@pytest.mark.parametrize("n_lines", [0, 1, 15, 16, 17, 40])
@pytest.mark.parametrize("width", [9, 17])
def test_digests_add_up_word_by_word(n_lines, width):
    lines = random_lines(n_lines, width)
    words = np.zeros(8, np.uint64)
    for line in lines:
        words += np.frombuffer(blake2b(line.tobytes()).digest(), "<u8")
    assert (compiled(lines) == words).all()
    assert (total_by_library(lines) == words).all()


@pytest.mark.parametrize("word", [0, -1, 2**63 - 1, -(2**63)])
def test_words_at_the_borders(word):
    line = np.full((1, 20), word, np.int64)
    assert compiled(line).tobytes() == blake2b(line.tobytes()).digest()
