cdef class Variables:
    cdef unsigned char[:, ::1] codes
    cdef double[:, ::1] values
    cdef unsigned long long[:, ::1] prints
    cdef double[:, :, ::1] sines
    cdef long long[::1] scope
    cdef readonly long long n_levels
    cdef long long[::1] sizes
    cdef readonly Py_ssize_t most_codes
    cdef readonly Py_ssize_t n_numeric
    cdef long long[::1] numeric
    cdef long long[::1] places
    cdef long long[::1] columns
