from unlearnspn.independence.variables cimport Variables


cdef class Columns:
    cdef Variables variables
    cdef long long[::1] rows
    cdef unsigned char[:, ::1] levels
    cdef unsigned char[:, ::1] codes
    cdef unsigned char[::1] is_ready
    cdef long long[:, ::1] counts
    cdef unsigned long long[:, :, ::1] bits
    cdef void write_pair(self, Py_ssize_t u, Py_ssize_t v, int[::1] cells, Py_ssize_t start) noexcept nogil
    cdef void _prepare(self, Py_ssize_t i) noexcept nogil
    cdef int _count_common(self, Py_ssize_t u, Py_ssize_t a, Py_ssize_t v, Py_ssize_t b) noexcept nogil
