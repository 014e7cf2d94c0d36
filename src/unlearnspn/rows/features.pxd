# Features: in how many deviations from its centre a number lies, as a short; of a category, its code.

cdef enum:
    # A feature of so much is one standard deviation of its column.
    FEATURE_STD = 4096
    FEATURE_LIMIT = 32767
    # The feature of a number that is missing; of a category that is 0.
    FEATURE_MISSING = -32768
