from unlearnspn.rows.coded cimport CodedRows


cdef class RowSet:
    cdef object array
    cdef long long* slots
    cdef Py_ssize_t n_slots
    cdef readonly Py_ssize_t n_rows
    cdef unsigned long long low
    cdef unsigned long long high
    cpdef void shift(self, CodedRows coded, long long[::1] rows, long long sign) except *
    cpdef RowSet copy(self)
    cpdef RowSet merge(self, RowSet other)
    cdef void reserve(self, Py_ssize_t n_rows) except *
    cdef void require(self, long long[::1] rows) except *
    cdef void insert(self, long long[::1] rows) noexcept nogil
    cdef void drop(self, long long[::1] rows) noexcept nogil
