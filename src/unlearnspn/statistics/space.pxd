from unlearnspn.rows.coded cimport CodedRows
from unlearnspn.statistics.layout cimport Variable


cdef class Space:
    cdef readonly CodedRows coded
    cdef readonly unsigned long long key
    cdef readonly Py_ssize_t n_clusters
    cdef readonly long long spacing
    cdef readonly Py_ssize_t max_rounds
    cdef readonly Py_ssize_t n_variables
    cdef readonly Py_ssize_t width
    cdef Variable* variables

    cdef short* features(self, Py_ssize_t row) noexcept nogil
    cdef void add_row(self, Py_ssize_t row, long long* line, long long sign) noexcept nogil
    cdef void move_row(self, Py_ssize_t row, long long* source, long long* target) noexcept nogil
    cdef void seed_line(self, Py_ssize_t row, long long* line) noexcept nogil
    cdef void write_lattice(self, long long* shifts) noexcept nogil
    cdef void quantise(
        self, const long long* lattice, const long long* sums, long long count, const long long* previous,
        long long* centroid) noexcept nogil
