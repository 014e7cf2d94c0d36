# Keyed randomness for inner loops: a bijection of 64 bits (the SplitMix64 finaliser), and what follows from it.
# `hashing.py` offers the same to Python.

cdef extern from *:
    """
    #define UNLEARNSPN_FIRST 0x9E3779B97F4A7C15ULL
    #define UNLEARNSPN_SECOND 0xBF58476D1CE4E5B9ULL
    #define UNLEARNSPN_THIRD 0x94D049BB133111EBULL
    """
    const unsigned long long FIRST "UNLEARNSPN_FIRST"
    const unsigned long long SECOND "UNLEARNSPN_SECOND"
    const unsigned long long THIRD "UNLEARNSPN_THIRD"


cdef inline unsigned long long mix64(unsigned long long x) noexcept nogil:
    """Scatter 64 bits, so that distinct inputs never collide."""
    x = x + FIRST
    x = (x ^ (x >> 30)) * SECOND
    x = (x ^ (x >> 27)) * THIRD
    return x ^ (x >> 31)


cdef inline unsigned long long cell_hash(unsigned long long first, unsigned long long second) noexcept nogil:
    """Hash a pair of codes by their fingerprints."""
    return mix64(first ^ mix64(second))
