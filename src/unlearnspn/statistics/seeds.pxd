from unlearnspn.statistics.space cimport Space


cdef bint seeds_hold(
    Space space, const long long* seeds, Py_ssize_t n_seeds, const long long[::1] minus, const long long[::1] plus
) noexcept nogil
