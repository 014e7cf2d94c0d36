cdef class Sorter:
    cdef unsigned long long[:, ::1] keys
    cdef int[:, ::1] members
    cdef int[:, ::1] starts
    cdef int side
    cdef Py_ssize_t sort(self, double[:, ::1] values, Py_ssize_t place, long long[::1] rows) noexcept nogil


cpdef Sorter sorter_for(Py_ssize_t n_rows)
cpdef Py_ssize_t sort_rows(
    Sorter sorter, double[:, ::1] values, Py_ssize_t place, long long[::1] rows, long long[::1] into
) noexcept nogil
cpdef void find_rows(
    int[::1] ordered, double[:, ::1] values, Py_ssize_t place, long long[::1] rows, long long[::1] found
) noexcept nogil
cpdef Py_ssize_t replace_rows(
    int[::1] ordered, double[:, ::1] values, Py_ssize_t place, long long[::1] gone, long long[::1] coming, int[::1] line
) noexcept nogil
