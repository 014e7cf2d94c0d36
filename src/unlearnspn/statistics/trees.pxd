from unlearnspn.const_types cimport const_int64
from unlearnspn.rows.coded cimport CodedRows


cdef class TreeHashes:
    cdef unsigned long long codes_low
    cdef unsigned long long codes_high
    cdef unsigned long long values_low
    cdef unsigned long long values_high
    cpdef void shift(
        self, CodedRows coded, const_int64[::1] scope, const_int64[::1] rows, long long sign
    ) noexcept
    cpdef TreeHashes merge(self, TreeHashes other)
    cpdef TreeHashes copy(self)
    cdef void shift_codes(
        self, CodedRows coded, const_int64[::1] scope, const_int64[::1] rows, unsigned long long factor
    ) noexcept nogil
    cdef void shift_values(
        self, CodedRows coded, const_int64[::1] scope, const_int64[::1] rows, unsigned long long factor
    ) noexcept nogil
