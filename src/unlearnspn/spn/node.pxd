from unlearnspn.rows.row_set cimport RowSet
from unlearnspn.statistics.marginals cimport Marginals

cdef class Factor:
    cdef readonly object scope
    cdef readonly object statistics
    cdef readonly bint is_tree
    cdef readonly Py_ssize_t variable


cdef class Node:
    cdef public object operation
    cdef public object place
    cdef public object scope
    cdef public object key
    cdef public Py_ssize_t n_records
    cdef public Marginals marginals
    cdef public object informative
    cdef public object independence
    cdef public object clustering
    cdef public RowSet rows
    cdef public list children
    cdef public tuple clusters
    cdef public tuple factors
    cdef public object digests
    cdef public object shown
    cdef public Py_ssize_t number
    cdef public bint is_stored
    cpdef void touch(self)
