from unlearnspn.independence.variables cimport Variables


cdef void write_cuts(
    int[::1] ordered, long long observed, Variables variables, Py_ssize_t column, double[::1] cuts
) noexcept nogil
cpdef unsigned char level_of(double[::1] cuts, double value) noexcept nogil
