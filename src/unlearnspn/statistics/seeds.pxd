from unlearnspn.statistics.space cimport Space


cdef class Candidates:
    cdef Space space
    cdef const long long[::1] rows
    cdef const short[:, ::1] columns
    cdef unsigned long long[::1] keys
    cdef double[::1] reach
    cdef int[::1] n_compared
    # The features of the seeds, [seed, variable of the table].
    cdef short[:, ::1] seeds
    cdef Py_ssize_t n_seeds
    cdef long long best
    cdef double score
    cdef unsigned long long draw
    cdef void read_keys(self) noexcept nogil
    cdef void take(self, const short* features) noexcept nogil
    cdef bint pick(self) noexcept nogil
    cdef void pick_first(self) noexcept nogil
    cdef void pick_next(self) noexcept nogil
    cdef void compare(self, Py_ssize_t j, double uniform, double score) noexcept nogil


cdef bint seeds_hold(
    Space space, const long long* seeds, Py_ssize_t n_seeds, const long long[::1] minus, const long long[::1] plus
) noexcept nogil
