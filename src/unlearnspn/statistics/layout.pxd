# How rows of numbers and categories lie in a space of integers, for inner loops.

from unlearnspn.rows.features cimport FEATURE_STD


cdef enum:
    # An indicator that is half the time on deviates by one standard deviation.
    ONE = 2 * FEATURE_STD
    # So many rows stay in the processor's cache, with all that is computed of them.
    BLOCK = 256


cdef struct Variable:
    # Where a variable stands among those of the table, and its entries in a line.
    Py_ssize_t column
    Py_ssize_t start
    Py_ssize_t end
    bint is_numeric


cdef inline Py_ssize_t count_blocks(Py_ssize_t n_rows) noexcept nogil:
    """Return how many blocks there are of so many rows."""
    return (n_rows + BLOCK - 1) >> 8
