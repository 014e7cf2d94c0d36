# Lines of values, [line, row].
cdef struct Lines:
    double* values
    Py_ssize_t width
    Py_ssize_t n_rows
    # Room for as many numbers as `TreeArrays.room` says, for each row.
    double* room


cdef class TreeArrays:
    # The number of each unit among the trees; -1 for what is none.
    cdef const int[::1] numbers
    # The nodes of each tree.
    cdef const long long[::1] starts
    # Of each node: its parent among all nodes, -1 for a first one; its number of states; its number of inputs.
    cdef const long long[::1] parents
    cdef const long long[::1] n_states
    cdef const long long[::1] n_inputs
    # Where its inputs are among the children of units, and its table among the parameters.
    cdef const long long[::1] first_inputs
    cdef const long long[::1] tables
    # The line of its first state; lines of states come after those of units.
    cdef const long long[::1] state_lines
    cdef const int[::1] every_line
    cdef const int[::1] children
    cdef const double[::1] log_weights
    cdef const double[::1] weights
    # How many lines there are, of units and of states.
    cdef readonly Py_ssize_t n_lines
    cdef readonly Py_ssize_t most_states
    cdef readonly Py_ssize_t room
    cdef void evaluate(self, Py_ssize_t unit, Lines lines, bint maximise) noexcept nogil
    cdef void send(
        self, Py_ssize_t node, Py_ssize_t n_messages, double* messages, Lines lines, bint maximise
    ) noexcept nogil
