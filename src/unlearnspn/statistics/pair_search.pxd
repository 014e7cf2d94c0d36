from unlearnspn.rows.coded cimport CodedRows
from unlearnspn.statistics.g_test cimport Association, Logs

cdef class Hub:
    cdef CodedRows coded
    cdef long long[::1] rows
    cdef Py_ssize_t variable
    cdef Py_ssize_t n_codes
    cdef Py_ssize_t n_others
    cdef long long[::1] _layout
    cdef long long* others
    cdef long long* starts
    cdef long long* widths
    cdef long long[::1] cells
    cdef void begin(self, Py_ssize_t variable) noexcept nogil
    cdef void add(self, Py_ssize_t other) noexcept nogil
    cdef void count(self)
    cdef void _count_rows(self) noexcept nogil
    cdef void _count_tables(self, Py_ssize_t start, Py_ssize_t end) noexcept nogil
    cdef Association associate(self, Py_ssize_t k, Logs logs) noexcept nogil
