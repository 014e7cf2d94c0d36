from unlearnspn.statistics.g_test cimport Logs


cdef class Contexts:
    # How many ancestors a variable can depend on.
    cdef readonly Py_ssize_t order
    cdef readonly Py_ssize_t n_records
    # How many records have each outcome.
    cdef readonly long long[::1] counts
    # By variable: its parent, the number of ancestors that it depends on, and how long contexts its states have.
    cdef readonly long long[::1] parents
    cdef readonly long long[::1] lengths
    cdef long long[::1] kept
    # How many contexts of each length there are, [variable, length]; see `extend`.
    cdef long long[:, ::1] sizes
    # The context of each record, [variable, length, record]; 0 where something of it is missing.
    cdef unsigned char[:, :, ::1] ids
    # Of each context, [variable, length, context]: the variable's own value as a context of length one, the parent's
    # context that it goes on with, and the context that has one ancestor less.
    cdef unsigned char[:, :, ::1] owns
    cdef unsigned char[:, :, ::1] tails
    cdef unsigned char[:, :, ::1] prefixes
    # Whether a variable can be part of contexts of more than one variable.
    cdef const unsigned char[::1] is_numeric
    # Of one variable and one candidate at a time.
    cdef unsigned char[::1] marks
    cdef long long[::1] cells
    cdef long long[::1] columns
    cdef long long[::1] filled
    cdef long long[::1] siblings
    cdef Logs logs
    cdef long long penalty
    cdef void search(
        self,
        const unsigned char[:, ::1] codes,
        const long long[::1] starts,
        const long long[::1] outcomes,
        const long long[::1] joined,
        const long long[:, ::1] gains,
    )
    cdef void number_values(
        self,
        Py_ssize_t v,
        const unsigned char[::1] codes,
        Py_ssize_t start,
        Py_ssize_t end,
        const long long[::1] outcomes,
    ) noexcept nogil
    cdef void depend(
        self, Py_ssize_t v, const long long[::1] joined, Py_ssize_t rank, const long long[:, ::1] gains
    ) noexcept nogil
    cdef Py_ssize_t list_siblings(
        self, Py_ssize_t v, const long long[::1] joined, Py_ssize_t rank, const long long[::1] gains
    ) noexcept nogil
    cdef long long score(self, Py_ssize_t v, Py_ssize_t candidate) noexcept nogil
    cdef void count(self, Py_ssize_t v, Py_ssize_t node, Py_ssize_t length) noexcept nogil
    cdef bint extend(self, Py_ssize_t v, Py_ssize_t length) noexcept nogil
    cdef bint list_contexts(self, Py_ssize_t v, Py_ssize_t length) noexcept nogil
    cdef Py_ssize_t find(self, Py_ssize_t v, Py_ssize_t length, Py_ssize_t own, Py_ssize_t tail) noexcept nogil
    cdef Py_ssize_t shorten(self, Py_ssize_t v, Py_ssize_t length, Py_ssize_t context, Py_ssize_t to) noexcept nogil
    cdef Py_ssize_t n_contexts(self, Py_ssize_t v) noexcept nogil
    cdef Py_ssize_t state_of(
        self, Py_ssize_t v, Py_ssize_t own, Py_ssize_t length, Py_ssize_t context
    ) noexcept nogil
