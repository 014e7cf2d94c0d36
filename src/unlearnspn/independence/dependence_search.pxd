from unlearnspn.independence.canonical_correlation cimport Whitened
from unlearnspn.independence.variables cimport Variables


cpdef object starts_of_tables(long long[:, ::1] pairs, long long[::1] sizes)
cpdef object ask_again(long long[:, ::1] pairs, int[::1] cells, long long[::1] sizes, Whitened whitened, double threshold)
cpdef object name_codes(Variables variables)
