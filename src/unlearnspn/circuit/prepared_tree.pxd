from unlearnspn.circuit.tree_messages cimport TreeArrays


cdef class PreparedTree:
    cdef TreeArrays trees
    cdef const unsigned char[::1] units
    cdef const int[::1] slots
    cdef const long long[::1] parameter_starts
    cdef const double[::1] parameters
    # Of each node: its kind, the line of its variable, and how many places the categories of that have.
    cdef unsigned char[::1] kinds
    cdef const int[::1] node_slots
    cdef const long long[::1] n_places
    # The state of each place, and whether these are the same numbers for all.
    cdef const long long[::1] place_starts
    cdef int[::1] states
    cdef unsigned char[::1] is_same
    # The probability of each place given each state of the parent, and its logarithm, see `LookupTable`.
    cdef const long long[::1] table_starts
    cdef double[::1] probabilities
    cdef const long long[::1] log_starts
    cdef double[::1] logs
    # The state of each place given each state of the parent, in nodes that depend on this; like `logs`, -1 for unknown.
    cdef int[::1] next_states
    # The probability of each place in each state of such nodes.
    cdef const long long[::1] state_starts
    cdef double[::1] in_states
    # Whether all its nodes are looked up; of each node whether its parent's states may get too small.
    cdef bint is_complete
    cdef unsigned char[::1] gets_small
    # How many states all nodes have together.
    cdef Py_ssize_t n_states
    cdef void prepare(self, Py_ssize_t node) noexcept nogil
    cdef bint prepare_states(self, Py_ssize_t node) noexcept nogil
    cdef bint prepare_next_states(self, Py_ssize_t node, Py_ssize_t n_lines) noexcept nogil
    cdef void plan_rescaling(self, Py_ssize_t node, double[::1] halves) noexcept nogil
