# What other compiled modules call.

cdef double log_probability(double count, double rate, double log_rate) noexcept nogil
cdef double most_probable(double first, double last, double rate) noexcept nogil
cdef double log_relative(double count, double peak, double rate) noexcept nogil
cdef double log_above(double count, double peak, double rate) noexcept nogil
cdef double log_up_to(double count, double peak, double rate) noexcept nogil
cdef double log_range_ratio(double first, double last, double rate) noexcept nogil
cdef double log_sum(double a, double b) noexcept nogil
