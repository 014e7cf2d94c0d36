from unlearnspn.statistics.g_test cimport Association, Logs


cdef class PairTables:
    cdef const unsigned char[:, ::1] codes
    cdef const long long[::1] sizes
    # Of variables with few codes: for each code the records that have it, as bits, and how many these are.
    cdef const long long[::1] first_codes
    cdef unsigned long long[:, ::1] bits
    cdef long long[::1] totals
    cdef Py_ssize_t n_words
    # The table that was counted last.
    cdef long long[::1] cells
    cdef void _set_bits(self)
    cdef Association associate(self, Py_ssize_t u, Py_ssize_t v, Logs logs) noexcept nogil
    cdef void count(self, Py_ssize_t u, Py_ssize_t v) noexcept nogil
    cdef void count_bits(self, Py_ssize_t u, Py_ssize_t v) noexcept nogil
