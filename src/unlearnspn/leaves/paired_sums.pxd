# Exact sums of two numbers' features over the records that have both, for inner loops.

cdef struct PairedSums:
    long long n
    long long x
    long long y
    long long xx
    long long yy
    long long xy
