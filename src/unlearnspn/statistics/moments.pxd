cdef class Moments:
    cdef readonly long long n
    cdef readonly object first
    cdef readonly object second
    cpdef Moments merge(self, Moments other)
    cpdef Moments minus(self, Moments other)


cpdef Moments sum_values(long long[:, :] bits, long long[:] rows, Py_ssize_t column)
