"""Logarithms from IEEE operations, against the system's functions and against long decimals."""

import math
from decimal import ROUND_HALF_UP, Decimal, localcontext

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from unlearnspn.portable_math import log
from unlearnspn.statistics.logs import x_log_x_table

N_BITS = 24


def exact_x_log_x(count):
    with localcontext() as context:
        context.prec = 60
        scaled = Decimal(count) * Decimal(count).ln() * 2**N_BITS
        return int(scaled.to_integral_value(ROUND_HALF_UP))


@settings(max_examples=400, deadline=None)
@given(st.floats(min_value=2.2250738585072014e-308, allow_nan=False, allow_infinity=False))
@example(1.0)
@example(math.nextafter(1.0, 0.0))
@example(math.nextafter(1.0, 2.0))
@example(math.sqrt(0.5))
@example(1.7976931348623157e308)
def test_log(x):
    assert log(x) == pytest.approx(math.log(x), rel=1e-15, abs=0.0)


def test_x_log_x_of_small_counts_is_correctly_rounded():
    counts, table = [*range(2, 300), *range(300, 4096, 37), 4095], x_log_x_table()
    assert table[counts].tolist() == [exact_x_log_x(count) for count in counts]
    assert table[0] == table[1] == 0


def test_x_log_x_of_large_counts():
    table = x_log_x_table()
    assert table.dtype == np.int64
    for count in range(4096, table.size, 97):
        exact = exact_x_log_x(count)
        assert abs(int(table[count]) - exact) <= 1 + exact * 2**-51
