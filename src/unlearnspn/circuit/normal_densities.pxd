from unlearnspn.circuit.inputs cimport Rows


cdef class NormalDensities:
    # Where the variables, the means and the lines of each normal start, and where its whole squares do.
    cdef const long long[::1] starts
    cdef const long long[::1] square_starts
    # The line of each variable among the columns of numbers.
    cdef const int[::1] slots
    cdef const double[::1] means
    # The inverse of the factor's diagonal, and the factor with its lines divided by the diagonal.
    cdef const double[::1] inverses
    cdef const double[::1] factors
    # Powers of 2 about as large as each line of the factor, and the factor with its lines divided by these.
    cdef const double[::1] units
    cdef const double[::1] lines
    # The log-density at the mean.
    cdef const double[::1] constants
    cdef Py_ssize_t most
    cdef readonly Py_ssize_t n_normals
    cdef Py_ssize_t room(self, Py_ssize_t n_rows) noexcept nogil
    cdef void evaluate(
        self, Py_ssize_t number, Rows rows, Py_ssize_t start, Py_ssize_t n_rows, double* total, double* room
    ) noexcept nogil
    cdef void evaluate_marginals(
        self, Py_ssize_t number, Rows rows, Py_ssize_t start, Py_ssize_t n_rows, double* total, double* room
    ) noexcept nogil
    cdef int bucket(self, Py_ssize_t number, Rows rows, Py_ssize_t row) noexcept nogil
    cdef double marginal(self, Py_ssize_t number, Rows rows, Py_ssize_t row, double* room) noexcept nogil
    cdef void prepare(self, Py_ssize_t number, double* known, Py_ssize_t n_known, double* lines) noexcept nogil
