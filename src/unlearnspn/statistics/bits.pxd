# Sets of rows as bits, 64 rows in a word.

# The codes of a row.
ctypedef const unsigned char* Line
ctypedef Line* LinePointer


cdef inline long long count_common(
    const unsigned long long* one, const unsigned long long* other, Py_ssize_t n_words
) noexcept nogil:
    """Count the bits that two sets share; compilers know this form, and take an instruction for it if there is one."""
    cdef Py_ssize_t i
    cdef unsigned long long bits
    cdef long long count = 0
    for i in range(n_words):
        bits = one[i] & other[i]
        bits -= (bits >> 1) & 0x5555555555555555ULL
        bits = (bits & 0x3333333333333333ULL) + ((bits >> 2) & 0x3333333333333333ULL)
        bits = (bits + (bits >> 4)) & 0x0F0F0F0F0F0F0F0FULL
        count += (bits * 0x0101010101010101ULL) >> 56
    return count


cdef inline unsigned long long zero_bytes(unsigned long long bytes) noexcept nogil:
    """Return the highest bit of each byte that is zero."""
    cdef unsigned long long low = 0x7F7F7F7F7F7F7F7FULL
    return ~(((bytes & low) + low) | bytes | low)
