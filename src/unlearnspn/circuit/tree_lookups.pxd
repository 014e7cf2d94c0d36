from unlearnspn.circuit.inputs cimport Rows
from unlearnspn.circuit.tree_lookup cimport Workspace


cdef class TreeLookups:
    cdef list lookups
    # The same, for compiled code that holds no lock.
    cdef void** pointers
    cdef Py_ssize_t n_slots
    # The most that a tree has.
    cdef Py_ssize_t most_nodes
    cdef Py_ssize_t most_states
    cdef Py_ssize_t most_node_states
    cdef Py_ssize_t most_lines
    cdef Py_ssize_t most_room
    # How many lines of numbers a tree takes.
    cdef readonly Py_ssize_t n_lines
    cdef void point(self, tuple held, Py_ssize_t n_rows, Workspace* work)
    cdef void begin(self, Rows rows, Py_ssize_t start, Py_ssize_t n_rows, Workspace* work) noexcept nogil
    cdef void evaluate(self, Py_ssize_t number, double* total, Workspace* work) noexcept nogil
