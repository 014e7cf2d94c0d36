ctypedef const double* Weights
ctypedef const int* LineNumbers


# What is mixed: lines of log-densities.
cdef struct Parts:
    # The line with number n begins `width` · n after `values`.
    double* values
    Py_ssize_t width
    LineNumbers lines
    Py_ssize_t n_parts
    Py_ssize_t n_rows
    # Room for 2 + `n_parts` numbers for each row.
    double* room


cdef void compare_parts(Parts parts) noexcept nogil
cdef void add_up(Parts parts, Weights weights, Weights log_weights, double* total) noexcept nogil
cdef void pick_best(Parts parts, Weights log_weights, double* total) noexcept nogil
