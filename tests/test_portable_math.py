"""Logarithm and sine from IEEE operations, against the system's functions and against long decimals."""

import math
from decimal import ROUND_HALF_UP, Decimal, localcontext

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from unlearnspn.portable_math import X_LOG_X_BITS, log, sin, x_log_x, x_log_x_table


def exact_x_log_x(count):
    with localcontext() as context:
        context.prec = 60
        scaled = Decimal(count) * Decimal(count).ln() * 2**X_LOG_X_BITS
        return int(scaled.to_integral_value(ROUND_HALF_UP))


@settings(max_examples=1000, deadline=None)
@given(st.floats(min_value=2.2250738585072014e-308, allow_nan=False, allow_infinity=False))
@example(1.0)
@example(math.nextafter(1.0, 0.0))
@example(math.nextafter(1.0, 2.0))
@example(math.sqrt(0.5))
@example(1.7976931348623157e308)
def test_log(x):
    assert log(x) == pytest.approx(math.log(x), rel=1e-15, abs=0.0)


@settings(max_examples=1000, deadline=None)
@given(st.floats(-1000.0, 1000.0))
@example(math.pi)
@example(-math.pi)
@example(math.pi / 2)
@example(0.0)
def test_sin(x):
    assert sin(x) == pytest.approx(math.sin(x), rel=0.0, abs=1e-12)


def test_x_log_x_of_small_counts_is_correctly_rounded():
    counts = [*range(2, 300), *range(300, 4096, 37), 4095]
    assert [x_log_x(count) for count in counts] == [exact_x_log_x(count) for count in counts]
    assert x_log_x(0) == x_log_x(1) == 0


@settings(max_examples=300, deadline=None)
@given(st.integers(4096, 10**8))
def test_x_log_x_of_large_counts(count):
    exact = exact_x_log_x(count)
    assert abs(x_log_x(count) - exact) <= 1 + exact * 2**-51


def test_table_equals_function():
    table = x_log_x_table()
    assert table.dtype == np.int64
    assert table.tolist() == [x_log_x(count) for count in range(table.size)]
