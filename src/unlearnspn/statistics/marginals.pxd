from unlearnspn.rows.coded cimport CodedRows

cdef class Marginals:
    cdef readonly object counts
    # The same counts, as compiled code reads them.
    cdef long long* _counts
    cdef Py_ssize_t _n_counts
    cdef readonly unsigned long long low
    cdef readonly unsigned long long high
    cpdef void shift(self, CodedRows coded, long long[::1] scope, long long[::1] rows, long long sign)
    cpdef bint still_informative(
        self,
        CodedRows coded,
        long long[::1] scope,
        unsigned char[::1] informative,
        long long[::1] minus,
        long long[::1] plus,
        long long n_records,
        parts,
    )
    cpdef void shift_row(self, CodedRows coded, long long[::1] scope, Py_ssize_t row, long long sign)
    cdef void _add_up_hash(self, CodedRows coded, long long[::1] scope) noexcept nogil
    cdef unsigned char _state(self, CodedRows coded, Py_ssize_t v, Py_ssize_t start) noexcept nogil
