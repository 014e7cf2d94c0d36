# Exact sums of floats in limbs of 32 bits, for inner loops: see `exact_sum.py` for what they are.

cdef struct Limbs:
    # Which limbs sums have: from the limb `low` on, 2·`low` for squares.
    long long low
    long long n_first
    long long n_second


cdef inline long long exponent_part(long long pattern) noexcept nogil:
    """Return the part that a value's exponent falls into; -1 if the value is zero or missing."""
    cdef long long exponent = (pattern >> 52) & 0x7FF
    if exponent == 0x7FF or (<unsigned long long> pattern << 1) == 0:
        return -1
    return ((exponent if exponent > 1 else 1) - 1) >> 5


cdef inline void add_term(long long* limbs, long long term, long long shift, long long sign) noexcept nogil:
    """Add ±term·2**shift to limbs, for 0 ≤ term < 2**56."""
    cdef Py_ssize_t limb = shift >> 5
    cdef int bit = shift & 31
    cdef long long low = (term & 0xFFFFFFFFLL) << bit
    cdef long long high = (term >> 32) << bit
    limbs[limb] += sign * (low & 0xFFFFFFFFLL)
    limbs[limb + 1] += sign * ((low >> 32) + (high & 0xFFFFFFFFLL))
    limbs[limb + 2] += sign * (high >> 32)


cdef inline void add_value(long long* words, long long pattern, Limbs window, long long sign) noexcept nogil:
    """Put a value into moments (count, sum, sum of squares), or take it out; `carry` must follow."""
    cdef long long exponent = (pattern >> 52) & 0x7FF
    cdef long long mantissa, shift, upper, lower
    cdef long long* second = words + 1 + window.n_first
    if exponent == 0x7FF:  # missing
        return
    words[0] += sign
    mantissa = pattern & ((1LL << 52) - 1)
    if exponent > 0:
        mantissa |= 1LL << 52
    if mantissa == 0:
        return
    shift = (exponent if exponent > 1 else 1) - 1 - 32 * window.low
    add_term(words + 1, mantissa, shift, -sign if pattern < 0 else sign)
    upper, lower = mantissa >> 27, mantissa & ((1LL << 27) - 1)
    add_term(second, lower * lower, 2 * shift, sign)
    add_term(second, 2 * upper * lower, 2 * shift + 27, sign)
    add_term(second, upper * upper, 2 * shift + 54, sign)


cdef inline void carry(long long* words, Limbs window) noexcept nogil:
    """Carry limbs through, so that all but the last of each sum are from 0 to 2**32 - 1."""
    cdef Py_ssize_t limb
    for limb in range(1, window.n_first):
        words[limb + 1] += words[limb] >> 32
        words[limb] &= 0xFFFFFFFFLL
    for limb in range(1 + window.n_first, window.n_first + window.n_second):
        words[limb + 1] += words[limb] >> 32
        words[limb] &= 0xFFFFFFFFLL
