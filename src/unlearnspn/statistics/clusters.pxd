from unlearnspn.statistics.space cimport Space


cdef class Clusters:
    cdef readonly object seeds
    cdef readonly object sizes
    cdef readonly object counts
    cdef readonly object sums
    cdef readonly object centroids
    cdef readonly object labels
    cdef readonly object labelled
    cdef object centroid_hashes
    cdef long long last_row
    cdef long long last_label
    cdef readonly Py_ssize_t n_clusters
    cdef readonly Py_ssize_t n_rounds
    cdef readonly Py_ssize_t width
    # The same arrays, as compiled code reads them.
    cdef long long* seed_rows
    cdef long long* final_sizes
    cdef long long* round_counts
    cdef long long* round_sums
    cdef long long* round_centroids

    cdef long long* sums_of(self, Py_ssize_t r, Py_ssize_t c) noexcept nogil
    cdef long long* centroids_of(self, Py_ssize_t r) noexcept nogil
    cdef void shift_row(self, Space space, Py_ssize_t r, Py_ssize_t row, Py_ssize_t c, long long sign) noexcept nogil
    cdef label_by_round(self, Space space, const long long[::1] rows)
    cdef shift_rows(self, Space space, Py_ssize_t r, const long long[::1] rows, labels_by_round, long long sign)
    cdef bint leads_alike(self, Space space, Py_ssize_t r, long long* scratch) noexcept nogil
