# Logarithm and sine from the four IEEE operations alone, for inner loops: see `portable_math.py`.

from libc.math cimport floor, frexp


cdef inline double log(double x) noexcept nogil:
    """Natural logarithm of a positive, normal double."""
    cdef int exponent, odd
    cdef double mantissa = frexp(x, &exponent)
    cdef double ratio, square, series = 0.0
    if mantissa < 0.7071067811865476:
        mantissa *= 2.0
        exponent -= 1
    ratio = (mantissa - 1.0) / (mantissa + 1.0)
    square = ratio * ratio
    odd = 21
    while odd > 0:
        series = series * square + 1.0 / odd
        odd -= 2
    return 2.0 * ratio * series + exponent * 0.6931471805599453


cdef inline double sin(double x) noexcept nogil:
    """Sine, to about 1e-12 for moderate arguments."""
    cdef double square, series = 0.0
    cdef int even = 26
    x = x - 6.283185307179586 * floor(x * 0.15915494309189535 + 0.5)
    square = x * x
    while even > 0:
        series = (series + 1.0) * (-square / (even * (even + 1.0)))
        even -= 2
    return x * (1.0 + series)


cdef inline long long x_log_x(long long count) noexcept nogil:
    """Return count·ln(count) as an integer with 24 fractional bits, so that sums of it are exact."""
    if count < 2:
        return 0
    return <long long> floor(count * log(<double> count) * 16777216.0 + 0.5)
