cdef class Change:
    cdef readonly object minus
    cdef readonly object plus
    # The same rows, as compiled statistics take them.
    cdef long long[::1] leaving
    cdef long long[::1] coming
    cdef readonly Py_ssize_t size
    cdef readonly Py_ssize_t growth
    cdef object _find
    cdef object _found
    cdef public object by_cluster
