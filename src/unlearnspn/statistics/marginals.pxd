from unlearnspn.rows.coded cimport CodedRows

cdef class Marginals:
    cdef readonly object counts
    cdef long long[::1] _counts
    cdef readonly unsigned long long low
    cdef readonly unsigned long long high
    cpdef void shift_row(self, CodedRows coded, long long[::1] scope, Py_ssize_t row, long long sign)
    cdef void _add_up_hash(self, CodedRows coded, long long[::1] scope) noexcept nogil
    cdef unsigned char _state(self, CodedRows coded, Py_ssize_t v, Py_ssize_t start) noexcept nogil
