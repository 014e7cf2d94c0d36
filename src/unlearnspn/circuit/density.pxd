# The numbers of some sums.
ctypedef const long long* Sums


cdef struct Rows:
    # Lines of the columns of each kind, each of which has this many rows.
    const double* numbers
    const int* places
    Py_ssize_t n_rows


cdef struct Block:
    # The values of some rows: a line for each unit that is kept begins `width` after that of the one before.
    double* values
    Py_ssize_t width
    # The first of the rows, and how many they are.
    Py_ssize_t start
    Py_ssize_t n_rows
    # Room for as many numbers as `Evaluator.room` says, for each row.
    double* room


cdef class Evaluator:
    cdef const unsigned char[::1] units
    cdef const int[::1] slots
    cdef const long long[::1] child_starts
    cdef const int[::1] children
    cdef const double[::1] log_weights
    cdef const double[::1] weights
    cdef const long long[::1] parameter_starts
    cdef const double[::1] parameters
    cdef const long long[::1] member_starts
    cdef const long long[::1] members
    cdef const long long[::1] lines
    cdef Py_ssize_t n_lines
    cdef Py_ssize_t room
    cdef double* line(self, Py_ssize_t unit, Block block) noexcept nogil
    cdef void evaluate(self, Rows rows, Block block) noexcept nogil
    cdef void add(self, Py_ssize_t unit, Rows rows, Block block, double* total) noexcept nogil
    cdef void multiply(self, Py_ssize_t unit, Rows rows, Block block) noexcept nogil
    cdef void mix(self, Sums sums, Py_ssize_t n_sums, Block block) noexcept nogil
    cdef double mix_row(self, Py_ssize_t first, Py_ssize_t n_parts, Block block, Py_ssize_t row) noexcept nogil
    cdef void pick(self, Py_ssize_t unit, Block block) noexcept nogil
