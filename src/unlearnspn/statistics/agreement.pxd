from unlearnspn.rows.coded cimport CodedRows
from unlearnspn.statistics.bits cimport Line, LinePointer

cdef class Agreement:
    cdef Py_ssize_t n_columns
    cdef Py_ssize_t n_words
    cdef Py_ssize_t most_words
    cdef unsigned long long[::1] _scratch
    cdef unsigned long long* _agrees
    cdef unsigned long long* _absent
    cdef unsigned char* _octets
    cdef unsigned char* _has_gaps
    cdef long long* alike
    cdef void compare_first(
        self, CodedRows coded, const long long* rows, Py_ssize_t n_rows, Py_ssize_t row
    ) noexcept nogil
    cdef void _compare_block(
        self, CodedRows coded, const long long* rows, Py_ssize_t n_rows, Py_ssize_t row, Py_ssize_t word
    ) noexcept nogil
    cdef void _compare_eight(
        self, LinePointer lines, Py_ssize_t n_lines, Line own, unsigned char* octets
    ) noexcept nogil
    cpdef long long count_both(self, Py_ssize_t u, Py_ssize_t v) noexcept nogil
    cpdef long long count_absent(self, Py_ssize_t u, Py_ssize_t v) noexcept nogil
