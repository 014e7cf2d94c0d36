from unlearnspn.independence.variables cimport Variables


cdef class Whitened:
    cdef double[:, :, ::1] features
    cdef long long[::1] widths
    cdef long long[:, ::1] orders
    cdef long long[::1] occurring
    cdef double[::1] scratch
    cdef double[::1] counts
    cdef long long[::1] codes


cdef bint are_correlated(
    Whitened whitened, int[::1] cells, Py_ssize_t start, Py_ssize_t n_right, Py_ssize_t u, Py_ssize_t v, double threshold
) noexcept nogil
cpdef Whitened whiten(Variables variables, long long[:, ::1] counts)
