# Where the numbers of an array are, for statistics that keep many arrays: a memoryview of each would be one more object
# that the garbage collector goes through.

from cpython.buffer cimport PyBUF_C_CONTIGUOUS, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer


cdef inline long long* data_of(object array) except? NULL:
    """Return where the numbers of an array of 64-bit integers are; they are there as long as the array is."""
    cdef Py_buffer view
    cdef long long* numbers
    PyObject_GetBuffer(array, &view, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE)
    numbers = <long long*> view.buf if view.itemsize == sizeof(long long) else NULL
    PyBuffer_Release(&view)
    if numbers is NULL and view.len:
        raise ValueError("not an array of 64-bit integers")
    return numbers
