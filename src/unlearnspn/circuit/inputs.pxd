from unlearnspn.circuit.log_densities cimport Numbers

ctypedef const int* PlaceNumbers


cdef struct Rows:
    # Lines of the columns of each kind, each of which has this many rows.
    const double* numbers
    const int* places
    Py_ssize_t n_rows


cdef void add_to_rows(
    int unit,
    Numbers parameters,
    Py_ssize_t n_parameters,
    Numbers numbers,
    PlaceNumbers places,
    double* total,
    Py_ssize_t n_rows,
) noexcept nogil
