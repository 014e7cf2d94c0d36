cdef double uniform(unsigned long long key) noexcept nogil
