# The G statistic of two variables' table, for inner loops. All counts enter by count·ln(count) as an integer, hence
# sums are exact, and what one record changes can be added or taken out.

from libc.string cimport memset

from unlearnspn.portable_math cimport x_log_x


cdef struct Logs:
    # count·ln(count) for the counts that occur most, see `logs.py`.
    const long long* values
    long long size


cdef struct Association:
    # G/2 is the number of records that have both variables times their mutual information.
    long long half_g
    long long freedom
    # How many records have both variables.
    long long total


cdef enum:
    # A code is a byte.
    MOST_CODES = 256


cdef inline long long log_of(long long count, Logs logs) noexcept nogil:
    """Return count·ln(count), from the table as far as it goes."""
    return logs.values[count] if <unsigned long long> count < <unsigned long long> logs.size else x_log_x(count)


cdef inline long long degrees_of_freedom(long long n_rows, long long n_columns) noexcept nogil:
    """Return the degrees of freedom of a table with so many rows and columns that are not empty."""
    return (n_rows - 1) * (n_columns - 1) if n_rows > 0 and n_columns > 0 else 0


cdef inline Association g_statistic(
    const long long* cells, Py_ssize_t n_rows, Py_ssize_t n_columns, Logs logs
) noexcept nogil:
    """Associate two variables by their table, [code, code], leaving out their missing codes, which come first."""
    cdef long long columns[MOST_CODES]
    cdef long long count, in_row, filled_rows = 0, filled_columns = 0
    cdef Py_ssize_t a, b
    cdef Association found
    found.half_g = found.total = 0
    memset(columns, 0, n_columns * sizeof(long long))
    for a in range(1, n_rows):
        in_row = 0
        for b in range(1, n_columns):
            count = cells[a * n_columns + b]
            if count:
                in_row += count
                columns[b] += count
                found.half_g += log_of(count, logs)
        if in_row:
            filled_rows += 1
            found.total += in_row
            found.half_g -= log_of(in_row, logs)
    for b in range(1, n_columns):
        if columns[b]:
            filled_columns += 1
            found.half_g -= log_of(columns[b], logs)
    found.half_g += log_of(found.total, logs)
    found.freedom = degrees_of_freedom(filled_rows, filled_columns)
    return found


cdef inline long long growth(long long count, Logs logs) noexcept nogil:
    """Return by how much count·ln(count) grows if one more comes."""
    return log_of(count + 1, logs) - log_of(count, logs)


cdef inline long long gain_of_g(
    long long in_cell, long long in_row, long long in_column, long long total, Logs logs
) noexcept nogil:
    """Return by how much G/2 grows by a record, given how many others have both its codes, one of them, any."""
    return growth(in_cell, logs) - growth(in_row, logs) - growth(in_column, logs) + growth(total, logs)
