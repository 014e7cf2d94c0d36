# Mean and deviation of exact sums, for inner loops: see `exact_rounding.py` for how they are rounded.

cimport cython
from libc.math cimport NAN, frexp, ldexp, sqrt

from unlearnspn.exact_sums cimport Limbs

cdef extern from *:
    """
    #define UNLEARNSPN_MASK32 0xFFFFFFFFLL
    // Multiplied by this, a double falls into halves of 26 bits.
    #define UNLEARNSPN_SPLITTER 134217729.0
    // How far the smaller of the two doubles that stand for a root may be off, with much to spare: 2**-36.
    #define UNLEARNSPN_DOUBT 1.4551915228366852e-11
    """
    const long long MASK32 "UNLEARNSPN_MASK32"
    const double SPLITTER "UNLEARNSPN_SPLITTER"
    const double DOUBT "UNLEARNSPN_DOUBT"


cdef struct MeanAndStd:
    double mean
    double std


cdef struct TwoDoubles:
    # A number as the sum of two doubles: the nearest one, and by how much it is off.
    double near
    double rest


cdef inline MeanAndStd rounded_moments(const long long* words, Limbs window) noexcept nogil:
    """Return mean and standard deviation of moments, see `mean_and_std`."""
    cdef long long n = words[0]
    cdef long long exponent = 32 * window.low - 1074
    # The window of a column that has values of all exponents has 67 limbs for sums, and 133 for squares.
    cdef long long first[68]
    cdef long long spread[136]
    cdef Py_ssize_t n_spread
    cdef MeanAndStd found
    write_magnitude(words + 1, window.n_first, first)
    found.mean = divided(first, window.n_first, n, exponent)
    if words[window.n_first] < 0:
        found.mean = -found.mean
    n_spread = write_spread(n, first, window.n_first, words + 1 + window.n_first, window.n_second, spread)
    found.std = root_divided(spread, n_spread, n, exponent)
    return found


cdef inline void write_magnitude(const long long* limbs, Py_ssize_t number, long long* magnitude) noexcept nogil:
    """Write the limbs of a number without its sign, which the last one has."""
    cdef Py_ssize_t i
    cdef long long carried = 0
    if limbs[number - 1] >= 0:
        for i in range(number):
            magnitude[i] = limbs[i]
        return
    for i in range(number):
        carried -= limbs[i]
        magnitude[i] = carried & MASK32
        carried >>= 32


cdef inline int count_bits(long long number) noexcept nogil:
    """Return how many bits a positive number has that a double can hold."""
    cdef int exponent
    frexp(<double> number, &exponent)
    return exponent


cdef inline long long limb_at(const long long* limbs, Py_ssize_t number, Py_ssize_t i) noexcept nogil:
    """Return a limb; those below the first and above the last are zero."""
    return limbs[i] if 0 <= i < number else 0


cdef inline Py_ssize_t highest_limb(const long long* limbs, Py_ssize_t number) noexcept nogil:
    """Return the number of the highest limb that is not zero; -1 if all are."""
    cdef Py_ssize_t i = number - 1
    while i >= 0 and limbs[i] == 0:
        i -= 1
    return i


@cython.cdivision(True)
cdef inline double divided(const long long* limbs, Py_ssize_t number, long long n, long long exponent) noexcept nogil:
    """Return limbs·2**exponent / n as the nearest double, for n < 2**31; NaN if that is subnormal."""
    cdef Py_ssize_t highest = highest_limb(limbs, number)
    cdef Py_ssize_t i
    cdef int first
    cdef long long quotient[4]
    cdef long long dividend
    cdef long long rest = 0
    cdef bint inexact
    if highest < 0:
        return 0.0
    # The first limb of the quotient may be zero, and then the second is not: three tell more than a double holds.
    for i in range(4):
        dividend = (rest << 32) | limb_at(limbs, number, highest - i)
        quotient[i] = dividend // n
        rest = dividend - quotient[i] * n
    first = 0 if quotient[0] else 1
    inexact = rest != 0 or (first == 0 and quotient[3] != 0)
    for i in range(highest - 3):
        inexact = inexact or limbs[i] != 0
    return rounded_quotient(quotient + first, inexact, exponent + 32 * (highest - 2 - first))


cdef inline double rounded_quotient(const long long* limbs, bint inexact, long long exponent) noexcept nogil:
    """Return three limbs, the highest first, times 2**exponent as the nearest double; after them may come more."""
    cdef int n_bits = count_bits(limbs[0])
    cdef long long one = 1
    cdef long long bits, rest, mantissa
    # The 53 bits of a double and one more.
    if n_bits <= 22:
        bits = (limbs[0] << (54 - n_bits)) | (limbs[1] << (22 - n_bits)) | (limbs[2] >> (10 + n_bits))
        rest = limbs[2] & ((one << (10 + n_bits)) - 1)
    else:
        bits = (limbs[0] << (54 - n_bits)) | (limbs[1] >> (n_bits - 22))
        rest = (limbs[1] & ((one << (n_bits - 22)) - 1)) | limbs[2]
    mantissa = bits >> 1
    if bits & 1 and (inexact or rest != 0 or mantissa & 1):
        mantissa += 1
    return scaled(<double> mantissa, exponent + 11 + n_bits)


cdef inline double scaled(double number, long long exponent) noexcept nogil:
    """Return a number times 2**exponent; NaN if that is subnormal, where it would be rounded again."""
    cdef int own
    frexp(number, &own)
    if own + exponent <= -1022:
        return NAN
    return ldexp(number, <int> exponent)


cdef inline Py_ssize_t write_spread(
    long long n,
    const long long* first,
    Py_ssize_t n_first,
    const long long* second,
    Py_ssize_t n_second,
    long long* spread,
) noexcept nogil:
    """Write the limbs of n·second - first², for n < 2**31, and return their number."""
    cdef Py_ssize_t number = n_second + 1 if n_second + 1 > 2 * n_first else 2 * n_first
    cdef Py_ssize_t i
    cdef long long carried = 0
    cdef long long square[136]
    for i in range(n_second):
        carried += n * second[i]
        spread[i] = carried & MASK32
        carried >>= 32
    spread[n_second] = carried
    for i in range(n_second + 1, number):
        spread[i] = 0
    write_square(first, n_first, square)
    carried = 0
    for i in range(number):
        carried += spread[i]
        if i < 2 * n_first:
            carried -= square[i]
        spread[i] = carried & MASK32
        carried >>= 32
    return number


cdef inline void write_square(const long long* limbs, Py_ssize_t number, long long* square) noexcept nogil:
    """Write the limbs of a square, twice as many."""
    cdef Py_ssize_t i, j
    cdef unsigned long long one, carried
    for i in range(2 * number):
        square[i] = 0
    for i in range(number):
        one, carried = <unsigned long long> limbs[i], 0
        for j in range(number):
            carried += one * <unsigned long long> limbs[j] + <unsigned long long> square[i + j]
            square[i + j] = carried & <unsigned long long> MASK32
            carried >>= 32
        square[i + number] = carried


cdef inline double root_divided(
    const long long* limbs, Py_ssize_t number, long long n, long long exponent
) noexcept nogil:
    """Return the root of limbs·2**(2·exponent), divided by n, as the nearest double; NaN if that is subnormal."""
    cdef Py_ssize_t highest = highest_limb(limbs, number)
    cdef Py_ssize_t lowest = highest - 3
    cdef TwoDoubles high, low, upper, quotient
    cdef double nearest
    if highest < 0:
        return 0.0
    # Four limbs have 97 bits at least.
    high = exact_sum(<double> limbs[highest] * 2.0**96, <double> limb_at(limbs, number, highest - 1) * 2.0**64)
    low = exact_sum(<double> limb_at(limbs, number, highest - 2) * 2.0**32, <double> limb_at(limbs, number, lowest))
    upper = exact_sum(high.near, low.near)
    quotient = double_quotient(double_root(exact_sum(upper.near, upper.rest + (high.rest + low.rest))), <double> n)
    nearest = quotient.near
    if nearest + quotient.rest * (1.0 + DOUBT) != nearest:
        nearest = nearest_root(limbs, number, n, nearest, quotient.rest > 0.0, 16 * lowest)
    return scaled(nearest, exponent + 16 * lowest)


cdef inline double nearest_root(
    const long long* limbs, Py_ssize_t number, long long n, double near, bint is_above, long long exponent
) noexcept nogil:
    """Return which is nearest to the root of limbs·2**(-2·exponent), divided by n: a double, or the next one.

    The root is all but in the middle of the two.
    """
    cdef int doubled
    cdef double fraction = frexp(near, &doubled)
    cdef long long mantissa = <long long> ldexp(fraction, 54)
    cdef long long middle, low, high, shift
    cdef int order
    cdef bint stays
    cdef long long factor[3]
    cdef long long square[6]
    cdef long long one = 1
    doubled -= 54
    if not is_above and mantissa == one << 53:  # below powers of two doubles lie twice as densely
        mantissa *= 2
        doubled -= 1
    middle = mantissa + 1 if is_above else mantissa - 1
    low, high = n * (middle & MASK32), n * (middle >> 32)
    high += low >> 32
    factor[0], factor[1], factor[2] = low & MASK32, high & MASK32, high >> 32
    write_square(factor, 3, square)
    shift = 2 * (doubled + exponent)
    order = compared(limbs, number, -shift if shift < 0 else 0, square, 6, shift if shift > 0 else 0)
    stays = order < 0 if is_above else order > 0
    if stays or (order == 0 and mantissa & 2 == 0):
        return near
    return ldexp(<double> (mantissa + 2 if is_above else mantissa - 2), doubled)


cdef inline int compared(
    const long long* one,
    Py_ssize_t n_one,
    long long one_bits,
    const long long* other,
    Py_ssize_t n_other,
    long long other_bits,
) noexcept nogil:
    """Return -1, 0 or 1, as one number times 2**one_bits is smaller than another likewise, equal or larger."""
    cdef Py_ssize_t end_one = n_one + (one_bits >> 5) + 1
    cdef Py_ssize_t end_other = n_other + (other_bits >> 5) + 1
    cdef Py_ssize_t i = (end_one if end_one > end_other else end_other) - 1
    cdef long long a, b
    while i >= 0:
        a, b = shifted_limb(one, n_one, one_bits, i), shifted_limb(other, n_other, other_bits, i)
        if a != b:
            return -1 if a < b else 1
        i -= 1
    return 0


cdef inline long long shifted_limb(
    const long long* limbs, Py_ssize_t number, long long n_bits, Py_ssize_t i
) noexcept nogil:
    """Return a limb of limbs·2**n_bits."""
    cdef int bits = n_bits & 31
    cdef Py_ssize_t at = i - (n_bits >> 5)
    return ((limb_at(limbs, number, at) << bits) | (limb_at(limbs, number, at - 1) >> (32 - bits))) & MASK32


cdef inline TwoDoubles exact_sum(double a, double b) noexcept nogil:
    """Return the sum of two doubles, of which the first is not smaller, and by how much it is off."""
    cdef TwoDoubles total
    total.near = a + b
    total.rest = b - (total.near - a)
    return total


cdef inline TwoDoubles exact_product(double a, double b) noexcept nogil:
    """Return the product of two doubles, and by how much it is off (Dekker, 1971)."""
    cdef TwoDoubles product
    cdef double upper_a = SPLITTER * a
    cdef double upper_b = SPLITTER * b
    cdef double lower_a, lower_b
    upper_a = upper_a - (upper_a - a)
    upper_b = upper_b - (upper_b - b)
    lower_a = a - upper_a
    lower_b = b - upper_b
    product.near = a * b
    product.rest = lower_a * lower_b - (((product.near - upper_a * upper_b) - lower_a * upper_b) - upper_a * lower_b)
    return product


@cython.cdivision(True)
cdef inline TwoDoubles double_root(TwoDoubles square) noexcept nogil:
    """Return the root of the sum of two doubles as such a sum: one step of Newton's from the root of the first."""
    cdef double root = sqrt(square.near)
    cdef TwoDoubles nearly = exact_product(root, root)
    return exact_sum(root, ((square.near - nearly.near) - nearly.rest + square.rest) / (2.0 * root))


@cython.cdivision(True)
cdef inline TwoDoubles double_quotient(TwoDoubles dividend, double divisor) noexcept nogil:
    """Return the sum of two doubles divided by a third, as such a sum."""
    cdef double quotient = dividend.near / divisor
    cdef TwoDoubles nearly = exact_product(quotient, divisor)
    return exact_sum(quotient, ((dividend.near - nearly.near) - nearly.rest + dividend.rest) / divisor)
