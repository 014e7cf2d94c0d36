from unlearnspn.rows.coded cimport CodedRows
from unlearnspn.rows.row_set cimport RowSet
from unlearnspn.spn.change cimport Change
from unlearnspn.spn.learn_spn cimport Decision
from unlearnspn.spn.node cimport Factor, Node
from unlearnspn.statistics.marginals cimport Marginals


cdef class _Revised:
    cdef object _revision
    cdef Node _node
    cdef Change _change
    cdef object _data
