from unlearnspn.rows.coded cimport CodedRows
from unlearnspn.statistics.agreement cimport Agreement
from unlearnspn.statistics.g_test cimport Logs

cdef class AskedPairs:
    cdef readonly Py_ssize_t n_pairs
    cdef object words
    # The same pairs, as compiled code reads them.
    cdef long long* _words
    cdef readonly object cells
    cdef long long* _cells
    cdef Py_ssize_t _n_cells
    cdef readonly long long n_records
    cdef readonly unsigned long long low
    cdef readonly unsigned long long high
    cpdef bint answers_hold(self, double cut)
    cdef void _add_to_hash(
        self, CodedRows coded, Py_ssize_t u, Py_ssize_t v, unsigned long long value
    ) noexcept nogil
    cdef void _shift_tables(
        self,
        CodedRows coded,
        long long[::1] rows,
        long long[::1] scope,
        Logs logs,
        long long sign,
    ) noexcept nogil
    cdef void _shift_row(
        self,
        CodedRows coded,
        const long long* rows,
        Py_ssize_t n_rows,
        Py_ssize_t row,
        long long[::1] scope,
        Logs logs,
        Agreement agreement,
        long long sign,
    ) noexcept nogil
    cdef void _shift_row_by_row(
        self, CodedRows coded, long long[::1] staying, long long[::1] minus, long long[::1] plus, long long[::1] scope
    )
    cdef void _count_anew(self, CodedRows coded, long long[::1] rows, long long[::1] scope)
