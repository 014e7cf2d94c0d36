# Elements of arrays that are only read: views of them take read-only arrays, too.

ctypedef const short const_int16
ctypedef const int const_int32
ctypedef const long long const_int64
ctypedef const unsigned long long const_uint64
ctypedef const unsigned char const_uint8
ctypedef const double const_float64

# Tables keep the levels of categories in as few bytes as they need.
ctypedef fused const_level:
    const_int16
    const_int32
