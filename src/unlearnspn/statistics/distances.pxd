from unlearnspn.statistics.space cimport Space


cdef Py_ssize_t nearest(Space space, Py_ssize_t row, const long long* centroids, Py_ssize_t n_clusters) noexcept nogil

cdef object label_rows(
    Space space, const long long[::1] rows, const long long* centroids, Py_ssize_t n_clusters)


cdef class Costs:
    cdef readonly Py_ssize_t n_clusters
    cdef Space space
    cdef long long[:, ::1] values
    cdef long long[:, ::1] changes
    cdef unsigned char[:, ::1] is_changed

    cdef void start(self, const long long* centroids, Py_ssize_t n_clusters) noexcept nogil
    cdef void move(self, const long long* centroids) noexcept nogil
    cdef void label(
        self, const short[:, ::1] columns, Py_ssize_t start, Py_ssize_t end, long long* labels) noexcept nogil
    cdef void relabel(
        self, const short[:, ::1] columns, long long[:, :, ::1] distances, long long* labels) noexcept nogil
    cdef void add_changes(
        self, Py_ssize_t c, const short[:, ::1] columns, Py_ssize_t first, Py_ssize_t n_rows, long long* distances
    ) noexcept nogil
