cdef class CodedRows:
    cdef readonly object arrays
    cdef unsigned char[:, ::1] codes
    cdef short[:, ::1] features
    cdef long long[:, ::1] bits
    cdef short[:, ::1] short_levels
    cdef int[:, ::1] long_levels
    cdef bint has_long_levels
    cdef unsigned long long[::1] keys
    cdef unsigned char[::1] live
    cdef unsigned char[::1] is_numeric
    cdef long long[::1] place
    cdef long long[::1] sizes
    cdef unsigned long long[:, ::1] prints
    cdef unsigned char[::1] hides
    cdef long long level(self, Py_ssize_t row, Py_ssize_t column) noexcept nogil
    cdef long long value(self, Py_ssize_t row, Py_ssize_t v) noexcept nogil
