from unlearnspn.circuit.inputs cimport PlaceNumbers, Rows
from unlearnspn.circuit.log_sums cimport Weights
from unlearnspn.circuit.prepared_tree cimport PreparedTree


# The logarithms of a node, [state of its parent, place], with those states and places of some rows. Before the first
# line and the first column are others, of zeros: for what is not known, which has the number -1.
cdef struct LookupTable:
    const double* logs
    PlaceNumbers states
    PlaceNumbers places
    int n_columns


# A tree and some rows that it is evaluated for, and what that needs; lines have `width` elements.
cdef struct Workspace:
    Rows rows
    Py_ssize_t start
    Py_ssize_t n_rows
    Py_ssize_t width
    # The first of the tree's nodes, and of all states of trees its first one.
    Py_ssize_t first
    Py_ssize_t first_state
    # The log-density of each row: what is known of it so far, and a factor that is still to be added.
    double* total
    double* factors
    # Whether bits have got lost.
    unsigned char* suspect
    # Of each node of a tree.
    LookupTable* tables
    # How many rows lack each of the columns of categories.
    int* n_missing
    # For each node how many rows do not know its state, and whether its states have been written.
    int* n_unknown
    unsigned char* is_open
    # A line for each node: its state if that is known, else -1; and whether anything is known of it or below it.
    int* known
    unsigned char* informed
    # A line for each state of the tree: how likely all is that is known of its node and below, if it is the state.
    double* states
    # Lines for the states of one node.
    double* parts
    double* messages
    # Numbers of rows.
    int* chosen
    # A value for each unit of the circuit and each state, and room to mix them.
    double* values
    double* room


cdef class TreeLookup(PreparedTree):
    cdef void evaluate(self, double* total, Workspace* work) noexcept nogil
    cdef bint lacks_nothing(self, Py_ssize_t first, Py_ssize_t end, Workspace* work) noexcept nogil
    cdef Py_ssize_t find_tables(self, Py_ssize_t first, Py_ssize_t end, Workspace* work) noexcept nogil
    cdef void look_up(self, Py_ssize_t first, Py_ssize_t end, Workspace* work) noexcept nogil
    cdef PlaceNumbers places(self, Py_ssize_t node, Workspace* work) noexcept nogil
    cdef PlaceNumbers known(self, Py_ssize_t node, Workspace* work) noexcept nogil
    cdef double* lines(self, Py_ssize_t node, Workspace* work) noexcept nogil
    cdef Weights table(self, Py_ssize_t node) noexcept nogil
    cdef void find_states(self, Py_ssize_t node, Workspace* work) noexcept nogil
    cdef void follow_states(
        self, Py_ssize_t node, PlaceNumbers places, int* known, Workspace* work
    ) noexcept nogil
    cdef void weigh_places(self, Py_ssize_t node, Workspace* work) noexcept nogil
    cdef void open_node(self, Py_ssize_t node, Workspace* work) noexcept nogil
    cdef void add_inputs(self, Py_ssize_t node, double* lines, Workspace* work) noexcept nogil
    cdef void weigh_states(self, Py_ssize_t node, Workspace* work) noexcept nogil
    cdef void weigh_parent(self, Py_ssize_t node, Workspace* work) noexcept nogil
    cdef void tell_parent(self, Py_ssize_t node, Workspace* work) noexcept nogil
    cdef void sum_out(self, Py_ssize_t node, Workspace* work) noexcept nogil
    cdef Py_ssize_t choose_unknown(self, Py_ssize_t node, Workspace* work) noexcept nogil
    cdef double* gather(self, Py_ssize_t node, Py_ssize_t n, Workspace* work) noexcept nogil
    cdef void pass_on(self, Py_ssize_t node, Py_ssize_t n, Workspace* work) noexcept nogil
    cdef void sum_out_below_known(self, Py_ssize_t node, Workspace* work) noexcept nogil
    cdef void rescale(self, Py_ssize_t node, PlaceNumbers chosen, Py_ssize_t n, Workspace* work) noexcept nogil
    cdef void evaluate_row(self, Py_ssize_t row, Workspace* work) noexcept nogil
