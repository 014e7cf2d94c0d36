cdef inline Py_ssize_t first_reaching(const long long* rows, Py_ssize_t n_rows, long long row) noexcept nogil:
    """Return the place of the first of sorted rows that is not below another."""
    cdef Py_ssize_t place = 0
    cdef Py_ssize_t half
    while n_rows > 0:
        half = (n_rows + 1) >> 1
        place += half if rows[place + half - 1] < row else 0  # no branch: either is as likely as the other
        n_rows -= half
    return place


cdef inline Py_ssize_t place_of(const long long[::1] rows, long long row) noexcept nogil:
    """Return the place of the first of sorted rows that is not below another."""
    return first_reaching(&rows[0], rows.shape[0], row) if rows.shape[0] else 0


cdef inline bint is_among(const long long[::1] rows, long long row) noexcept nogil:
    """Tell whether a row is among sorted ones."""
    cdef Py_ssize_t place = place_of(rows, row)
    return place < rows.shape[0] and rows[place] == row
