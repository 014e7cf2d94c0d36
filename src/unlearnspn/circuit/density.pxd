from unlearnspn.circuit.inputs cimport Rows
from unlearnspn.circuit.log_sums cimport Parts
from unlearnspn.circuit.normal_densities cimport NormalDensities
from unlearnspn.circuit.tree_lookup cimport Workspace
from unlearnspn.circuit.tree_lookups cimport TreeLookups
from unlearnspn.circuit.tree_messages cimport TreeArrays


cdef struct Block:
    # The values of some rows: a line for each unit that is kept begins `width` after that of the one before.
    double* values
    Py_ssize_t width
    # The first of the rows, and how many they are.
    Py_ssize_t start
    Py_ssize_t n_rows
    # Room for as many numbers as `Evaluator.room` says, for each row.
    double* room
    # Room for joint normals.
    double* normal_room


cdef class Evaluator:
    cdef const unsigned char[::1] units
    cdef const int[::1] slots
    cdef const long long[::1] child_starts
    cdef const int[::1] children
    cdef const double[::1] log_weights
    cdef const double[::1] weights
    cdef const long long[::1] parameter_starts
    cdef const double[::1] parameters
    cdef const long long[::1] lines
    # The line of each child of a unit.
    cdef const int[::1] child_lines
    cdef Py_ssize_t n_lines
    cdef Py_ssize_t room
    cdef TreeArrays trees
    cdef NormalDensities normals
    cdef double* line(self, Py_ssize_t unit, Block block) noexcept nogil
    cdef Parts parts(self, Py_ssize_t unit, Block block) noexcept nogil
    cdef void evaluate(self, TreeLookups lookup, Rows rows, Block block, Workspace* workspace) noexcept nogil
    cdef void add(self, Py_ssize_t unit, Rows rows, Block block, double* total) noexcept nogil
    cdef void multiply(self, Py_ssize_t unit, Rows rows, Block block) noexcept nogil
    cdef void mix(self, Py_ssize_t unit, Block block) noexcept nogil
    cdef void combine(self, Rows rows, Block block, bint maximise) noexcept nogil
