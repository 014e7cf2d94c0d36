cdef class KnownNumbers:
    cdef const double[::1] numbers
    cdef const int[::1] places
    cdef const long long[::1] starts
    # The places of small whole numbers.
    cdef const int[::1] tables
    cdef const long long[::1] table_starts
    cdef const long long[::1] n_categories
    cdef int place(self, Py_ssize_t column, double number) noexcept nogil
    cdef void find(
        self, Py_ssize_t column, const double[:, :] cells, Py_ssize_t start, Py_ssize_t end, int* places
    ) noexcept nogil
    cdef int search(self, Py_ssize_t column, double number) noexcept nogil


cdef class ArrayReader:
    cdef const unsigned char[::1] is_numeric
    cdef const int[::1] slots
    cdef KnownNumbers known
