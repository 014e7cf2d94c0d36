# NumPy's generators of random numbers, for inner loops: the same stream as a generator gives to Python.

from cpython.pycapsule cimport PyCapsule_GetPointer

# What NumPy calls `bitgen_t`.
cdef struct BitGenerator:
    void* state
    unsigned long long (*next_uint64)(void* state) noexcept nogil
    unsigned int (*next_uint32)(void* state) noexcept nogil
    double (*next_double)(void* state) noexcept nogil
    unsigned long long (*next_raw)(void* state) noexcept nogil


cdef inline BitGenerator* bit_generator(object rng) except NULL:
    """Return what a generator gets its bits from; while it is used, its lock must be held."""
    return <BitGenerator*> PyCapsule_GetPointer(rng.bit_generator.capsule, "BitGenerator")


cdef inline double random(BitGenerator* bits) noexcept nogil:
    """Return the next number from 0 to 1, as `rng.random()` does."""
    return bits.next_double(bits.state)
