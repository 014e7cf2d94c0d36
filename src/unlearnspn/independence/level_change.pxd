from unlearnspn.independence.value_order cimport Sorter
from unlearnspn.independence.variables cimport Variables


cdef class LevelChange:
    cdef Variables variables
    cdef long long[::1] minus
    cdef long long[::1] plus
    cdef int[:, ::1] ordered
    cdef long long[::1] observed
    cdef long long[::1] members
    cdef unsigned char[:, ::1] levels
    cdef readonly object orders
    cdef int[:, ::1] new_ordered
    cdef long long[::1] new_observed
    cdef long long[::1] new_members
    cdef unsigned char[:, ::1] new_levels
    cdef double[:, :, ::1] cuts
    cdef long long[:, :, ::1] spans
    cdef Py_ssize_t n_found
    cdef readonly long long[:, ::1] moves
    cdef readonly Py_ssize_t n_moves
    cdef void _revise_rows(self, Sorter sorter, long long[:, ::1] scratch) noexcept nogil
    cdef void _write_quantiles(self) noexcept nogil
    cdef void _revise_members(self) noexcept nogil
    cdef void _find_spans(self) noexcept nogil
    cdef void _write_moves(self) noexcept nogil
