# Powers with whole exponents, for inner loops.


cdef inline double power(double base, long long exponent) noexcept nogil:
    """Return base**exponent, for an exponent of at least 0, by squaring: the same bits on every machine."""
    cdef double result = 1.0
    while exponent:
        if exponent & 1:
            result *= base
        exponent >>= 1
        base *= base
    return result
