from unlearnspn.spn.node cimport Node
from unlearnspn.statistics.marginals cimport Marginals


cdef class Decision:
    cdef readonly object operation
    cdef readonly Marginals marginals
    cdef readonly object informative
    cdef readonly object independence
    cdef readonly object groups
    cdef readonly object clustering
