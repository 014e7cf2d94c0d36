# Exponentials and logarithms for inner loops, which compilers turn into ones that do several numbers at a time: there is
# no question and no table in them, and each number comes out the same whatever stands beside it.
# They are made of the four operations alone; exponents of two are put in and taken out as bits.

cimport cython
from libc.string cimport memcpy


cdef inline long long bits_of(double number) noexcept nogil:
    """Return the bits of a double."""
    cdef long long bits
    memcpy(&bits, &number, 8)
    return bits


cdef inline double of_bits(long long bits) noexcept nogil:
    """Return the double that has these bits."""
    cdef double number
    memcpy(&number, &bits, 8)
    return number


@cython.cdivision(True)
cdef inline double exponential(double number) noexcept nogil:
    """Return exp(x) of an x of at most 0; 0 where that has fewer bits than others, or x is NaN."""
    # Below -708 exponentials have fewer bits, and processors are slow with such; beside 1 they are nothing.
    cdef double x = number if number > -708.0 else -708.0
    # A number that is added to 1.5·2⁵² is rounded to a whole one, which then stands in the lowest bits.
    cdef double power = x * 1.4426950408889634 + 6755399441055744.0
    cdef double exponent = power - 6755399441055744.0
    # The logarithm of 2 in two parts: products of the first and a small whole number are exact.
    cdef double h = (x - exponent * 6.93147180369123816490e-01) - exponent * 1.90821492927058770002e-10
    # The series, in parts that do not wait for each other.
    cdef double h2 = h * h
    cdef double h4 = h2 * h2
    cdef double first = (1.0 + h) + h2 * (0.5 + h * (1.0 / 6.0))
    cdef double second = (1.0 / 24.0 + h * (1.0 / 120.0)) + h2 * (1.0 / 720.0 + h * (1.0 / 5040.0))
    cdef double third = (1.0 / 40320.0 + h * (1.0 / 362880.0)) + h2 * (1.0 / 3628800.0 + h * (1.0 / 39916800.0))
    cdef double series = first + h4 * (second + h4 * (third + h4 * (1.0 / 479001600.0)))
    series = series if x > -708.0 else 0.0
    return series * of_bits((bits_of(power) + 1023) << 52)


@cython.cdivision(True)
cdef inline double logarithm(double x) noexcept nogil:
    """Return log(x) of a positive normal double; what comes of others is some finite number."""
    cdef long long bits = bits_of(x)
    cdef long long fraction = (bits & 0xFFFFFFFFFFFFFLL) | 0x3FF0000000000000LL
    # 1 if the mantissa is above the root of 2: then half of it is taken, and one more of the exponent.
    cdef long long is_large = <long long> (<unsigned long long> (0x3FF6A09E667F3BCDLL - fraction) >> 63)
    cdef double mantissa = of_bits(fraction - (is_large << 52))
    # A small number in the lowest bits beside those of 2⁵² is added to it.
    cdef long long power = <long long> (<unsigned long long> bits >> 52) + is_large
    cdef double exponent = of_bits(power | 0x4330000000000000LL) - 4503599627371519.0
    cdef double f, square, series = 1.0 / 21.0
    f = (mantissa - 1.0) / (mantissa + 1.0)
    # The series of atanh(f) / f in f², which is at most 0.03.
    square = f * f
    series = series * square + 1.0 / 19.0
    series = series * square + 1.0 / 17.0
    series = series * square + 1.0 / 15.0
    series = series * square + 1.0 / 13.0
    series = series * square + 1.0 / 11.0
    series = series * square + 1.0 / 9.0
    series = series * square + 1.0 / 7.0
    series = series * square + 1.0 / 5.0
    series = series * square + 1.0 / 3.0
    series = series * square + 1.0
    return 2.0 * f * series + exponent * (6.93147180369123816490e-01 + 1.90821492927058770002e-10)
