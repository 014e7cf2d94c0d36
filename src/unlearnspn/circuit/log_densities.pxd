ctypedef const double* Numbers

cdef void add_numeric(
    int unit, Numbers parameters, Py_ssize_t n_parameters, Numbers values, double* total, Py_ssize_t n_rows
) noexcept nogil
