# Asking for memory before it is needed: rows of a node lie anywhere, and to fetch one takes as long as to count it.

cdef extern from *:
    """
    #if defined(__GNUC__) || defined(__clang__)
    #define UNLEARNSPN_PREFETCH(address) __builtin_prefetch(address)
    #else
    #define UNLEARNSPN_PREFETCH(address) ((void) (address))
    #endif
    """
    void prefetch "UNLEARNSPN_PREFETCH" (const void* address) noexcept nogil

# So many rows ahead of the one that is worked on.
cdef enum:
    ROWS_AHEAD = 16
