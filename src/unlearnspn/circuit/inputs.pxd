from unlearnspn.circuit.log_densities cimport Numbers

ctypedef const int* PlaceNumbers

cdef void add_to_rows(
    int unit,
    Numbers parameters,
    Py_ssize_t n_parameters,
    Numbers numbers,
    PlaceNumbers places,
    double* total,
    Py_ssize_t n_rows,
) noexcept nogil
