# What is known of a pair of variables that was asked. Pairs lie in arrays of words, which are handed on sooner than
# arrays of structures.

from unlearnspn.statistics.g_test cimport Association
from unlearnspn.mixing cimport FIRST

cdef extern from *:
    """
    #define UNLEARNSPN_TOTAL_FACTOR 0xC2B2AE3D27D4EB4FULL
    """
    const unsigned long long TOTAL_FACTOR "UNLEARNSPN_TOTAL_FACTOR"


cdef struct Pair:
    # Their places in the scope: the one that asked, and the other.
    int hub
    int other
    int freedom
    int depends
    # As in `Association`.
    long long half_g
    long long total

ctypedef Pair* PairPointer

cdef enum:
    WORDS_OF_PAIR = 4


cdef inline PairPointer pair_at(long long* words, Py_ssize_t k) noexcept nogil:
    """Return a pair by its number."""
    return <PairPointer> &words[WORDS_OF_PAIR * k]


cdef inline void set_association(PairPointer pair, Association found) noexcept nogil:
    pair.half_g = found.half_g
    pair.freedom = <int> found.freedom
    pair.total = found.total


cdef inline unsigned long long value_of(PairPointer pair) noexcept nogil:
    """Put what is known of a pair in one number, for a hash."""
    cdef unsigned long long value = <unsigned long long> pair.half_g
    value += FIRST * <unsigned long long> pair.freedom
    return value + TOTAL_FACTOR * <unsigned long long> pair.total


cdef inline bint is_dependent(long long half_g, long long freedom, double cut) noexcept nogil:
    """Tell whether G exceeds 2·cut·degrees of freedom."""
    return freedom > 0 and half_g > cut * freedom * 16777216.0
