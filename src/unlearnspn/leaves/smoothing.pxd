# Additive smoothing of counts, for inner loops.

cimport cython
from libc.math cimport INFINITY

from unlearnspn.const_types cimport const_int64
from unlearnspn.portable_math cimport log


@cython.cdivision(True)
cdef inline double log_share(double part, double total) noexcept nogil:
    """Return the logarithm of a share."""
    # Shares below the normal doubles are as good as none, and `log` does not know them.
    cdef double share = part / total
    return log(share) if share >= 2.2250738585072014e-308 else -INFINITY


cdef inline void smooth(
    const_int64[::1] counts,
    Py_ssize_t first_count,
    Py_ssize_t n_counts,
    const_int64[::1] levels,
    Py_ssize_t first_level,
    Py_ssize_t n_levels,
    double alpha,
    double unseen,
    double[::1] log_probabilities,
    Py_ssize_t at,
) noexcept nogil:
    """Write log((count + alpha) / total) of each outcome, given by its level, then of those never seen together.

    There is a count for each level. A level without one is that of an outcome nobody has; what was never seen has
    `unseen`·alpha in place of count + alpha.
    """
    cdef long long n_records = 0, level, known
    cdef double total
    cdef Py_ssize_t i
    for i in range(n_counts):
        n_records += counts[first_count + i]
    total = n_records + alpha * (n_levels + unseen)
    for i in range(n_levels):
        level = levels[first_level + i]
        known = counts[first_count + level] if 0 <= level < n_counts else 0
        log_probabilities[at + i] = log_share(known + alpha, total)
    log_probabilities[at + n_levels] = log_share(alpha * unseen, total)
